#include "tools/conformance/events_check.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "libs/base/status.h"
#include "libs/fs/memory_file_system.h"
#include "libs/fs/path.h"
#include "libs/summary/event.h"
#include "libs/summary/events_writer.h"
#include "libs/summary/record_writer.h"
#include "nlohmann/json.hpp"

namespace weft::conformance {
namespace {

using Json = nlohmann::json;
using summary::Event;
using summary::EventsReader;

// ---- Events in protobuf's JSON form, which omits fields without a value ----

template <typename T>
void Put(Json& json, const char* key, const T& value) {
  if (value != T()) json[key] = value;
}

// Returns the decimal number with the fewest digits that round-trips as a
// float.
double Shortest(float value) {
  for (int digits = 6; digits < 9; ++digits) {
    const std::string text = absl::StrFormat("%.*g", digits, value);
    if (std::strtof(text.c_str(), nullptr) == value) {
      return std::strtod(text.c_str(), nullptr);
    }
  }
  return std::strtod(absl::StrFormat("%.9g", value).c_str(), nullptr);
}

Json OfSize(const std::string& bytes) { return {{"bytes", bytes.size()}}; }

// Describes the size of a graph. The recorder stored graphs as base64 and
// counted the padding as bytes, so the size is rounded up to a multiple of
// three.
Json OfPaddedSize(const std::string& bytes) {
  return {{"bytes", (bytes.size() + 2) / 3 * 3}};
}

Json Describe(const summary::HistogramValue& value) {
  Json json = Json::object();
  Put(json, "min", value.min);
  Put(json, "max", value.max);
  Put(json, "num", value.num);
  Put(json, "sum", value.sum);
  Put(json, "sum_squares", value.sum_squares);
  Put(json, "bucket_limit", value.bucket_limit);
  Put(json, "bucket", value.bucket);
  return json;
}

Json Describe(const summary::ImageValue& value) {
  Json json = Json::object();
  Put(json, "height", value.height);
  Put(json, "width", value.width);
  Put(json, "colorspace", value.colorspace);
  Put(json, "encoded_image_string", absl::Base64Escape(value.encoded));
  return json;
}

// Describes a string tensor.
Json Describe(const Tensor& tensor) {
  Json json = {{"dtype", absl::StrCat("DT_", absl::AsciiStrToUpper(DataTypeName(
                                                 tensor.dtype())))},
               {"tensor_shape", Json::object()}};
  for (const int64_t size : tensor.shape().dims()) {
    json["tensor_shape"]["dim"].push_back({{"size", absl::StrCat(size)}});
  }
  if (tensor.dtype() != DT_STRING) return json;
  for (const std::string& text : tensor.flat<std::string>()) {
    json["string_val"].push_back(absl::Base64Escape(text));
  }
  return json;
}

Json Describe(const summary::SummaryMetadata& metadata) {
  Json json = Json::object();
  Put(json["plugin_data"], "plugin_name", metadata.plugin_name);
  Put(json["plugin_data"], "content",
      absl::Base64Escape(metadata.plugin_content));
  Put(json, "display_name", metadata.display_name);
  Put(json, "summary_description", metadata.description);
  return json;
}

Json Describe(const summary::SummaryValue& value) {
  Json json = Json::object();
  Put(json, "tag", value.tag);
  Put(json, "node_name", value.node_name);
  if (value.metadata.has_value()) json["metadata"] = Describe(*value.metadata);
  if (const auto* scalar = std::get_if<float>(&value.value)) {
    json["simple_value"] = Shortest(*scalar);
  } else if (const auto* histogram =
                 std::get_if<summary::HistogramValue>(&value.value)) {
    json["histo"] = Describe(*histogram);
  } else if (const auto* image =
                 std::get_if<summary::ImageValue>(&value.value)) {
    json["image"] = Describe(*image);
  } else if (const auto* tensor = std::get_if<Tensor>(&value.value)) {
    json["tensor"] = Describe(*tensor);
  }
  return json;
}

Json Describe(const summary::SessionLog& log) {
  static constexpr const char* kNames[] = {"STATUS_UNSPECIFIED", "START",
                                           "STOP", "CHECKPOINT"};
  Json json = Json::object();
  if (log.status != summary::SessionLog::Status::kUnspecified) {
    json["status"] = kNames[static_cast<int>(log.status) % 4];
  }
  Put(json, "checkpoint_path", log.checkpoint_path);
  Put(json, "msg", log.msg);
  return json;
}

Json Describe(const Event& event) {
  Json json = Json::object();
  Put(json, "wall_time", event.wall_time);
  if (event.step != 0) json["step"] = absl::StrCat(event.step);
  if (!event.source_writer.empty()) {
    json["source_metadata"] = {{"writer", event.source_writer}};
  }
  if (const auto* version = event.As<summary::FileVersion>()) {
    json["file_version"] = version->version;
  } else if (const auto* graph = event.As<summary::GraphDefBytes>()) {
    json["graph_def"] = OfPaddedSize(graph->bytes);
  } else if (const auto* meta = event.As<summary::MetaGraphDefBytes>()) {
    json["meta_graph_def"] = OfPaddedSize(meta->bytes);
  } else if (const auto* log = event.As<summary::SessionLog>()) {
    json["session_log"] = Describe(*log);
  } else if (const auto* run = event.As<summary::TaggedRunMetadata>()) {
    json["tagged_run_metadata"] = OfSize(run->run_metadata);
    json["tagged_run_metadata"]["tag"] = run->tag;
  } else if (const auto* values = event.As<summary::Summary>()) {
    json["summary"] = Json::object();
    for (const auto& value : values->value) {
      json["summary"]["value"].push_back(Describe(value));
    }
  }
  return json;
}

// ---- Checks ----

absl::Status CompareEvents(const Json& events, EventsReader& reader) {
  size_t read = 0;
  for (;; ++read) {
    const absl::StatusOr<Event> event = reader.Next();
    if (absl::IsOutOfRange(event.status())) break;
    RETURN_IF_ERROR(event);
    const Json found = Describe(*event);
    const Json expected = read < events.size() ? events[read] : Json();
    if (found == expected) continue;
    return absl::UnknownError(absl::StrCat("event ", read, " is ", found.dump(),
                                           ", expected ", expected.dump()));
  }
  if (read == events.size()) return absl::OkStatus();
  return absl::UnknownError(
      absl::StrCat("the file has ", read, " events, expected ", events.size()));
}

std::string RecordOf(const Json& item) {
  if (item.is_string()) {
    return absl::HexStringToBytes(item.get<std::string>());
  }
  const std::string part =
      absl::HexStringToBytes(item.at("repeat").get<std::string>());
  std::string record;
  for (int i = item.at("times").get<int>(); i > 0; --i) record += part;
  return record;
}

absl::StatusOr<std::string> WriteRecords(const Json& records) {
  MemoryFileSystem files;
  ASSIGN_OR_RETURN(auto file, files.NewWritableFile("records"));
  summary::RecordWriter writer(std::move(file));
  for (const Json& item : records) {
    RETURN_IF_ERROR(writer.WriteRecord(RecordOf(item)));
  }
  RETURN_IF_ERROR(writer.Close());
  return files.ReadFile("records");
}

// Calls `check` with the JSON of the case.
absl::Status WithJson(const Case& test_case, FileSystem& fs,
                      absl::FunctionRef<absl::Status(const Json&)> check) {
  const std::string path = JoinPath(test_case.directory, "case.json");
  ASSIGN_OR_RETURN(const std::string text, fs.ReadFile(path));
  try {
    return check(Json::parse(text));
  } catch (const Json::exception& error) {
    return absl::UnknownError(absl::StrCat(path, ": ", error.what()));
  }
}

}  // namespace

absl::Status CheckEvents(const Case& test_case, FileSystem& fs) {
  return WithJson(test_case, fs, [&](const Json& json) -> absl::Status {
    ASSIGN_OR_RETURN(
        const auto reader,
        EventsReader::Open(fs, JoinPath(test_case.directory,
                                        json.at("file").get<std::string>())));
    return CompareEvents(json.at("events"), *reader);
  });
}

absl::Status CheckRecords(const Case& test_case, FileSystem& fs) {
  return WithJson(test_case, fs, [&](const Json& json) -> absl::Status {
    if (!json.contains("records_hex")) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string written,
                     WriteRecords(json["records_hex"]));
    ASSIGN_OR_RETURN(
        const std::string expected,
        fs.ReadFile(JoinPath(test_case.directory, "plain.tfrecord")));
    if (written == expected) return absl::OkStatus();
    return absl::UnknownError("the written records differ from plain.tfrecord");
  });
}

}  // namespace weft::conformance
