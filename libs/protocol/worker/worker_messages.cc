#include "libs/protocol/worker/worker_messages.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "libs/base/logging.h"
#include "libs/base/shorten.h"
#include "libs/base/status.h"
#include "libs/graph/graph.h"
#include "libs/graph/import/graph_def.h"
#include "libs/graph/unknown_op.h"
#include "libs/protocol/codec/message_reader.h"
#include "libs/protocol/codec/message_writer.h"
#include "libs/protocol/codec/messages_inl.h"
#include "libs/protocol/codec/read_soon_inl.h"
#include "libs/protocol/codec/tensor_codec.h"
#include "libs/protocol/common_messages.h"
#include "libs/protocol/method.h"
#include "schemas/body_generated.h"

namespace weft::protocol {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using IndexedTensors = flatbuffers::Vector<Offset<schemas::IndexedTensor>>;
using PushVector = flatbuffers::Vector<Offset<schemas::Push>>;
using WriterVector = flatbuffers::Vector<Offset<schemas::VariableWriter>>;

template <typename T>
WorkerSession SessionOf(const T& body) {
  return {body.master_incarnation(), body.session()};
}

// The position of a feed or fetch: bounded, since vectors grow to that size.
absl::StatusOr<int> ReadIndex(uint32_t index) {
  if (index >= kMaxCallableEdges) {
    return DamagedMessage(absl::StrCat("a feed or fetch has index ", index));
  }
  return static_cast<int>(index);
}

// Writes those of `tensors` that `indices` name.
absl::StatusOr<Offset<IndexedTensors>> WriteIndexed(
    absl::Span<const Tensor> tensors, absl::Span<const int> indices,
    absl::string_view what, FlatBufferBuilder& builder,
    Attachments& attachments) {
  if (indices.empty()) return Offset<IndexedTensors>(0);
  absl::InlinedVector<Offset<schemas::IndexedTensor>, 8> written;
  for (const int index : indices) {
    if (index < 0 || static_cast<size_t>(index) >= tensors.size()) {
      return absl::InternalError(
          absl::StrCat("there is no ", what, " ", index));
    }
    auto tensor = WriteTensor(tensors[index], builder, attachments);
    if (!tensor.ok()) {
      return Annotate(tensor.status(), absl::StrCat(what, " ", index));
    }
    written.push_back(schemas::CreateIndexedTensor(
        builder, static_cast<uint32_t>(index), *tensor));
  }
  return builder.CreateVector(written.data(), written.size());
}

struct IndexedTensor {
  int index = 0;
  Tensor tensor;
};

absl::StatusOr<std::vector<IndexedTensor>> ReadIndexed(
    const IndexedTensors* tensors, absl::string_view what,
    MessageReader& reader, Allocator& allocator) {
  std::vector<IndexedTensor> result;
  if (tensors == nullptr) return result;
  absl::flat_hash_set<int> seen;
  for (const schemas::IndexedTensor* tensor : *tensors) {
    ASSIGN_OR_RETURN(const int index, ReadIndex(tensor->index()));
    if (!seen.insert(index).second) {
      return DamagedMessage(absl::StrCat(what, " ", index, " comes twice"));
    }
    auto read = ReadTensor(tensor->tensor(), reader, allocator);
    if (!read.ok()) {
      return Annotate(read.status(), absl::StrCat(what, " ", index));
    }
    result.push_back({index, *std::move(read)});
  }
  return result;
}

Offset<schemas::Error> WriteError(const absl::Status& status,
                                  FlatBufferBuilder& builder) {
  const auto text =
      builder.CreateString(ShortenText(status.message(), kMaxErrorText));
  return schemas::CreateError(builder, static_cast<int32_t>(status.code()),
                              text, IsDerived(status));
}

// Never OK: an unknown code becomes UNKNOWN, no error becomes CANCELLED.
absl::StatusOr<absl::Status> ReadError(const schemas::Error* error,
                                       MessageReader& reader) {
  if (error == nullptr) return absl::CancelledError("the step was cancelled");
  ASSIGN_OR_RETURN(const std::string text, reader.ReadString(error->text()));
  auto code = static_cast<absl::StatusCode>(error->code());
  if (code < absl::StatusCode::kCancelled ||
      code > absl::StatusCode::kUnauthenticated) {
    code = absl::StatusCode::kUnknown;
  }
  const absl::Status status(code, text);
  return error->derived() ? MarkDerived(status) : status;
}

absl::StatusOr<Offset<schemas::DevicePartition>> WritePartition(
    const DevicePartition& partition, FlatBufferBuilder& builder,
    Attachments& attachments) {
  auto serialized =
      ExportGraphDef(*partition.graph, {.assigned_devices = true});
  if (!serialized.ok()) {
    return Annotate(
        serialized.status(),
        absl::StrCat("the part of the graph for ", partition.device));
  }
  const auto device = builder.CreateString(partition.device);
  const auto graph = WriteBytes(bus::Blob::FromString(*std::move(serialized)),
                                builder, attachments);
  return schemas::CreateDevicePartition(builder, device, graph);
}

absl::StatusOr<DevicePartition> ReadPartition(
    const schemas::DevicePartition& partition,
    const std::shared_ptr<const OpRegistry>& ops, MessageReader& reader) {
  DevicePartition result;
  ASSIGN_OR_RETURN(result.device, reader.ReadString(partition.device()));
  ASSIGN_OR_RETURN(const bus::Blob bytes,
                   reader.ReadBytes(partition.graph_def()));
  auto graph = std::make_shared<Graph>(ops);
  NullLogger logger;  // the client has logged the warnings
  RETURN_IF_ERROR(ImportGraphDef(bytes.view(), *graph, {.logger = &logger}));
  RETURN_IF_ERROR(CheckNoneUnknown(*graph));  // a step needs every node
  for (const Node* node : graph->nodes()) {
    graph->set_assigned_device(node, result.device);
  }
  result.graph = std::move(graph);
  return result;
}

schemas::PushHeader HeaderOf(const Push& push) {
  const uint32_t flags =
      push.is_dead ? static_cast<uint32_t>(schemas::PushFlag::Dead) : 0;
  return schemas::PushHeader(push.session.master_incarnation,
                             push.session.session, push.step, push.edge,
                             push.frame, push.iteration, flags, 0);
}

absl::StatusOr<Offset<schemas::Push>> WritePush(const Push& push,
                                                FlatBufferBuilder& builder,
                                                Attachments& attachments) {
  Offset<schemas::Tensor> tensor = 0;
  if (!push.is_dead) {
    ASSIGN_OR_RETURN(tensor, WriteTensor(push.tensor, builder, attachments));
  }
  const schemas::PushHeader header = HeaderOf(push);
  return schemas::CreatePush(builder, &header, tensor);
}

absl::StatusOr<Push> ReadHeader(const schemas::Push& push) {
  const schemas::PushHeader* header = push.header();
  if (header == nullptr) return DamagedMessage("a push has no header");
  Push result;
  result.session = SessionOf(*header);
  result.step = header->step();
  result.edge = header->edge();
  result.frame = header->frame();
  result.iteration = header->iteration();
  result.is_dead =
      (header->flags() & static_cast<uint32_t>(schemas::PushFlag::Dead)) != 0;
  return result;
}

absl::StatusOr<Push> ReadPush(const schemas::Push& push, MessageReader& reader,
                              Allocator& allocator) {
  ASSIGN_OR_RETURN(Push result, ReadHeader(push));
  if (result.is_dead) return result;
  ASSIGN_OR_RETURN(result.tensor, ReadTensor(push.tensor(), reader, allocator));
  return result;
}

absl::StatusOr<Offset<PushVector>> WritePushVector(
    absl::Span<const Push> pushes, FlatBufferBuilder& builder,
    Attachments& attachments) {
  absl::InlinedVector<Offset<schemas::Push>, 8> written;
  for (const Push& push : pushes) {
    auto offset = WritePush(push, builder, attachments);
    if (!offset.ok()) {
      return Annotate(offset.status(), absl::StrCat("edge ", push.edge));
    }
    written.push_back(*offset);
  }
  return builder.CreateVector(written.data(), written.size());
}

absl::StatusOr<std::vector<Push>> ReadPushVector(const PushVector* pushes,
                                                 MessageReader& reader,
                                                 Allocator& allocator) {
  std::vector<Push> result;
  if (pushes == nullptr) return result;
  for (const schemas::Push* push : *pushes) {
    RETURN_IF_ERROR(reader.SpendCopied(sizeof(schemas::PushHeader)));
    ASSIGN_OR_RETURN(Push read, ReadPush(*push, reader, allocator));
    result.push_back(std::move(read));
  }
  return result;
}

Offset<WriterVector> WriteWriterVector(absl::Span<const VariableWriter> writers,
                                       FlatBufferBuilder& builder) {
  std::vector<Offset<schemas::VariableWriter>> written;
  for (const VariableWriter& writer : writers.subspan(0, Worker::kMaxWriters)) {
    const auto task = builder.CreateString(writer.task);
    written.push_back(schemas::CreateVariableWriter(
        builder, task, writer.session.master_incarnation,
        writer.session.session, writer.registration));
  }
  return builder.CreateVector(written);
}

absl::StatusOr<std::vector<VariableWriter>> ReadWriterVector(
    const WriterVector* vector, MessageReader& reader) {
  std::vector<VariableWriter> writers;
  if (vector == nullptr) return writers;
  if (vector->size() > Worker::kMaxWriters) {
    return DamagedMessage(
        absl::StrCat("more than ", Worker::kMaxWriters, " writers"));
  }
  for (const schemas::VariableWriter* writer : *vector) {
    RETURN_IF_ERROR(reader.SpendCopied(3 * sizeof(uint64_t)));
    ASSIGN_OR_RETURN(std::string task, reader.ReadString(writer->task()));
    writers.push_back(
        {.task = std::move(task),
         .session = {writer->master_incarnation(), writer->session()},
         .registration = writer->registration()});
  }
  return writers;
}

absl::StatusOr<FinishedSteps> ReadFinishedSteps(
    const schemas::RunPartition& body, MessageReader& reader) {
  FinishedSteps over{.below = body.more_finished_below()};
  if (body.still_running() == nullptr) return over;
  if (body.still_running()->size() > FinishedSteps::kMaxRunning) {
    return DamagedMessage(absl::StrCat("more than ", FinishedSteps::kMaxRunning,
                                       " running steps"));
  }
  over.running.resize(body.still_running()->size());
  const size_t bytes = over.running.size() * sizeof(uint64_t);
  RETURN_IF_ERROR(reader.SpendCopied(bytes));
  // The verifier does not check the alignment of elements of vectors.
  if (bytes > 0) {
    std::memcpy(over.running.data(), body.still_running()->Data(), bytes);
  }
  const bool is_sorted =
      std::adjacent_find(over.running.begin(), over.running.end(),
                         std::greater_equal<>()) == over.running.end();
  if (is_sorted && (bytes == 0 || over.running.back() < over.below)) {
    return over;
  }
  return DamagedMessage("its running steps are not in order");
}

int64_t AvailableOf(int64_t bytes) {
  return bytes < 0 ? AvailableMemory::kUnknown : bytes;
}

std::string NameForErrors(const std::string& name) {
  return name.size() > kMaxNameInReply ? "" : name;
}

absl::StatusOr<std::string> ReadNameForErrors(const flatbuffers::String* text,
                                              MessageReader& reader) {
  ASSIGN_OR_RETURN(const std::string name, reader.ReadString(text));
  return NameForErrors(name);
}

uint64_t MicrosOf(absl::Duration duration) {
  duration = std::clamp(duration, absl::ZeroDuration(), Worker::kMaxLease);
  return static_cast<uint64_t>(absl::ToInt64Microseconds(duration));
}

absl::Duration FromMicros(uint64_t micros) {
  const auto kMost =
      static_cast<uint64_t>(absl::ToInt64Microseconds(Worker::kMaxLease));
  return absl::Microseconds(std::min(micros, kMost));
}

}  // namespace

