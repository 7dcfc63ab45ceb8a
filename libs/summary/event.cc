#include "libs/summary/event.h"

#include <limits>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/base/utf8.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/event.pb.h"
#include "schemas/tf/summary.pb.h"

namespace weft::summary {
namespace {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <typename... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

// Returns valid UTF-8 for a string of an event, which may be any bytes in paths
// and tags. Invalid bytes are escaped as in C, because TensorBoard reads only
// UTF-8, and protobuf logs an error for each other string.
std::string AsText(const std::string& bytes) {
  const bool is_text =
      absl::c_all_of(bytes, absl::ascii_isascii) || IsUtf8(bytes);
  return is_text ? bytes : absl::CHexEscape(bytes);
}

template <typename Message>
std::string Serialize(const Message& message) {
  if (message.ByteSizeLong() > std::numeric_limits<int>::max()) return {};
  return message.SerializeAsString();
}

template <typename Message>
absl::Status Parse(absl::string_view bytes, absl::string_view what,
                   Message& message) {
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", bytes.size(), " bytes are not a valid ", what));
  }
  return absl::OkStatus();
}

// BoundedAllocator limits the memory for tensors, because a tensor message may
// declare more elements than fit in memory, all with one repeated value.
class BoundedAllocator : public Allocator {
 public:
  // The limit allows the elements that the message itself contains. The
  // smallest possible element is an empty string.
  explicit BoundedAllocator(size_t message_bytes)
      : most_((size_t{64} << 20) + sizeof(std::string) * message_bytes) {}

  BufferPtr Allocate(size_t bytes) override {
    return bytes <= most_ ? HeapAllocator().Allocate(bytes) : BufferPtr();
  }

 private:
  const size_t most_;
};

// ---- Values ----

void ToProto(const HistogramValue& value, tf::HistogramProto* proto) {
  proto->set_min(value.min);
  proto->set_max(value.max);
  proto->set_num(value.num);
  proto->set_sum(value.sum);
  proto->set_sum_squares(value.sum_squares);
  proto->mutable_bucket_limit()->Add(value.bucket_limit.begin(),
                                     value.bucket_limit.end());
  proto->mutable_bucket()->Add(value.bucket.begin(), value.bucket.end());
}

HistogramValue FromProto(const tf::HistogramProto& proto) {
  return {.min = proto.min(),
          .max = proto.max(),
          .num = proto.num(),
          .sum = proto.sum(),
          .sum_squares = proto.sum_squares(),
          .bucket_limit = {proto.bucket_limit().begin(),
                           proto.bucket_limit().end()},
          .bucket = {proto.bucket().begin(), proto.bucket().end()}};
}

void ToProto(const ImageValue& value, tf::Summary::Image* proto) {
  proto->set_height(value.height);
  proto->set_width(value.width);
  proto->set_colorspace(value.colorspace);
  proto->set_encoded_image_string(value.encoded);
}

ImageValue FromProto(const tf::Summary::Image& proto) {
  return {.height = proto.height(),
          .width = proto.width(),
          .colorspace = proto.colorspace(),
          .encoded = proto.encoded_image_string()};
}

void ToProto(const AudioValue& value, tf::Summary::Audio* proto) {
  proto->set_sample_rate(value.sample_rate);
  proto->set_num_channels(value.num_channels);
  proto->set_length_frames(value.length_frames);
  proto->set_encoded_audio_string(value.encoded);
  proto->set_content_type(value.content_type);
}

AudioValue FromProto(const tf::Summary::Audio& proto) {
  return {.sample_rate = proto.sample_rate(),
          .num_channels = proto.num_channels(),
          .length_frames = proto.length_frames(),
          .encoded = proto.encoded_audio_string(),
          .content_type = proto.content_type()};
}

void ToProto(const SummaryMetadata& value, tf::SummaryMetadata* proto) {
  if (!value.plugin_name.empty() || !value.plugin_content.empty()) {
    proto->mutable_plugin_data()->set_plugin_name(value.plugin_name);
    proto->mutable_plugin_data()->set_content(value.plugin_content);
  }
  proto->set_display_name(value.display_name);
  proto->set_summary_description(value.description);
  proto->set_data_class(static_cast<tf::DataClass>(value.data_class));
}

SummaryMetadata FromProto(const tf::SummaryMetadata& proto) {
  return {.plugin_name = proto.plugin_data().plugin_name(),
          .plugin_content = proto.plugin_data().content(),
          .display_name = proto.display_name(),
          .description = proto.summary_description(),
          .data_class = proto.data_class()};
}

// Writes all elements, as TensorFlow's summary ops do, and never one value for
// all elements.
void ToProto(const Tensor& tensor, tf::TensorProto* proto) {
  const DataType dtype = tensor.dtype();
  if (!tensor.IsInitialized() || dtype == DT_STRING || dtype == DT_RESOURCE ||
      dtype == DT_VARIANT) {
    return TensorToProto(tensor, proto);
  }
  proto->set_dtype(static_cast<tf::DataType>(dtype));
  ShapeToProto(tensor.shape(), proto->mutable_tensor_shape());
  proto->set_tensor_content(tensor.data(), tensor.num_bytes());
}

// ---- Summaries ----

void ToProto(const SummaryValue& value, tf::Summary::Value* proto) {
  proto->set_tag(AsText(value.tag));
  proto->set_node_name(AsText(value.node_name));
  if (value.metadata.has_value()) {
    ToProto(*value.metadata, proto->mutable_metadata());
  }
  std::visit(
      Overloaded{
          [](std::monostate) {},
          [&](float scalar) { proto->set_simple_value(scalar); },
          [&](const HistogramValue& v) { ToProto(v, proto->mutable_histo()); },
          [&](const ImageValue& v) { ToProto(v, proto->mutable_image()); },
          [&](const AudioValue& v) { ToProto(v, proto->mutable_audio()); },
          [&](const Tensor& v) { ToProto(v, proto->mutable_tensor()); }},
      value.value);
}

absl::StatusOr<SummaryValue> FromProto(const tf::Summary::Value& proto,
                                       Allocator& allocator) {
  SummaryValue value;
  value.tag = proto.tag();
  value.node_name = proto.node_name();
  if (proto.has_metadata()) value.metadata = FromProto(proto.metadata());
  if (proto.has_simple_value()) value.value = proto.simple_value();
  if (proto.has_histo()) value.value = FromProto(proto.histo());
  if (proto.has_image()) value.value = FromProto(proto.image());
  if (proto.has_audio()) value.value = FromProto(proto.audio());
  if (proto.has_tensor()) {
    auto tensor = TensorFromProto(proto.tensor(), allocator);
    if (!tensor.ok()) {
      return Annotate(tensor.status(), absl::StrCat("tag ", value.tag));
    }
    value.value = *std::move(tensor);
  }
  return value;
}

void ToProto(const Summary& summary, tf::Summary* proto) {
  for (const SummaryValue& value : summary.value) {
    ToProto(value, proto->add_value());
  }
}

absl::StatusOr<Summary> FromProto(const tf::Summary& proto,
                                  Allocator& allocator) {
  Summary summary;
  for (const auto& value : proto.value()) {
    ASSIGN_OR_RETURN(summary.value.emplace_back(), FromProto(value, allocator));
  }
  return summary;
}

// ---- Events ----

void ToProto(const SessionLog& log, tf::SessionLog* proto) {
  proto->set_status(static_cast<tf::SessionLog::SessionStatus>(log.status));
  proto->set_checkpoint_path(AsText(log.checkpoint_path));
  proto->set_msg(AsText(log.msg));
}

SessionLog FromProto(const tf::SessionLog& proto) {
  return {.status = static_cast<SessionLog::Status>(proto.status()),
          .checkpoint_path = proto.checkpoint_path(),
          .msg = proto.msg()};
}

absl::Status SetWhat(const tf::Event& proto, Allocator& allocator,
                     Event& event) {
  using What = tf::Event;
  switch (proto.what_case()) {
    case What::kFileVersion:
      event.what = FileVersion{proto.file_version()};
      break;
    case What::kGraphDef:
      event.what = GraphDefBytes{proto.graph_def()};
      break;
    case What::kMetaGraphDef:
      event.what = MetaGraphDefBytes{proto.meta_graph_def()};
      break;
    case What::kSessionLog:
      event.what = FromProto(proto.session_log());
      break;
    case What::kTaggedRunMetadata:
      event.what =
          TaggedRunMetadata{proto.tagged_run_metadata().tag(),
                            proto.tagged_run_metadata().run_metadata()};
      break;
    case What::kSummary: {
      ASSIGN_OR_RETURN(event.what, FromProto(proto.summary(), allocator));
      break;
    }
    case What::kLogMessage:
    case What::WHAT_NOT_SET:
      break;
  }
  return absl::OkStatus();
}

}  // namespace

