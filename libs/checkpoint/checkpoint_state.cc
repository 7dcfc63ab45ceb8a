#include "libs/checkpoint/checkpoint_state.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "google/protobuf/text_format.h"
#include "libs/base/status.h"
#include "libs/base/text_proto.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/fs/path.h"
#include "schemas/tf/checkpoint_state.pb.h"

namespace weft::checkpoint {
namespace {

bool IsAbsolute(absl::string_view path) {
  return absl::StartsWith(path, "/") || !SchemeAndHost(path).empty();
}

// Returns `path` relative to `folder`, such as "m-1" or "../other/m-1". Returns
// `path` unchanged if there is no such relative path: the roots differ, or ".."
// would not lead back reliably, as with links, or on an object store.
std::string InFolder(absl::string_view folder, const std::string& path) {
  if (IsAbsolute(folder) != IsAbsolute(path) ||
      SchemeAndHost(folder) != SchemeAndHost(path)) {
    return path;
  }
  const std::string clean_folder = CleanPath(folder.empty() ? "." : folder);
  const std::string clean_path = CleanPath(path);
  std::vector<absl::string_view> from;
  if (clean_folder != ".") from = absl::StrSplit(clean_folder, '/');
  std::vector<absl::string_view> to = absl::StrSplit(clean_path, '/');
  size_t same = 0;
  while (same < from.size() && same + 1 < to.size() && from[same] == to[same]) {
    ++same;
  }
  std::vector<absl::string_view> names(from.size() - same, "..");
  if ((!names.empty() && !SchemeAndHost(folder).empty()) ||
      absl::c_linear_search(absl::MakeSpan(from).subspan(same), "..")) {
    return path;
  }
  names.insert(names.end(), to.begin() + same, to.end());
  return absl::StrJoin(names, "/");
}

// Returns the checkpoint that `path` denotes in the state file of `folder`.
absl::StatusOr<std::string> Resolve(FileSystem& file_system,
                                    absl::string_view folder,
                                    const std::string& path) {
  std::string named = JoinPath(folder, path);
  if (!IsAbsolute(path) || CleanPath(Dirname(path)) == CleanPath(folder)) {
    return named;
  }
  std::string beside = JoinPath(folder, Basename(path));
  ASSIGN_OR_RETURN(const bool is_beside, CheckpointExists(file_system, beside));
  return is_beside ? beside : named;
}

absl::StatusOr<CheckpointState> FromProto(FileSystem& file_system,
                                          const tf::CheckpointState& proto,
                                          absl::string_view folder) {
  CheckpointState state;
  ASSIGN_OR_RETURN(state.model_checkpoint_path,
                   Resolve(file_system, folder, proto.model_checkpoint_path()));
  for (const std::string& path : proto.all_model_checkpoint_paths()) {
    // The newest path is in this list as well. It is not resolved a second
    // time, because each lookup in an object store is slow.
    if (path == proto.model_checkpoint_path()) {
      state.all_model_checkpoint_paths.push_back(state.model_checkpoint_path);
      continue;
    }
    ASSIGN_OR_RETURN(std::string resolved, Resolve(file_system, folder, path));
    state.all_model_checkpoint_paths.push_back(std::move(resolved));
  }
  state.all_model_checkpoint_timestamps.assign(
      proto.all_model_checkpoint_timestamps().begin(),
      proto.all_model_checkpoint_timestamps().end());
  state.last_preserved_timestamp = proto.last_preserved_timestamp();
  return state;
}

tf::CheckpointState ToProto(const CheckpointState& state) {
  tf::CheckpointState proto;
  proto.set_model_checkpoint_path(state.model_checkpoint_path);
  for (const std::string& path : state.all_model_checkpoint_paths) {
    proto.add_all_model_checkpoint_paths(path);
  }
  for (const double time : state.all_model_checkpoint_timestamps) {
    proto.add_all_model_checkpoint_timestamps(time);
  }
  proto.set_last_preserved_timestamp(state.last_preserved_timestamp);
  return proto;
}

}  // namespace

absl::StatusOr<CheckpointState> ReadCheckpointState(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename) {
  const std::string path = JoinPath(folder, filename);
  ASSIGN_OR_RETURN(const std::string text, file_system.ReadFile(path));
  tf::CheckpointState proto;
  // Unknown fields are allowed, because a newer TensorFlow may write more
  // fields.
  absl::Status status =
      ParseTextProto(text, proto, {.allow_unknown_fields = true});
  if (status.ok() && proto.model_checkpoint_path().empty()) {
    status = absl::InvalidArgumentError(
        "Invalid checkpoint state: model_checkpoint_path is missing");
  }
  if (!status.ok()) return Annotate(status, path);
  return FromProto(file_system, proto, folder);
}

absl::Status WriteCheckpointState(FileSystem& file_system,
                                  absl::string_view folder,
                                  CheckpointState state, bool relative,
                                  absl::string_view filename) {
  if (state.all_model_checkpoint_paths.empty() ||
      state.all_model_checkpoint_paths.back() != state.model_checkpoint_path) {
    state.all_model_checkpoint_paths.push_back(state.model_checkpoint_path);
  }
  const std::vector<double>& times = state.all_model_checkpoint_timestamps;
  if (!times.empty() &&
      times.size() != state.all_model_checkpoint_paths.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(times.size(), " timestamps of ",
                     state.all_model_checkpoint_paths.size(), " checkpoints"));
  }
  if (relative || !absl::StartsWith(folder, "/")) {
    for (std::string& path : state.all_model_checkpoint_paths) {
      path = InFolder(folder, path);
    }
    state.model_checkpoint_path = InFolder(folder, state.model_checkpoint_path);
  }
  std::string text;
  if (!google::protobuf::TextFormat::PrintToString(ToProto(state), &text)) {
    return absl::InternalError(
        "a checkpoint state could not be formatted as text");
  }
  return file_system.WriteFileAtomically(JoinPath(folder, filename), text);
}