bus::Message WriteGetStatus() {
  FlatBufferBuilder builder(64);
  return Finish(schemas::CreateGetStatus(builder), builder);
}

absl::Status ReadGetStatus(bus::Message message) {
  return Open<schemas::GetStatus>(std::move(message)).status();
}

bus::Message WriteCreateWorkerSession(const WorkerSession& session,
                                      const WorkerSessionOptions& options) {
  FlatBufferBuilder builder(128);
  return Finish(schemas::CreateCreateWorkerSession(
                    builder, session.master_incarnation, session.session,
                    options.isolated, options.is_monitored),
                builder);
}

absl::StatusOr<CreateWorkerSessionRequest> ReadCreateWorkerSession(
    bus::Message message) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::CreateWorkerSession>(std::move(message)));
  const auto& body = reader.body<schemas::CreateWorkerSession>();
  return CreateWorkerSessionRequest{
      SessionOf(body),
      {.isolated = body.isolated(), .is_monitored = body.is_monitored()}};
}

bus::Message WriteDeleteWorkerSession(const WorkerSession& session) {
  FlatBufferBuilder builder(128);
  return Finish(schemas::CreateDeleteWorkerSession(
                    builder, session.master_incarnation, session.session),
                builder);
}

absl::StatusOr<WorkerSession> ReadDeleteWorkerSession(bus::Message message) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::DeleteWorkerSession>(std::move(message)));
  return SessionOf(reader.body<schemas::DeleteWorkerSession>());
}

