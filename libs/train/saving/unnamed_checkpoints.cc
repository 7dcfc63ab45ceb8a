#include "libs/train/saving/unnamed_checkpoints.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/fs/path.h"
#include "libs/train/saving/save_marker.h"

namespace weft::train {
namespace {

constexpr absl::string_view kIndexEnding = ".index";

// CheckpointNames are names of checkpoints, without directories.
using CheckpointNames = std::vector<std::string>;

absl::StatusOr<CheckpointNames> NamesInMarker(FileSystem& files,
                                              const std::string& folder,
                                              absl::string_view filename) {
  const std::string path = JoinPath(folder, filename);
  const std::string save_path(absl::StripSuffix(path, kMarkerEnding));
  ASSIGN_OR_RETURN(const MarkerLines lines, ReadMarker(files, path, save_path));
  CheckpointNames names;
  for (const UnfinishedSaves::Save& save : lines.saves) {
    if (save.is_counted) names.emplace_back(Basename(save.prefix));
  }
  return names;
}

// Returns the checkpoints that a state file names; empty if the file is not a
// state.
absl::StatusOr<CheckpointNames> NamesInState(FileSystem& files,
                                             const std::string& folder,
                                             absl::string_view filename) {
  const auto size = files.GetFileSize(JoinPath(folder, filename));
  if (!size.ok() || *size > kMaxMarkerBytes) return CheckpointNames();
  const auto state = checkpoint::ReadCheckpointState(files, folder, filename);
  if (absl::IsInvalidArgument(state.status()) ||
      absl::IsNotFound(state.status())) {
    return CheckpointNames();
  }
  RETURN_IF_ERROR(state.status());
  CheckpointNames names = {std::string(Basename(state->model_checkpoint_path))};
  for (const std::string& path : state->all_model_checkpoint_paths) {
    names.emplace_back(Basename(path));
  }
  return names;
}

// Returns whether a file has a name that editors and people give to copies.
bool IsCalledAsCopy(absl::string_view filename) {
  if (absl::StrContains(filename, '~')) return true;
  constexpr absl::string_view kEndings[] = {".bak",  ".backup", ".copy", ".old",
                                            ".orig", ".save",   ".tmp"};
  return absl::c_any_of(kEndings, [&](absl::string_view ending) {
    return absl::EndsWith(filename, ending);
  });
}

// Returns whether a file may be the state of other savers by its name: it is
// neither a graph, events nor a part of a checkpoint. A copy of the missing
// state file does not count.
bool IsCalledAsState(absl::string_view filename) {
  if (IsCalledAsCopy(filename)) return false;
  return !absl::StrContains(filename, '.') ||
         absl::StartsWith(filename, checkpoint::kStateFilename);
}

// Returns the prefixes of data files of checkpoints.
absl::flat_hash_set<std::string> PrefixesOfData(
    const std::vector<std::string>& filenames) {
  absl::flat_hash_set<std::string> prefixes;
  for (const absl::string_view name : filenames) {
    const size_t end = name.rfind(".data-");
    if (end != absl::string_view::npos &&
        checkpoint::IsDataEnding(name.substr(end))) {
      prefixes.emplace(name.substr(0, end));
    }
  }
  return prefixes;
}

// Returns whether a file that is named like an index may be one: it can be read
// as an index, or cannot be checked.
bool MayBeIndex(FileSystem& files, const std::string& folder,
                const std::string& name) {
  const absl::Status opened =
      checkpoint::BundleReader::Open(files, JoinPath(folder, name)).status();
  return !absl::IsDataLoss(opened) && !absl::IsOutOfRange(opened);
}

// Returns the checkpoints that have an index. A damaged index is recognized by
// its data files, because other files may be named like an index, too.
CheckpointNames CheckpointsIn(FileSystem& files, const std::string& folder,
                              const std::vector<std::string>& filenames,
                              absl::string_view name_prefix) {
  const auto with_data = PrefixesOfData(filenames);
  CheckpointNames checkpoints;
  for (absl::string_view filename : filenames) {
    if (!absl::StartsWith(filename, name_prefix) ||
        !absl::ConsumeSuffix(&filename, kIndexEnding)) {
      continue;
    }
    const std::string name(filename);
    if (with_data.contains(name) || MayBeIndex(files, folder, name)) {
      checkpoints.push_back(name);
    }
  }
  return checkpoints;
}

absl::StatusOr<CheckpointNames> NamesIn(FileSystem& files,
                                        const std::string& folder,
                                        absl::string_view filename) {
  if (absl::EndsWith(filename, kMarkerEnding)) {
    return NamesInMarker(files, folder, filename);
  }
  if (!IsCalledAsState(filename)) return CheckpointNames();
  return NamesInState(files, folder, filename);
}

// Returns whether a number is smaller than another: fewer digits come first.
bool IsOlder(absl::string_view a, absl::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

absl::Status Unnamed(const std::string& folder,
                     absl::string_view latest_filename,
                     const CheckpointNames& checkpoints) {
  const std::string& newest = *absl::c_max_element(checkpoints, IsOlder);
  return absl::FailedPreconditionError(absl::StrCat(
      folder, " holds checkpoints (", checkpoints.size(), ", such as ", newest,
      kIndexEnding, "), but no file ", latest_filename,
      " that names the newest. Training does not begin anew where it would "
      "overwrite them. To continue from one, write the file ",
      JoinPath(folder, latest_filename),
      " with the line 'model_checkpoint_path: \"", absl::CHexEscape(newest),
      "\"'. To begin anew, take another directory, or move the checkpoints "
      "away."));
}

}  // namespace

absl::Status CheckThatNoneIsUnnamed(FileSystem& files,
                                    const std::string& folder,
                                    absl::string_view latest_filename,
                                    absl::string_view name_prefix) {
  const auto filenames = files.ListDirectory(folder);
  if (absl::IsNotFound(filenames.status()) ||
      absl::IsPermissionDenied(filenames.status())) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(filenames.status());
  CheckpointNames unnamed =
      CheckpointsIn(files, folder, *filenames, name_prefix);
  if (unnamed.empty()) return absl::OkStatus();
  for (const std::string& filename : *filenames) {
    ASSIGN_OR_RETURN(const CheckpointNames named,
                     NamesIn(files, folder, filename));
    std::erase_if(unnamed, [&](const std::string& name) {
      return absl::c_linear_search(named, name);
    });
  }
  if (unnamed.empty()) return absl::OkStatus();
  return Unnamed(folder, latest_filename, unnamed);
}

}  // namespace weft::train
