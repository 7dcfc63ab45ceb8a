#include "libs/protocol/master/master_messages.h"

#include <algorithm>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/codec/message_writer.h"
#include "libs/protocol/codec/messages_inl.h"
#include "libs/protocol/codec/read_soon_inl.h"
#include "libs/protocol/codec/tensor_codec.h"
#include "libs/protocol/master/graph_options.h"
#include "libs/protocol/method.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Tensors = flatbuffers::Vector<Offset<schemas::Tensor>>;

// Three strings, even if empty.
constexpr size_t kLeastPlacementBytes = sizeof(uint32_t) * 3 * 2;
// The size at which placements continue in another part of the reply: the first
// part must fit into a control message, with the offsets of its placements.
constexpr size_t kMaxPlacementBytes = size_t{8} << 20;

// Negative stands for "infinite".
int64_t ToMicroseconds(absl::Duration duration) {
  if (duration == absl::InfiniteDuration()) return -1;
  return absl::ToInt64Microseconds(std::max(duration, absl::ZeroDuration()));
}

absl::Duration FromMicroseconds(int64_t microseconds) {
  return microseconds < 0 ? absl::InfiniteDuration()
                          : absl::Microseconds(microseconds);
}

absl::Status TooMany(absl::string_view what, size_t count) {
  return absl::InvalidArgumentError(absl::StrCat("a callable with ", count, " ",
                                                 what, "; ", kMaxCallableEdges,
                                                 " are allowed"));
}

absl::StatusOr<Offset<Tensors>> WriteTensors(absl::Span<const Tensor> tensors,
                                             absl::string_view what,
                                             FlatBufferBuilder& builder,
                                             Attachments& attachments) {
  if (tensors.empty()) return Offset<Tensors>(0);
  if (tensors.size() > kMaxCallableEdges) return TooMany(what, tensors.size());
  absl::InlinedVector<Offset<schemas::Tensor>, 8> written;
  for (const Tensor& tensor : tensors) {
    auto offset = WriteTensor(tensor, builder, attachments);
    if (!offset.ok()) {
      return Annotate(offset.status(), absl::StrCat(what, " ", written.size()));
    }
    written.push_back(*offset);
  }
  return builder.CreateVector(written.data(), written.size());
}

absl::StatusOr<std::vector<Tensor>> ReadTensors(const Tensors* tensors,
                                                absl::string_view what,
                                                MessageReader& reader,
                                                Allocator& allocator) {
  std::vector<Tensor> result;
  if (tensors == nullptr) return result;
  if (tensors->size() > kMaxCallableEdges)
    return TooMany(what, tensors->size());
  result.reserve(tensors->size());
  for (const schemas::Tensor* tensor : *tensors) {
    auto read = ReadTensor(tensor, reader, allocator);
    if (!read.ok()) {
      return Annotate(read.status(), absl::StrCat(what, " ", result.size()));
    }
    result.push_back(*std::move(read));
  }
  return result;
}

using Indices = flatbuffers::Vector<uint32_t>;

Offset<Indices> WriteIndices(absl::Span<const int> indices,
                             FlatBufferBuilder& builder) {
  if (indices.empty()) return Offset<Indices>(0);
  const absl::InlinedVector<uint32_t, 16> written(indices.begin(),
                                                  indices.end());
  return builder.CreateVector(written.data(), written.size());
}

absl::StatusOr<std::vector<int>> ReadIndices(const Indices* indices,
                                             MessageReader& reader) {
  std::vector<int> read;
  if (indices == nullptr) return read;
  RETURN_IF_ERROR(reader.SpendCopied(indices->size() * sizeof(uint32_t)));
  for (const uint32_t index : *indices) {
    if (index >= kMaxCallableEdges) {
      return DamagedMessage(absl::StrCat("a feed or fetch has index ", index));
    }
    read.push_back(static_cast<int>(index));
  }
  return read;
}

Offset<schemas::NodePlacement> WritePlacement(const NodePlacement& placement,
                                              FlatBufferBuilder& builder) {
  const auto name = builder.CreateString(placement.name);
  const auto op = builder.CreateString(placement.op);
  const auto device = builder.CreateString(placement.device);
  return schemas::CreateNodePlacement(builder, name, op, device);
}