absl::StatusOr<bus::Message> WriteRegister(
    const PartitionRegistration& registration) {
  FlatBufferBuilder builder;
  Attachments attachments;
  std::vector<Offset<schemas::DevicePartition>> written;
  for (const DevicePartition& partition : registration.partitions) {
    ASSIGN_OR_RETURN(const auto offset,
                     WritePartition(partition, builder, attachments));
    written.push_back(offset);
  }
  const auto partitions = builder.CreateVector(written);
  const WorkerSession& session = registration.session;
  return Finish(schemas::CreateRegisterPartition(
                    builder, session.master_incarnation, session.session,
                    registration.registration, partitions,
                    registration.wants_new_variables),
                builder, std::move(attachments));
}

absl::StatusOr<PartitionRegistration> ReadRegister(
    bus::Message message, const std::shared_ptr<const OpRegistry>& ops) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::RegisterPartition>(std::move(message)));
  const auto& body = reader.body<schemas::RegisterPartition>();
  PartitionRegistration result;
  result.session = SessionOf(body);
  result.registration = body.registration();
  result.wants_new_variables = body.wants_new_variables();
  if (body.partitions() == nullptr) return result;
  absl::flat_hash_set<std::string> devices;
  for (const schemas::DevicePartition* partition : *body.partitions()) {
    ASSIGN_OR_RETURN(DevicePartition read,
                     ReadPartition(*partition, ops, reader));
    if (!devices.insert(read.device).second) {
      return DamagedMessage(
          absl::StrCat("device ", read.device, " comes twice"));
    }
    result.partitions.push_back(std::move(read));
  }
  return result;
}