std::string SerializeSummary(const Summary& summary) {
  tf::Summary proto;
  ToProto(summary, &proto);
  return Serialize(proto);
}

absl::StatusOr<Summary> ParseSummary(absl::string_view bytes) {
  tf::Summary proto;
  RETURN_IF_ERROR(Parse(bytes, "Summary", proto));
  BoundedAllocator allocator(bytes.size());
  return FromProto(proto, allocator);
}

std::string SerializeSummaryMetadata(const SummaryMetadata& metadata) {
  tf::SummaryMetadata proto;
  ToProto(metadata, &proto);
  return Serialize(proto);
}

absl::StatusOr<SummaryMetadata> ParseSummaryMetadata(absl::string_view bytes) {
  tf::SummaryMetadata proto;
  RETURN_IF_ERROR(Parse(bytes, "SummaryMetadata", proto));
  return FromProto(proto);
}

std::string SerializeEvent(const Event& event) {
  tf::Event proto;
  proto.set_wall_time(event.wall_time);
  proto.set_step(event.step);
  if (!event.source_writer.empty()) {
    proto.mutable_source_metadata()->set_writer(event.source_writer);
  }
  std::visit(
      Overloaded{
          [](std::monostate) {},
          [&](const FileVersion& v) { proto.set_file_version(v.version); },
          [&](const GraphDefBytes& v) { proto.set_graph_def(v.bytes); },
          [&](const MetaGraphDefBytes& v) {
            proto.set_meta_graph_def(v.bytes);
          },
          [&](const Summary& v) { ToProto(v, proto.mutable_summary()); },
          [&](const SessionLog& v) { ToProto(v, proto.mutable_session_log()); },
          [&](const TaggedRunMetadata& v) {
            auto* tagged = proto.mutable_tagged_run_metadata();
            tagged->set_tag(AsText(v.tag));
            tagged->set_run_metadata(v.run_metadata);
          }},
      event.what);
  return Serialize(proto);
}

absl::StatusOr<Event> ParseEvent(absl::string_view bytes) {
  tf::Event proto;
  RETURN_IF_ERROR(Parse(bytes, "Event", proto));
  Event event;
  event.wall_time = proto.wall_time();
  event.step = proto.step();
  event.source_writer = proto.source_metadata().writer();
  BoundedAllocator allocator(bytes.size());
  RETURN_IF_ERROR(SetWhat(proto, allocator, event));
  return event;
}

}  // namespace weft::summary
