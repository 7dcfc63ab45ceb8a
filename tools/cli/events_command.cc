#include "tools/cli/events_command.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "libs/base/status.h"
#include "libs/summary/event.h"
#include "libs/summary/events_writer.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"

namespace weft::tools {
namespace {

using summary::Event;
using summary::SummaryValue;

// The events of a file up to its end, or up to the first corruption.
struct Contents {
  std::vector<Event> events;
  absl::Status damage;
};

absl::StatusOr<Contents> ReadAll(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const auto reader, summary::EventsReader::Open(files, path));
  Contents contents;
  for (;;) {
    absl::StatusOr<Event> event = reader->Next();
    if (absl::IsOutOfRange(event.status())) return contents;
    if (!event.ok()) {
      contents.damage = event.status();
      return contents;
    }
    contents.events.push_back(*std::move(event));
  }
}

// One line of the output: the kind of event, its name, and its other fields as
// text and as JSON.
struct Line {
  std::string what;
  std::string name;
  std::string text;
  Json json;
};

// Returns a number as JSON. Non-finite numbers become text, because JSON does
// not support them.
Json Number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

std::string NumberText(double value) { return absl::StrFormat("%.7g", value); }

Line Describe(float value) {
  return {.what = "scalar", .text = NumberText(value), .json = Number(value)};
}

Line Describe(const summary::HistogramValue& value) {
  return {.what = "histogram",
          .text = absl::StrCat(NumberText(value.num), " values from ",
                               NumberText(value.min), " to ",
                               NumberText(value.max)),
          .json = {{"num", Number(value.num)},
                   {"min", Number(value.min)},
                   {"max", Number(value.max)},
                   {"sum", Number(value.sum)},
                   {"sum_squares", Number(value.sum_squares)},
                   {"buckets", value.bucket.size()}}};
}

Line Describe(const summary::ImageValue& value) {
  return {.what = "image",
          .text = absl::StrCat(
              value.height, " x ", value.width, ", ",
              CountText(value.colorspace, "channel"), ", ",
              BytesText(static_cast<int64_t>(value.encoded.size()))),
          .json = {{"height", value.height},
                   {"width", value.width},
                   {"colorspace", value.colorspace},
                   {"bytes", value.encoded.size()}}};
}

Line Describe(const summary::AudioValue& value) {
  return {.what = "audio",
          .text = absl::StrCat(
              CountText(value.length_frames, "frame"), " of ",
              CountText(value.num_channels, "channel"), " at ",
              NumberText(value.sample_rate), " Hz, ",
              BytesText(static_cast<int64_t>(value.encoded.size()))),
          .json = {{"sample_rate", Number(value.sample_rate)},
                   {"num_channels", value.num_channels},
                   {"length_frames", value.length_frames},
                   {"content_type", value.content_type},
                   {"bytes", value.encoded.size()}}};
}

Line Describe(const Tensor& value) {
  std::string text = value.ToString();
  return {.what = "tensor", .text = text, .json = std::move(text)};
}

Line Describe(std::monostate) { return {.what = "unknown"}; }

Line Describe(const SummaryValue& value) {
  Line line =
      std::visit([](const auto& v) { return Describe(v); }, value.value);
  line.name = value.tag.empty() ? value.node_name : value.tag;
  if (value.metadata.has_value() && !value.metadata->plugin_name.empty()) {
    absl::StrAppend(&line.what, " (", value.metadata->plugin_name, ")");
  }
  return line;
}

Line OfBytes(std::string what, std::string name, const std::string& bytes) {
  return {.what = std::move(what),
          .name = std::move(name),
          .text = BytesText(static_cast<int64_t>(bytes.size())),
          .json = {{"bytes", bytes.size()}}};
}

Line Describe(const summary::SessionLog& log) {
  static constexpr const char* kNames[] = {"unspecified", "START", "STOP",
                                           "CHECKPOINT"};
  const auto status = static_cast<size_t>(log.status);
  return {.what = "session log",
          .name = status < 4 ? kNames[status] : absl::StrCat(status),
          .text = absl::StrCat(log.checkpoint_path, log.msg.empty() ? "" : " ",
                               log.msg),
          .json = {{"checkpoint_path", log.checkpoint_path}, {"msg", log.msg}}};
}

std::vector<Line> LinesOf(const Event& event) {
  if (const auto* values = event.As<summary::Summary>()) {
    std::vector<Line> lines;
    for (const SummaryValue& value : values->value) {
      lines.push_back(Describe(value));
    }
    return lines;
  }
  if (const auto* version = event.As<summary::FileVersion>()) {
    return {{.what = "file version",
             .name = version->version,
             .text = event.source_writer,
             .json = event.source_writer}};
  }
  if (const auto* graph = event.As<summary::GraphDefBytes>()) {
    return {OfBytes("graph", "", graph->bytes)};
  }
  if (const auto* graph = event.As<summary::MetaGraphDefBytes>()) {
    return {OfBytes("meta graph", "", graph->bytes)};
  }
  if (const auto* run = event.As<summary::TaggedRunMetadata>()) {
    return {OfBytes("run metadata", run->tag, run->run_metadata)};
  }
  if (const auto* log = event.As<summary::SessionLog>())
    return {Describe(*log)};
  return {Describe(std::monostate())};
}

std::string TimeText(double seconds) {
  if (!std::isfinite(seconds)) return "?";
  return absl::FormatTime("%Y-%m-%d %H:%M:%E3S",
                          absl::UnixEpoch() + absl::Seconds(seconds),
                          absl::UTCTimeZone());
}

std::string AsTable(const Contents& contents) {
  Table table({{.header = "STEP", .is_number = true},
               {.header = "TIME (UTC)"},
               {.header = "WHAT"},
               {.header = "NAME"},
               {.header = "VALUE"}});
  for (const Event& event : contents.events) {
    for (const Line& line : LinesOf(event)) {
      table.AddRow({absl::StrCat(event.step), TimeText(event.wall_time),
                    line.what, line.name, line.text});
    }
  }
  std::string text = table.ToString();
  if (contents.damage.ok()) return text;
  return absl::StrCat(text, "damaged: ",
                      Printable(std::string(contents.damage.message())), "\n");
}

std::string AsJson(const Contents& contents) {
  Json json = {{"events", Json::array()}};
  for (const Event& event : contents.events) {
    for (Line& line : LinesOf(event)) {
      json["events"].push_back({{"step", event.step},
                                {"wall_time", Number(event.wall_time)},
                                {"what", line.what},
                                {"name", line.name},
                                {"value", std::move(line.json)}});
    }
  }
  if (!contents.damage.ok()) {
    json["damage"] = std::string(contents.damage.message());
  }
  return JsonText(json);
}

}  // namespace

absl::StatusOr<std::string> RunEventsCommand(FileSystem& files,
                                             const std::string& path,
                                             Format format) {
  ASSIGN_OR_RETURN(const Contents contents, ReadAll(files, path));
  std::string text =
      format == Format::kTable ? AsTable(contents) : AsJson(contents);
  if (contents.damage.ok()) return text;
  return absl::Status(
      contents.damage.code(),
      absl::StrCat("the file is damaged; the events before the damage:\n",
                   text));
}

}  // namespace weft::tools
