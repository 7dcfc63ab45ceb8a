#include "libs/trace/step_stats.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"
#include "schemas/tf/config.pb.h"
#include "schemas/tf/step_stats.pb.h"

namespace weft {
namespace {

constexpr int64_t kNanosAMicro = 1000;
constexpr size_t kMostBytes = std::numeric_limits<int32_t>::max();

// Adds numbers that come from other processes. The sum wraps around instead of
// overflowing.
int64_t Sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) +
                              static_cast<uint64_t>(b));
}

absl::Status TooLarge(absl::string_view what, size_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the ", what, " of the run takes ", bytes,
                   " bytes, more than the 2 GiB that a message may have"));
}

void ToProto(const OutputStats& output, tf::NodeOutput* proto) {
  proto->set_slot(output.slot);
  tf::TensorDescription* tensor = proto->mutable_tensor_description();
  tensor->set_dtype(static_cast<tf::DataType>(output.dtype));
  tf::TensorShapeProto* shape = tensor->mutable_shape();
  for (const int64_t size : output.dims) shape->add_dim()->set_size(size);
  tensor->mutable_allocation_description()->set_requested_bytes(
      output.num_bytes);
}

OutputStats FromProto(const tf::NodeOutput& proto) {
  const tf::TensorDescription& tensor = proto.tensor_description();
  OutputStats output{
      .slot = proto.slot(),
      .dtype = tensor.dtype(),
      .num_bytes = tensor.allocation_description().requested_bytes()};
  for (const auto& dim : tensor.shape().dim()) {
    output.dims.push_back(dim.size());
  }
  return output;
}

void ToProto(const NodeExecStats& stats, tf::NodeExecStats* proto) {
  proto->set_node_name(stats.node_name);
  proto->set_timeline_label(stats.timeline_label);
  proto->set_thread_id(stats.thread_id);
  proto->set_all_start_nanos(stats.start_nanos);
  proto->set_op_end_rel_nanos(stats.end_rel_nanos);
  proto->set_all_end_rel_nanos(stats.end_rel_nanos);
  proto->set_scheduled_nanos(stats.start_nanos);
  const int64_t start = stats.start_nanos / kNanosAMicro;
  const int64_t end = stats.end_rel_nanos / kNanosAMicro;
  proto->set_all_start_micros(start);
  proto->set_op_end_rel_micros(end);
  proto->set_all_end_rel_micros(end);
  proto->set_scheduled_micros(start);
  for (const OutputStats& output : stats.output) {
    ToProto(output, proto->add_output());
  }
}

// Returns nanoseconds. Older versions of TensorFlow write only microseconds.
int64_t NanosOf(int64_t nanos, int64_t micros) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / kNanosAMicro;
  if (nanos != 0 || micros < -kMost || micros > kMost) return nanos;
  return micros * kNanosAMicro;
}

NodeExecStats FromProto(const tf::NodeExecStats& proto) {
  NodeExecStats stats{
      .node_name = proto.node_name(),
      .start_nanos = NanosOf(proto.all_start_nanos(), proto.all_start_micros()),
      .end_rel_nanos =
          NanosOf(proto.all_end_rel_nanos(), proto.all_end_rel_micros()),
      .timeline_label = proto.timeline_label(),
      .thread_id = proto.thread_id()};
  for (const tf::NodeOutput& output : proto.output()) {
    stats.output.push_back(FromProto(output));
  }
  return stats;
}

void ToProto(const StepStats& stats, tf::StepStats* proto) {
  for (const DeviceStepStats& device : stats.dev_stats) {
    tf::DeviceStepStats* written = proto->add_dev_stats();
    written->set_device(device.device);
    for (const NodeExecStats& node : device.node_stats) {
      ToProto(node, written->add_node_stats());
    }
    written->mutable_thread_names()->insert(device.thread_names.begin(),
                                            device.thread_names.end());
  }
}

StepStats FromProto(const tf::StepStats& proto) {
  StepStats stats;
  for (const tf::DeviceStepStats& device : proto.dev_stats()) {
    DeviceStepStats& read = stats.dev_stats.emplace_back();
    read.device = device.device();
    for (const tf::NodeExecStats& node : device.node_stats()) {
      read.node_stats.push_back(FromProto(node));
    }
    read.thread_names = {device.thread_names().begin(),
                         device.thread_names().end()};
  }
  return stats;
}

