#include "tools/cli/trace_command.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/summary/event.h"
#include "libs/summary/events_writer.h"
#include "libs/trace/chrome_trace.h"
#include "libs/trace/step_stats.h"
#include "tools/cli/event_file.h"

namespace weft::tools {
namespace {

using summary::Event;
using summary::TaggedRunMetadata;

// The traced runs in an event file.
struct Runs {
  std::vector<std::string> tags;
  std::optional<std::string> wanted;  // bytes of the selected RunMetadata
  absl::Status damage;
};

// Returns nullopt if the file is not an event file, which its first record
// shows.
absl::StatusOr<std::optional<Runs>> ReadRuns(FileSystem& files,
                                             const std::string& path,
                                             const std::string& tag) {
  ASSIGN_OR_RETURN(const auto reader, summary::EventsReader::Open(files, path));
  Runs runs;
  for (bool is_first = true;; is_first = false) {
    const absl::StatusOr<Event> event = reader->Next();
    if (!event.ok() && is_first) return std::nullopt;
    if (absl::IsOutOfRange(event.status())) return runs;
    if (!event.ok()) {
      runs.damage = event.status();
      return runs;
    }
    const auto* run = event->As<TaggedRunMetadata>();
    if (run == nullptr) continue;
    runs.tags.push_back(run->tag);
    if (tag.empty() || run->tag == tag) runs.wanted = run->run_metadata;
  }
}

absl::Status NotFound(const Runs& runs, const std::string& tag) {
  RETURN_IF_ERROR(runs.damage);
  if (runs.tags.empty()) {
    return absl::NotFoundError(
        "the event file has no metadata of a run; a ProfilerHook writes "
        "some");
  }
  return absl::NotFoundError(absl::StrCat("no run has the tag ", tag,
                                          "; there are ",
                                          absl::StrJoin(runs.tags, ", ")));
}

absl::StatusOr<std::string> BytesOf(FileSystem& files, const std::string& path,
                                    const std::string& tag) {
  ASSIGN_OR_RETURN(std::optional<Runs> runs, ReadRuns(files, path, tag));
  if (!runs.has_value()) {
    if (tag.empty()) return files.ReadFile(path);
    return absl::InvalidArgumentError(
        "the file is not an event file, so its run has no tag");
  }
  if (!runs->wanted.has_value()) return NotFound(*runs, tag);
  return *std::move(runs->wanted);
}

absl::StatusOr<std::string> TraceOf(FileSystem& files, const std::string& path,
                                    const std::string& tag) {
  RETURN_IF_ERROR(CheckIsFile(files, path));
  ASSIGN_OR_RETURN(const std::string bytes, BytesOf(files, path, tag));
  ASSIGN_OR_RETURN(const RunMetadata metadata, ParseRunMetadata(bytes));
  if (metadata.step_stats.dev_stats.empty()) {
    return absl::NotFoundError(
        "the run was not traced: its RunMetadata has no step_stats");
  }
  return ChromeTrace(metadata.step_stats);
}

}  // namespace

absl::StatusOr<std::string> RunTraceCommand(FileSystem& files,
                                            const std::string& path,
                                            const std::string& tag) {
  auto trace = TraceOf(files, path, tag);
  if (!trace.ok()) return Annotate(trace.status(), path);
  return trace;
}

}  // namespace weft::tools