bus::Message WriteNewVariables(const NewVariables& made) {
  if (made.bytes <= 0) return WriteDone();
  FlatBufferBuilder builder(256);
  const auto largest = builder.CreateString(NameForErrors(made.largest));
  const auto machine =
      builder.CreateString(NameForErrors(made.available.machine));
  return Finish(
      schemas::CreateRegisterPartitionReply(
          builder, made.bytes, largest, made.largest_bytes, made.available.task,
          machine, made.available.machine_has, made.available.kept),
      builder);
}

absl::StatusOr<NewVariables> ReadNewVariables(bus::Message message) {
  if (message.method == static_cast<uint8_t>(Method::kDone)) {
    RETURN_IF_ERROR(ReadDone(std::move(message)));
    return NewVariables();
  }
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::RegisterPartitionReply>(std::move(message)));
  const auto& body = reader.body<schemas::RegisterPartitionReply>();
  NewVariables made;
  made.bytes = std::max<int64_t>(0, body.new_variable_bytes());
  ASSIGN_OR_RETURN(made.largest,
                   ReadNameForErrors(body.largest_variable(), reader));
  made.largest_bytes = std::max<int64_t>(0, body.largest_variable_bytes());
  made.available.task = AvailableOf(body.task_available_bytes());
  ASSIGN_OR_RETURN(made.available.machine,
                   ReadNameForErrors(body.machine(), reader));
  made.available.machine_has = AvailableOf(body.machine_available_bytes());
  made.available.kept = std::max<int64_t>(0, body.kept_bytes());
  return made;
}