template <typename Message>
absl::Status Parse(absl::string_view bytes, absl::string_view what,
                   Message& message) {
  if (bytes.size() <= kMostBytes &&
      message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the ", bytes.size(), " bytes are not a ", what));
}

// Serializes a message. Maps are written in the order of their keys, so that
// equal messages give equal bytes.
std::string ToBytes(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

absl::StatusOr<std::string> Write(const google::protobuf::Message& message,
                                  absl::string_view what) {
  const size_t bytes = message.ByteSizeLong();
  if (bytes > kMostBytes) return TooLarge(what, bytes);
  return ToBytes(message);
}

// Appends a field to a message that is already serialized. Concatenated
// messages are parsed as one message with the fields of both.
void AppendField(int number, absl::string_view bytes, std::string& message) {
  constexpr uint8_t kLengthDelimited = 2;
  message.push_back(static_cast<char>(number << 3 | kLengthDelimited));
  size_t length = bytes.size();
  for (; length >= 0x80; length >>= 7) {
    message.push_back(static_cast<char>((length & 0x7f) | 0x80));
  }
  message.push_back(static_cast<char>(length));
  message.append(bytes.data(), bytes.size());
}

}  // namespace

size_t BytesOf(const NodeExecStats& stats) {
  size_t bytes =
      sizeof(stats) + stats.node_name.size() + stats.timeline_label.size();
  for (const OutputStats& output : stats.output) {
    bytes += sizeof(output) + output.dims.size() * sizeof(int64_t);
  }
  return bytes;
}

NodeExecStats OmittedRuns(size_t num_runs, int64_t last_start_nanos) {
  return {.node_name = absl::StrCat(num_runs, " more runs were not recorded"),
          .start_nanos = last_start_nanos,
          .thread_id = 0};
}

void StepStats::Shift(int64_t nanos) {
  for (DeviceStepStats& device : dev_stats) {
    for (NodeExecStats& node : device.node_stats) {
      node.start_nanos = Sum(node.start_nanos, nanos);
    }
  }
}

void StepStats::Add(StepStats others) {
  for (DeviceStepStats& device : others.dev_stats) {
    dev_stats.push_back(std::move(device));
  }
}

void StepStats::Limit(size_t max_bytes) {
  for (DeviceStepStats& device : dev_stats) {
    std::vector<NodeExecStats>& runs = device.node_stats;
    size_t bytes = 0;
    for (const NodeExecStats& run : runs) bytes += BytesOf(run);
    if (bytes <= max_bytes) {
      max_bytes -= bytes;
    } else {
      runs = {OmittedRuns(runs.size(), runs.back().start_nanos)};
    }
  }
}

absl::StatusOr<std::string> Serialize(const StepStats& stats) {
  tf::StepStats proto;
  ToProto(stats, &proto);
  return Write(proto, "step_stats");
}

absl::StatusOr<std::string> Serialize(const RunMetadata& metadata) {
  tf::RunMetadata proto;
  if (!metadata.step_stats.dev_stats.empty()) {
    ToProto(metadata.step_stats, proto.mutable_step_stats());
  }
  absl::StatusOr<std::string> bytes = Write(proto, "metadata");
  if (!bytes.ok()) return bytes;
  for (const std::string& graph : metadata.partition_graphs) {
    AppendField(tf::RunMetadata::kPartitionGraphsFieldNumber, graph, *bytes);
  }
  if (bytes->size() > kMostBytes) return TooLarge("metadata", bytes->size());
  return bytes;
}

absl::StatusOr<StepStats> ParseStepStats(absl::string_view bytes) {
  tf::StepStats proto;
  const absl::Status parsed = Parse(bytes, "StepStats", proto);
  if (!parsed.ok()) return parsed;
  return FromProto(proto);
}

absl::StatusOr<RunMetadata> ParseRunMetadata(absl::string_view bytes) {
  tf::RunMetadata proto;
  const absl::Status parsed = Parse(bytes, "RunMetadata", proto);
  if (!parsed.ok()) return parsed;
  RunMetadata metadata{.step_stats = FromProto(proto.step_stats())};
  for (const tf::GraphDef& graph : proto.partition_graphs()) {
    metadata.partition_graphs.push_back(ToBytes(graph));
  }
  return metadata;
}

std::string SerializeRunOptions(const MetadataWanted& wanted) {
  tf::RunOptions proto;
  proto.set_trace_level(
      static_cast<tf::RunOptions::TraceLevel>(wanted.trace_level));
  proto.set_output_partition_graphs(wanted.output_partition_graphs);
  return ToBytes(proto);
}

absl::StatusOr<MetadataWanted> ParseRunOptions(absl::string_view bytes) {
  tf::RunOptions proto;
  const absl::Status parsed = Parse(bytes, "RunOptions", proto);
  if (!parsed.ok()) return parsed;
  const bool is_known = tf::RunOptions::TraceLevel_IsValid(proto.trace_level());
  return MetadataWanted{
      .trace_level = is_known ? static_cast<TraceLevel>(proto.trace_level())
                              : TraceLevel::kFullTrace,
      .output_partition_graphs = proto.output_partition_graphs()};
}

}  // namespace weft