absl::StatusOr<NodePlacement> ReadPlacement(
    const schemas::NodePlacement& placement, MessageReader& reader) {
  NodePlacement result;
  ASSIGN_OR_RETURN(result.name, reader.ReadString(placement.name()));
  ASSIGN_OR_RETURN(result.op, reader.ReadString(placement.op()));
  ASSIGN_OR_RETURN(result.device, reader.ReadString(placement.device()));
  return result;
}

using Placements = flatbuffers::Vector<Offset<schemas::NodePlacement>>;

size_t TextOf(const NodePlacement& placement) {
  return placement.name.size() + placement.op.size() + placement.device.size();
}

// Writes as many as fit, but at least `least`, and removes them from `left`.
Offset<Placements> WritePlacements(absl::Span<const NodePlacement>& left,
                                   size_t least, FlatBufferBuilder& builder) {
  std::vector<Offset<schemas::NodePlacement>> written;
  while (!left.empty() &&
         (written.size() < least ||
          builder.GetSize() + TextOf(left.front()) <= kMaxPlacementBytes)) {
    written.push_back(WritePlacement(left.front(), builder));
    left.remove_prefix(1);
  }
  return builder.CreateVector(written);
}

// Writes a separate message.
bus::Blob WritePart(absl::Span<const NodePlacement>& left) {
  FlatBufferBuilder builder;
  const auto placements = WritePlacements(left, /*least=*/1, builder);
  return Finish(schemas::CreateExtendSessionReply(builder, 0, placements),
                builder)
      .body;
}

absl::Status ReadPlacements(const Placements* placements, MessageReader& reader,
                            std::vector<NodePlacement>& result) {
  if (placements == nullptr) return absl::OkStatus();
  for (const schemas::NodePlacement* placement : *placements) {
    RETURN_IF_ERROR(reader.SpendCopied(kLeastPlacementBytes));
    ASSIGN_OR_RETURN(NodePlacement read, ReadPlacement(*placement, reader));
    result.push_back(std::move(read));
  }
  return absl::OkStatus();
}

// Reads a part written by WritePart; ignores its other fields.
absl::Status ReadPart(const schemas::Bytes* bytes, MessageReader& outer,
                      std::vector<NodePlacement>& result) {
  bus::Message part;
  part.method = static_cast<uint8_t>(Method::kExtendSessionReply);
  ASSIGN_OR_RETURN(part.body, outer.ReadBytes(bytes));
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::ExtendSessionReply>(std::move(part)));
  return ReadPlacements(reader.body<schemas::ExtendSessionReply>().placement(),
                        reader, result);
}

}  // namespace

bus::Message WriteCreateSession(const SessionConfig& config) {
  FlatBufferBuilder builder(256);
  Attachments attachments;
  const auto filters = builder.CreateVectorOfStrings(config.device_filters);
  const std::string options = GraphOptionsToConfig(config.graph_options);
  const auto rest = options.empty() ? Offset<schemas::Bytes>(0)
                                    : WriteBytes(bus::Blob::FromString(options),
                                                 builder, attachments);
  return Finish(schemas::CreateCreateSession(
                    builder, config.allow_soft_placement,
                    config.log_device_placement, config.isolate_session_state,
                    ToMicroseconds(config.operation_timeout), filters, rest,
                    config.is_monitored),
                builder, std::move(attachments));
}

absl::StatusOr<SessionConfig> ReadCreateSession(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::CreateSession>(std::move(message)));
  const auto& body = reader.body<schemas::CreateSession>();
  SessionConfig config;
  config.allow_soft_placement = body.allow_soft_placement();
  config.log_device_placement = body.log_device_placement();
  config.isolate_session_state = body.isolate_session_state();
  config.operation_timeout = FromMicroseconds(body.operation_timeout_us());
  config.is_monitored = body.is_monitored();
  ASSIGN_OR_RETURN(config.device_filters,
                   reader.ReadStrings(body.device_filters()));
  ASSIGN_OR_RETURN(const bus::Blob rest, reader.ReadBytes(body.config()));
  ASSIGN_OR_RETURN(config.graph_options,
                   GraphOptionsFromConfig({rest.data(), rest.size()}));
  return config;
}