bus::Message WriteDeregister(const WorkerSession& session,
                             uint64_t registration) {
  FlatBufferBuilder builder(128);
  return Finish(
      schemas::CreateDeregisterPartition(builder, session.master_incarnation,
                                         session.session, registration),
      builder);
}

absl::StatusOr<DeregisterRequest> ReadDeregister(bus::Message message) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::DeregisterPartition>(std::move(message)));
  const auto& body = reader.body<schemas::DeregisterPartition>();
  return DeregisterRequest{SessionOf(body), body.registration()};
}

absl::StatusOr<bus::Message> WriteRunPartition(const PartitionStep& step) {
  FlatBufferBuilder builder(512);
  Attachments attachments;
  ASSIGN_OR_RETURN(const auto feeds,
                   WriteIndexed(step.feeds, step.feed_indices, "feed", builder,
                                attachments));
  Offset<flatbuffers::Vector<uint32_t>> fetch_indices = 0;
  if (!step.fetch_indices.empty()) {
    const absl::InlinedVector<uint32_t, 16> indices(step.fetch_indices.begin(),
                                                    step.fetch_indices.end());
    fetch_indices = builder.CreateVector(indices.data(), indices.size());
  }
  Offset<flatbuffers::Vector<uint64_t>> still_running = 0;
  if (step.more_finished != nullptr && !step.more_finished->running.empty()) {
    still_running = builder.CreateVector(step.more_finished->running);
  }
  return Finish(
      schemas::CreateRunPartition(
          builder, step.session.master_incarnation, step.session.session,
          step.registration, step.step, step.steps_finished_below, feeds,
          fetch_indices, step.trace != nullptr,
          step.more_finished != nullptr ? step.more_finished->below : 0,
          still_running),
      builder, std::move(attachments));
}

absl::StatusOr<RunPartitionRequest> ReadRunPartition(bus::Message message,
                                                     Allocator& allocator) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::RunPartition>(std::move(message)));
  const auto& body = reader.body<schemas::RunPartition>();
  RunPartitionRequest result;
  result.session = SessionOf(body);
  result.registration = body.registration();
  result.step = body.step();
  result.steps_finished_below = body.steps_finished_below();
  result.collect_stats = body.collect_stats();
  ASSIGN_OR_RETURN(result.more_finished, ReadFinishedSteps(body, reader));
  ASSIGN_OR_RETURN(auto feeds,
                   ReadIndexed(body.feeds(), "feed", reader, allocator));
  for (IndexedTensor& feed : feeds) {
    const auto position = static_cast<size_t>(feed.index);
    if (result.feeds.size() <= position) result.feeds.resize(position + 1);
    result.feeds[position] = std::move(feed.tensor);
    result.feed_indices.push_back(feed.index);
  }
  if (body.fetch_indices() == nullptr) return result;
  RETURN_IF_ERROR(
      reader.SpendCopied(body.fetch_indices()->size() * sizeof(uint32_t)));
  for (const uint32_t index : *body.fetch_indices()) {
    ASSIGN_OR_RETURN(const int position, ReadIndex(index));
    result.fetch_indices.push_back(position);
  }
  return result;
}

absl::StatusOr<bus::Message> WriteRunPartitionReply(
    absl::Span<const Tensor> fetches, absl::Span<const int> indices,
    absl::Span<const Push> pushes, const PartitionTrace* trace,
    const Clock* clock) {
  FlatBufferBuilder builder(512);
  Attachments attachments;
  ASSIGN_OR_RETURN(const auto written, WriteIndexed(fetches, indices, "fetch",
                                                    builder, attachments));
  Offset<PushVector> written_pushes = 0;
  if (!pushes.empty()) {
    ASSIGN_OR_RETURN(written_pushes,
                     WritePushVector(pushes, builder, attachments));
  }
  Offset<schemas::Bytes> stats = 0;
  int64_t begun = 0;
  int64_t ended = 0;
  if (trace != nullptr) {
    ASSIGN_OR_RETURN(std::string bytes, Serialize(trace->stats));
    stats = WriteBytes(bus::Blob::FromString(std::move(bytes)), builder,
                       attachments);
    begun = absl::ToUnixNanos(trace->begun);
    ended = absl::ToUnixNanos(clock != nullptr ? clock->Now() : trace->ended);
  }
  return Finish(schemas::CreateRunPartitionReply(builder, written, stats,
                                                 written_pushes, begun, ended),
                builder, std::move(attachments));
}

