#include "libs/train/saving/save_marker.h"

#include <cstddef>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/fs/path.h"

namespace weft::train {
namespace {

// First line of a marker, followed by a unique number. Each further line
// describes a save, with its number, or an old checkpoint. It ends with the
// quoted name of the checkpoint and, after a tab, the name of its state file.
constexpr absl::string_view kMarkerBegin = "save ";
constexpr absl::string_view kSaving = "saving ";
// Begins a line about a save whose checkpoint, if it exists, is in use. Only
// temporary files of that save are deleted.
constexpr absl::string_view kSweeping = "sweeping ";
constexpr absl::string_view kDeleting = "deleting ";

// Returns the end of a line: both names without directories, quoted as in C. A
// name may contain any byte, but a quoted name contains no tab.
std::string Quoted(const std::string& prefix,
                   const std::string& latest_filename) {
  return absl::StrCat(absl::CHexEscape(Basename(prefix)), "\t",
                      absl::CHexEscape(latest_filename), "\n");
}

// Removes the state file name from the end of a line. If the line has no such
// name, `name` is the default. Returns false if the name is invalid.
bool TakeLatestFilename(absl::string_view& line, std::string& name) {
  const size_t tab = line.find('\t');
  if (tab == absl::string_view::npos) {
    name = std::string(checkpoint::kStateFilename);
    return true;
  }
  const bool is_quoted = absl::CUnescape(line.substr(tab + 1), &name);
  line = line.substr(0, tab);
  return is_quoted && !absl::StrContains(name, '/');
}

// Reads a line of a marker if its name may belong to a save to `save_path`.
// Other lines are ignored.
void ReadLine(absl::string_view line, const std::string& save_path,
              MarkerLines& lines) {
  uint64_t number = 0;
  const bool is_counted = absl::ConsumePrefix(&line, kSaving);
  const bool is_save = is_counted || absl::ConsumePrefix(&line, kSweeping);
  if (is_save) {
    const size_t end = line.find(' ');
    if (end == absl::string_view::npos ||
        !absl::SimpleHexAtoi(line.substr(0, end), &number)) {
      return;
    }
    line.remove_prefix(end + 1);
  } else if (!absl::ConsumePrefix(&line, kDeleting)) {
    return;
  }
  std::string name, latest;
  if (!TakeLatestFilename(line, latest) || !absl::CUnescape(line, &name) ||
      absl::StrContains(name, '/') ||
      !absl::StartsWith(name, Basename(save_path)) || name.empty()) {
    return;
  }
  std::string prefix = JoinPath(Dirname(save_path), name);
  if (is_save) {
    lines.saves.push_back(
        {std::move(prefix), number, std::move(latest), is_counted});
  } else {
    lines.old_ones.push_back({std::move(prefix), std::move(latest)});
  }
}

}  // namespace

std::string MarkerContents(uint64_t number, const MarkerLines& lines) {
  std::string contents = absl::StrCat(kMarkerBegin, absl::Hex(number), "\n");
  for (const UnfinishedSaves::Save& save : lines.saves) {
    absl::StrAppend(&contents, save.is_counted ? kSaving : kSweeping,
                    absl::Hex(save.number), " ",
                    Quoted(save.prefix, save.latest_filename));
  }
  for (const UnfinishedSaves::OldCheckpoint& old : lines.old_ones) {
    absl::StrAppend(&contents, kDeleting,
                    Quoted(old.prefix, old.latest_filename));
  }
  return contents;
}

absl::StatusOr<MarkerLines> ReadMarker(FileSystem& files,
                                       const std::string& path,
                                       const std::string& save_path) {
  MarkerLines lines;
  const auto size = files.GetFileSize(path);
  if (absl::IsNotFound(size.status())) return lines;
  RETURN_IF_ERROR(size.status());
  if (*size > kMaxMarkerBytes) return lines;
  ASSIGN_OR_RETURN(const std::string contents, files.ReadFile(path));
  if (!absl::StartsWith(contents, kMarkerBegin)) return lines;
  for (const absl::string_view line : absl::StrSplit(contents, '\n')) {
    ReadLine(line, save_path, lines);
  }
  return lines;
}

}  // namespace weft::train