bus::Message WriteCreateSessionReply(const CreatedSession& created) {
  FlatBufferBuilder builder(128);
  return Finish(schemas::CreateCreateSessionReply(
                    builder, created.session, ToMicroseconds(created.lease)),
                builder);
}

absl::StatusOr<CreatedSession> ReadCreateSessionReply(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::CreateSessionReply>(std::move(message)));
  const auto& body = reader.body<schemas::CreateSessionReply>();
  return CreatedSession{body.session(), FromMicroseconds(body.lease_us())};
}

bus::Message WriteExtendSession(uint64_t session,
                                const GraphExtension& extension) {
  FlatBufferBuilder builder;
  Attachments attachments;
  const auto graph = WriteBytes(bus::Blob::FromString(extension.graph_def),
                                builder, attachments);
  return Finish(schemas::CreateExtendSession(builder, session,
                                             extension.from_version, graph),
                builder, std::move(attachments));
}

absl::StatusOr<ExtendSessionRequest> ReadExtendSession(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::ExtendSession>(std::move(message)));
  const auto& body = reader.body<schemas::ExtendSession>();
  ASSIGN_OR_RETURN(const bus::Blob graph, reader.ReadBytes(body.graph_def()));
  ExtendSessionRequest request;
  request.session = body.session();
  request.extension.from_version = body.from_version();
  request.extension.graph_def.assign(graph.data(), graph.size());
  return request;
}

bus::Message WriteExtendSessionReply(const ExtensionResult& result) {
  FlatBufferBuilder builder;
  Attachments attachments;
  absl::Span<const NodePlacement> left = result.placement;
  const auto placements = WritePlacements(left, /*least=*/0, builder);
  std::vector<Offset<schemas::Bytes>> parts;
  while (!left.empty()) {
    parts.push_back(WriteBytes(WritePart(left), builder, attachments));
  }
  Offset<flatbuffers::Vector<Offset<schemas::Bytes>>> more = 0;
  if (!parts.empty()) more = builder.CreateVector(parts);
  return Finish(schemas::CreateExtendSessionReply(builder, result.version,
                                                  placements, more),
                builder, std::move(attachments));
}

absl::StatusOr<ExtensionResult> ReadExtendSessionReply(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::ExtendSessionReply>(std::move(message)));
  const auto& body = reader.body<schemas::ExtendSessionReply>();
  ExtensionResult result;
  result.version = body.version();
  RETURN_IF_ERROR(ReadPlacements(body.placement(), reader, result.placement));
  if (body.more() == nullptr) return result;
  for (const schemas::Bytes* bytes : *body.more()) {
    RETURN_IF_ERROR(ReadPart(bytes, reader, result.placement));
  }
  return result;
}

bus::Message WriteCloseSession(uint64_t session) {
  FlatBufferBuilder builder(128);
  return Finish(schemas::CreateCloseSession(builder, session), builder);
}

absl::StatusOr<uint64_t> ReadCloseSession(bus::Message message) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::CloseSession>(std::move(message)));
  return reader.body<schemas::CloseSession>().session();
}

bus::Message WriteMakeCallable(uint64_t session, const CallableSpec& spec) {
  FlatBufferBuilder builder;
  const auto feeds = builder.CreateVectorOfStrings(spec.feeds);
  const auto fetches = builder.CreateVectorOfStrings(spec.fetches);
  const auto targets = builder.CreateVectorOfStrings(spec.targets);
  return Finish(schemas::CreateMakeCallable(builder, session, feeds, fetches,
                                            targets, spec.is_partial),
                builder);
}