absl::StatusOr<RunPartitionAnswer> ReadRunPartitionReply(
    bus::Message message, absl::Span<const int> indices, Allocator& allocator) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::RunPartitionReply>(std::move(message)));
  const auto& body = reader.body<schemas::RunPartitionReply>();
  ASSIGN_OR_RETURN(auto fetches,
                   ReadIndexed(body.fetches(), "fetch", reader, allocator));
  absl::flat_hash_map<int, Tensor> by_index;
  for (IndexedTensor& fetch : fetches) {
    by_index[fetch.index] = std::move(fetch.tensor);
  }
  RunPartitionAnswer answer;
  for (const int index : indices) {
    const auto fetch = by_index.find(index);
    if (fetch == by_index.end()) {
      return DamagedMessage(absl::StrCat("it does not bring fetch ", index));
    }
    answer.fetches.push_back(fetch->second);
  }
  ASSIGN_OR_RETURN(answer.pushes,
                   ReadPushVector(body.pushes(), reader, allocator));
  if (body.stats() == nullptr) return answer;
  ASSIGN_OR_RETURN(const bus::Blob stats, reader.ReadBytes(body.stats()));
  answer.trace.emplace();
  ASSIGN_OR_RETURN(answer.trace->stats, ParseStepStats(stats.view()));
  answer.trace->begun = absl::FromUnixNanos(body.begun_nanos());
  answer.trace->ended = absl::FromUnixNanos(body.ended_nanos());
  return answer;
}

bool IsRunPartitionReadSoon(const bus::Message& message) {
  return IsReadSoon<schemas::RunPartition>(
      message, [](const auto& body) { return SlowBytesOf(body.feeds()); });
}

bool IsRunPartitionReplyReadSoon(const bus::Message& message) {
  return IsReadSoon<schemas::RunPartitionReply>(message, [](const auto& body) {
    return SlowBytesOf(body.fetches()) + SlowBytesOf(body.pushes());
  });
}

bool ArePushesReadSoon(const bus::Message& message) {
  return IsReadSoon<schemas::Pushes>(
      message, [](const auto& body) { return SlowBytesOf(body.pushes()); });
}

bus::Message WriteAbort(const StepId& step, uint64_t steps_finished_below,
                        const absl::Status& cause) {
  FlatBufferBuilder builder(256);
  const auto error = WriteError(cause, builder);
  return Finish(schemas::CreateAbort(builder, step.master_incarnation,
                                     step.step, steps_finished_below, error),
                builder);
}

absl::StatusOr<AbortRequest> ReadAbort(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::Abort>(std::move(message)));
  const auto& body = reader.body<schemas::Abort>();
  AbortRequest result;
  result.step = {body.master_incarnation(), body.step()};
  result.steps_finished_below = body.steps_finished_below();
  ASSIGN_OR_RETURN(result.cause, ReadError(body.cause(), reader));
  return result;
}

bus::Message WriteDescribeWaits(const StepId& step) {
  FlatBufferBuilder builder(128);
  return Finish(
      schemas::CreateDescribeWaits(builder, step.master_incarnation, step.step),
      builder);
}

absl::StatusOr<StepId> ReadDescribeWaits(bus::Message message) {
  ASSIGN_OR_RETURN(const MessageReader reader,
                   Open<schemas::DescribeWaits>(std::move(message)));
  const auto& body = reader.body<schemas::DescribeWaits>();
  return StepId{body.master_incarnation(), body.step()};
}