absl::StatusOr<std::optional<std::string>> LatestCheckpoint(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename) {
  const auto state = ReadCheckpointState(file_system, folder, filename);
  if (absl::IsNotFound(state.status())) return std::nullopt;
  RETURN_IF_ERROR(state.status());
  ASSIGN_OR_RETURN(const bool found,
                   CheckpointExists(file_system, state->model_checkpoint_path));
  if (!found) return std::nullopt;
  return state->model_checkpoint_path;
}

absl::StatusOr<std::optional<std::string>> FindLatestCheckpoint(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename) {
  std::string gone;
  while (true) {
    const auto state = ReadCheckpointState(file_system, folder, filename);
    if (absl::IsNotFound(state.status())) return std::nullopt;
    RETURN_IF_ERROR(state.status());
    const std::string& newest = state->model_checkpoint_path;
    ASSIGN_OR_RETURN(const bool found, CheckpointExists(file_system, newest));
    if (found) return newest;
    if (newest == gone) return CheckpointIsGone(folder, newest, filename);
    // A concurrent training may have saved another checkpoint and then deleted
    // this one. So read the state again.
    gone = newest;
  }
}

absl::Status CheckpointIsGone(absl::string_view folder,
                              absl::string_view prefix,
                              absl::string_view filename) {
  const std::string beside = JoinPath(folder, Basename(prefix));
  return absl::NotFoundError(absl::StrCat(
      "The file ", JoinPath(folder, filename), " names the checkpoint ", prefix,
      ", which does not exist",
      CleanPath(beside) == CleanPath(prefix)
          ? ""
          : absl::StrCat(", and neither does ", beside),
      ". If the directory was moved or copied, its checkpoints have to come "
      "with it. Write the path of an existing checkpoint into that file, or "
      "delete the file to train from the beginning."));
}

absl::StatusOr<std::string> CheckpointPrefix(FileSystem& file_system,
                                             const std::string& path) {
  const auto latest = FindLatestCheckpoint(file_system, path);
  if (absl::IsNotFound(latest.status()) ||
      absl::IsInvalidArgument(latest.status())) {
    return latest.status();
  }
  // Other errors are ignored, because `path` may be a prefix, which cannot be
  // read as a directory.
  return latest.ok() && *latest ? **latest : path;
}

}  // namespace weft::checkpoint