absl::StatusOr<MakeCallableRequest> ReadMakeCallable(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::MakeCallable>(std::move(message)));
  const auto& body = reader.body<schemas::MakeCallable>();
  MakeCallableRequest request;
  request.session = body.session();
  CallableSpec& spec = request.spec;
  ASSIGN_OR_RETURN(spec.feeds, reader.ReadStrings(body.feeds()));
  ASSIGN_OR_RETURN(spec.fetches, reader.ReadStrings(body.fetches()));
  ASSIGN_OR_RETURN(spec.targets, reader.ReadStrings(body.targets()));
  spec.is_partial = body.is_partial();
  if (spec.feeds.size() > kMaxCallableEdges) {
    return TooMany("feeds", spec.feeds.size());
  }
  if (spec.fetches.size() > kMaxCallableEdges) {
    return TooMany("fetches", spec.fetches.size());
  }
  return request;
}

bus::Message WriteMakeCallableReply(uint64_t callable) {
  FlatBufferBuilder builder(128);
  return Finish(schemas::CreateMakeCallableReply(builder, callable), builder);
}

absl::StatusOr<uint64_t> ReadMakeCallableReply(bus::Message message) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::MakeCallableReply>(std::move(message)));
  return reader.body<schemas::MakeCallableReply>().callable();
}

absl::StatusOr<bus::Message> WriteRunCallable(uint64_t session,
                                              uint64_t callable,
                                              const CallableRun& run) {
  if (run.fetches.size() > kMaxCallableEdges) {
    return TooMany("fetches", run.fetches.size());
  }
  FlatBufferBuilder builder(512);
  Attachments attachments;
  ASSIGN_OR_RETURN(const auto feeds,
                   WriteTensors(run.feeds, "feed", builder, attachments));
  const auto num_fetches = static_cast<uint32_t>(run.fetches.size());
  Offset<schemas::Bytes> options = 0;
  if (run.metadata != nullptr && run.wanted.any()) {
    options = WriteBytes(bus::Blob::FromString(SerializeRunOptions(run.wanted)),
                         builder, attachments);
  }
  const auto feed_indices = WriteIndices(run.feed_indices, builder);
  const auto fetch_indices = WriteIndices(run.fetch_indices, builder);
  return Finish(schemas::CreateRunCallable(
                    builder, session, callable, feeds, options, num_fetches,
                    ToMicroseconds(run.timeout), feed_indices, fetch_indices),
                builder, std::move(attachments));
}

absl::StatusOr<RunCallableRequest> ReadRunCallable(bus::Message message,
                                                   Allocator& allocator) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::RunCallable>(std::move(message)));
  const auto& body = reader.body<schemas::RunCallable>();
  if (body.num_fetches() > kMaxCallableEdges) {
    return TooMany("fetches", body.num_fetches());
  }
  RunCallableRequest request;
  request.session = body.session();
  request.callable = body.callable();
  request.num_fetches = body.num_fetches();
  request.timeout = FromMicroseconds(body.timeout_us());
  ASSIGN_OR_RETURN(request.feed_indices,
                   ReadIndices(body.feed_indices(), reader));
  ASSIGN_OR_RETURN(request.fetch_indices,
                   ReadIndices(body.fetch_indices(), reader));
  if (body.options() != nullptr) {
    ASSIGN_OR_RETURN(const bus::Blob options, reader.ReadBytes(body.options()));
    ASSIGN_OR_RETURN(request.wanted, ParseRunOptions(options.view()));
  }
  ASSIGN_OR_RETURN(request.feeds,
                   ReadTensors(body.feeds(), "feed", reader, allocator));
  return request;
}

bool IsRunCallableReadSoon(const bus::Message& message) {
  return IsReadSoon<schemas::RunCallable>(
      message, [](const auto& body) { return SlowBytesOf(body.feeds()); });
}

bool IsRunCallableReplyReadSoon(const bus::Message& message) {
  return IsReadSoon<schemas::RunCallableReply>(
      message, [](const auto& body) { return SlowBytesOf(body.fetches()); });
}

absl::StatusOr<CallableId> ReadRunCallableIds(bus::Message message) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::RunCallable>(std::move(message)));
  const auto& body = reader.body<schemas::RunCallable>();
  return CallableId{body.session(), body.callable()};
}