bus::Message WriteWaits(absl::Span<const std::string> waits) {
  FlatBufferBuilder builder(512);
  waits = waits.subspan(0, Worker::kMaxWaits);
  std::vector<std::string> shortened;
  for (const std::string& wait : waits) {
    shortened.push_back(ShortenText(wait, kMaxErrorText));
  }
  const auto texts = builder.CreateVectorOfStrings(shortened);
  return Finish(schemas::CreateDescribeWaitsReply(builder, texts), builder);
}

absl::StatusOr<std::vector<std::string>> ReadWaits(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::DescribeWaitsReply>(std::move(message)));
  return reader.ReadStrings(reader.body<schemas::DescribeWaitsReply>().waits());
}

bus::Message WriteHoldSteps(const StepHold& hold) {
  FlatBufferBuilder builder(256);
  const auto writers = WriteWriterVector(hold.writers, builder);
  return Finish(
      schemas::CreateHoldSteps(
          builder, hold.holder.master_incarnation, hold.holder.step,
          static_cast<uint8_t>(hold.action), hold.session, hold.registration,
          writers, MicrosOf(hold.max_wait), MicrosOf(hold.lease)),
      builder);
}

absl::StatusOr<StepHold> ReadHoldSteps(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::HoldSteps>(std::move(message)));
  const auto& body = reader.body<schemas::HoldSteps>();
  if (body.action() > static_cast<uint8_t>(StepHold::Action::kReleaseSteps)) {
    return DamagedMessage(
        absl::StrCat("a hold of unknown action ", body.action()));
  }
  StepHold hold;
  hold.action = static_cast<StepHold::Action>(body.action());
  hold.holder = {body.master_incarnation(), body.step()};
  hold.session = body.session();
  hold.registration = body.registration();
  ASSIGN_OR_RETURN(hold.writers, ReadWriterVector(body.writers(), reader));
  hold.max_wait = FromMicros(body.max_wait_micros());
  hold.lease = FromMicros(body.lease_micros());
  return hold;
}

bus::Message WriteWriters(absl::Span<const VariableWriter> writers) {
  FlatBufferBuilder builder(512);
  const auto vector = WriteWriterVector(writers, builder);
  return Finish(schemas::CreateHoldStepsReply(builder, vector), builder);
}

absl::StatusOr<std::vector<VariableWriter>> ReadWriters(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::HoldStepsReply>(std::move(message)));
  return ReadWriterVector(reader.body<schemas::HoldStepsReply>().writers(),
                          reader);
}

bus::Message WriteClearContainers(const std::vector<std::string>& containers) {
  FlatBufferBuilder builder(256);
  const auto names = builder.CreateVectorOfStrings(containers);
  return Finish(schemas::CreateClearContainers(builder, names), builder);
}

absl::StatusOr<std::vector<std::string>> ReadClearContainers(
    bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::ClearContainers>(std::move(message)));
  return reader.ReadStrings(
      reader.body<schemas::ClearContainers>().containers());
}

absl::StatusOr<bus::Message> WritePushes(absl::Span<const Push> pushes) {
  FlatBufferBuilder builder(256);
  Attachments attachments;
  ASSIGN_OR_RETURN(const auto vector,
                   WritePushVector(pushes, builder, attachments));
  return Finish(schemas::CreatePushes(builder, vector), builder,
                std::move(attachments));
}

absl::StatusOr<std::vector<Push>> ReadPushes(bus::Message message,
                                             Allocator& allocator) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::Pushes>(std::move(message)));
  return ReadPushVector(reader.body<schemas::Pushes>().pushes(), reader,
                        allocator);
}

absl::StatusOr<std::vector<Push>> ReadPushHeaders(bus::Message message) {
  ASSIGN_OR_RETURN(MessageReader reader,
                   Open<schemas::Pushes>(std::move(message)));
  std::vector<Push> result;
  const auto* pushes = reader.body<schemas::Pushes>().pushes();
  if (pushes == nullptr) return result;
  for (const schemas::Push* push : *pushes) {
    RETURN_IF_ERROR(reader.SpendCopied(sizeof(schemas::PushHeader)));
    auto header = ReadHeader(*push);
    if (header.ok()) result.push_back(*std::move(header));
  }
  return result;
}

}  // namespace weft::protocol
