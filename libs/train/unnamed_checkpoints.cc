#include "libs/train/unnamed_checkpoints.h"

#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/train/save_marker.h"

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

// Empty if the file is no state.
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

// Whether the name may be that of a state: neither a graph, events nor a part
// of a checkpoint.
bool IsCalledAsState(absl::string_view filename) {
  return absl::StartsWith(filename, checkpoint::kStateFilename) ||
         !absl::StrContains(filename, '.');
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

// Shorter numbers come first.
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
      "overwrite them. To go on with one, write the file ",
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
  CheckpointNames unnamed;
  for (absl::string_view name : *filenames) {
    if (absl::StartsWith(name, name_prefix) &&
        absl::ConsumeSuffix(&name, kIndexEnding)) {
      unnamed.emplace_back(name);
    }
  }
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