absl::StatusOr<RefusedFeed> ReadRefusedFeed(bus::Message message,
                                            size_t attachment) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::RunCallable>(std::move(message)));
  const auto& body = reader.body<schemas::RunCallable>();
  RefusedFeed refused{body.session(), body.callable(), 0};
  if (body.feeds() == nullptr) return absl::NotFoundError("it has no feeds");
  for (const schemas::Tensor* feed : *body.feeds()) {
    const schemas::Bytes* data = feed->data();
    // They count from 1.
    if (data == nullptr || data->attachment() != attachment + 1) {
      ++refused.feed;
      continue;
    }
    if (body.feed_indices() != nullptr &&
        refused.feed < body.feed_indices()->size()) {
      refused.feed =
          body.feed_indices()->Get(static_cast<uint32_t>(refused.feed));
    }
    return refused;
  }
  return absl::NotFoundError("none of the feeds");
}

absl::StatusOr<bus::Message> WriteRunCallableReply(
    absl::Span<const Tensor> fetches, const RunMetadata* metadata) {
  FlatBufferBuilder builder(512);
  Attachments attachments;
  ASSIGN_OR_RETURN(const auto written,
                   WriteTensors(fetches, "fetch", builder, attachments));
  Offset<schemas::Bytes> told = 0;
  if (metadata != nullptr) {
    ASSIGN_OR_RETURN(std::string bytes, Serialize(*metadata));
    told = WriteBytes(bus::Blob::FromString(std::move(bytes)), builder,
                      attachments);
  }
  return Finish(schemas::CreateRunCallableReply(builder, written, told),
                builder, std::move(attachments));
}

absl::StatusOr<RunCallableAnswer> ReadRunCallableReply(bus::Message message,
                                                       size_t num_fetches,
                                                       Allocator& allocator) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::RunCallableReply>(std::move(message)));
  const auto& body = reader.body<schemas::RunCallableReply>();
  ASSIGN_OR_RETURN(std::vector<Tensor> fetches,
                   ReadTensors(body.fetches(), "fetch", reader, allocator));
  if (fetches.size() != num_fetches) {
    return absl::InvalidArgumentError(
        absl::StrCat("damaged message: it brings ", fetches.size(),
                     " fetches instead of ", num_fetches));
  }
  RunCallableAnswer answer{.fetches = std::move(fetches)};
  if (body.metadata() != nullptr) {
    ASSIGN_OR_RETURN(const bus::Blob told, reader.ReadBytes(body.metadata()));
    ASSIGN_OR_RETURN(answer.metadata, ParseRunMetadata(told.view()));
  }
  return answer;
}

bus::Message WriteReleaseCallable(uint64_t session, uint64_t callable) {
  FlatBufferBuilder builder(128);
  return Finish(schemas::CreateReleaseCallable(builder, session, callable),
                builder);
}

absl::StatusOr<CallableId> ReadReleaseCallable(bus::Message message) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::ReleaseCallable>(std::move(message)));
  const auto& body = reader.body<schemas::ReleaseCallable>();
  return CallableId{body.session(), body.callable()};
}

bus::Message WriteReset(const std::vector<std::string>& containers,
                        const std::vector<std::string>& device_filters) {
  FlatBufferBuilder builder(256);
  const auto names = builder.CreateVectorOfStrings(containers);
  const auto filters = builder.CreateVectorOfStrings(device_filters);
  return Finish(schemas::CreateReset(builder, names, filters), builder);
}

absl::StatusOr<ResetRequest> ReadReset(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::Reset>(std::move(message)));
  const auto& body = reader.body<schemas::Reset>();
  ResetRequest request;
  ASSIGN_OR_RETURN(request.containers, reader.ReadStrings(body.containers()));
  ASSIGN_OR_RETURN(request.device_filters,
                   reader.ReadStrings(body.device_filters()));
  return request;
}

bus::Message WriteListDevices() {
  FlatBufferBuilder builder(64);
  return Finish(schemas::CreateListDevices(builder), builder);
}

absl::Status ReadListDevices(bus::Message message) {
  return Open<schemas::ListDevices>(std::move(message)).status();
}

}  // namespace weft::protocol
