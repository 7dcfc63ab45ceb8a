// Event is a record of an event file, and Summary holds the values of one step
// for TensorBoard. Both are plain values that can be converted from and to
// TensorFlow's bytes (schemas/tf/event.proto and summary.proto). This header
// does not include protobuf.
//
// Threads: plain values and stateless functions.
#ifndef WEFT_LIBS_SUMMARY_EVENT_H_
#define WEFT_LIBS_SUMMARY_EVENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/tensor/tensor.h"

namespace weft::summary {

// bucket[i] is the number of values that are below bucket_limit[i] and not in
// an earlier bucket.
struct HistogramValue {
  double min = 0;
  double max = 0;
  double num = 0;
  double sum = 0;
  double sum_squares = 0;
  std::vector<double> bucket_limit;
  std::vector<double> bucket;

  bool operator==(const HistogramValue&) const = default;
};

struct ImageValue {
  int32_t height = 0;
  int32_t width = 0;
  int32_t colorspace = 0;  // 1 gray, 3 RGB, 4 RGBA
  std::string encoded;     // a PNG file

  bool operator==(const ImageValue&) const = default;
};

struct AudioValue {
  float sample_rate = 0;  // Hz
  int64_t num_channels = 0;
  int64_t length_frames = 0;
  std::string encoded;       // an audio file
  std::string content_type;  // type, such as "audio/wav"

  bool operator==(const AudioValue&) const = default;
};

// SummaryMetadata has display options for a value in TensorBoard.
struct SummaryMetadata {
  std::string plugin_name;  // such as "text" or "scalars"
  std::string plugin_content;
  std::string display_name;
  std::string description;  // Markdown
  int data_class = 0;       // TensorFlow's enum DataClass

  bool operator==(const SummaryMetadata&) const = default;
};

struct SummaryValue {
  std::string tag;
  std::string node_name;
  // A float is a scalar. monostate stands for a kind of TensorFlow that is not
  // supported here.
  std::variant<std::monostate, float, HistogramValue, ImageValue, AudioValue,
               Tensor>
      value;
  std::optional<SummaryMetadata> metadata;
};

struct Summary {
  std::vector<SummaryValue> value;
};

// Returns the serialized summary, or "" if it exceeds the message limit (2
// GiB).
std::string SerializeSummary(const Summary& summary);
// Parses a summary. INVALID_ARGUMENT if the bytes are not a Summary or contain
// an invalid tensor. RESOURCE_EXHAUSTED if a tensor would be much larger than
// the bytes: one repeated value may expand to at most 64 MiB.
absl::StatusOr<Summary> ParseSummary(absl::string_view bytes);

std::string SerializeSummaryMetadata(const SummaryMetadata& metadata);
// Parses metadata. INVALID_ARGUMENT if the bytes are not a SummaryMetadata.
absl::StatusOr<SummaryMetadata> ParseSummaryMetadata(absl::string_view bytes);

// SessionLog records that a session began, ended or saved.
struct SessionLog {
  enum class Status {
    kUnspecified = 0,
    kStart = 1,
    kStop = 2,
    kCheckpoint = 3
  };
  Status status = Status::kUnspecified;
  std::string checkpoint_path;
  std::string msg;

  bool operator==(const SessionLog&) const = default;
};

// TaggedRunMetadata is the serialized RunMetadata of a step, with a name.
struct TaggedRunMetadata {
  std::string tag;
  std::string run_metadata;

  bool operator==(const TaggedRunMetadata&) const = default;
};

// FileVersion is the first event of a file, with a version such as
// "brain.Event:2".
struct FileVersion {
  std::string version;
  bool operator==(const FileVersion&) const = default;
};
// GraphDefBytes is a serialized GraphDef.
struct GraphDefBytes {
  std::string bytes;
  bool operator==(const GraphDefBytes&) const = default;
};
// MetaGraphDefBytes is a serialized MetaGraphDef.
struct MetaGraphDefBytes {
  std::string bytes;
  bool operator==(const MetaGraphDefBytes&) const = default;
};

struct Event {
  double wall_time = 0;  // seconds since 1970
  int64_t step = 0;
  std::variant<std::monostate, FileVersion, GraphDefBytes, Summary, SessionLog,
               TaggedRunMetadata, MetaGraphDefBytes>
      what;
  std::string source_writer;  // the program that wrote the file; only in its
                              // first event

  // Returns the value if it has type T, else null. Example:
  // event.As<Summary>().
  template <typename T>
  const T* As() const {
    return std::get_if<T>(&what);
  }
};

// Returns the serialized event, or "" if it exceeds the message limit (2 GiB).
std::string SerializeEvent(const Event& event);
// Parses an event. INVALID_ARGUMENT if the bytes are not an Event. Other errors
// are those of ParseSummary.
absl::StatusOr<Event> ParseEvent(absl::string_view bytes);

}  // namespace weft::summary

#endif  // WEFT_LIBS_SUMMARY_EVENT_H_
