// CheckpointState lists the checkpoints of a directory, as stored in its text
// file `checkpoint` (TensorFlow's checkpoint_management). The file is written
// last, so the checkpoints that it names are complete.
//
// Format: text of schemas/tf/checkpoint_state.proto. Relative paths in it are
// relative to the directory. An absolute path to another directory means the
// checkpoint of that name in the state's own directory, if there is one: the
// directory was moved or copied after the state was written.
//
// Threads: stateless functions; a directory must have one writer at a time. All
// block.
#ifndef WEFT_LIBS_CHECKPOINT_CHECKPOINT_STATE_H_
#define WEFT_LIBS_CHECKPOINT_CHECKPOINT_STATE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"

namespace weft::checkpoint {

inline constexpr absl::string_view kStateFilename = "checkpoint";

struct CheckpointState {
  // Prefix of the newest checkpoint, and prefixes of all kept ones, oldest
  // first.
  std::string model_checkpoint_path;
  std::vector<std::string> all_model_checkpoint_paths;
  // Save times, in seconds since 1970; may be empty.
  std::vector<double> all_model_checkpoint_timestamps;
  // Save time of the last checkpoint that is kept forever; 0: none.
  double last_preserved_timestamp = 0;
};

// Returns paths that are relative like `folder`. NOT_FOUND without the file;
// INVALID_ARGUMENT, naming file and line, if it is malformed or names no
// checkpoint. An error of the file system if it cannot tell whether a
// checkpoint of an absolute path's name is in the directory.
absl::StatusOr<CheckpointState> ReadCheckpointState(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename = kStateFilename);

// Replaces the state file atomically. `paths` are as given to a Saver: if the
// directory does not begin with "/", or `relative` is set, paths are written
// relative to the directory, with "../" for siblings. The newest is appended to
// the kept ones unless it is the last of them.
absl::Status WriteCheckpointState(FileSystem& file_system,
                                  absl::string_view folder,
                                  CheckpointState state, bool relative = false,
                                  absl::string_view filename = kStateFilename);

// Returns the prefix of the newest checkpoint, or the files of a V1 checkpoint;
// none without a state file, or if it names a missing checkpoint
// (CheckpointExists).
absl::StatusOr<std::optional<std::string>> LatestCheckpoint(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename = kStateFilename);
// As LatestCheckpoint, but returns the error CheckpointIsGone if the state
// names a missing checkpoint, so that an untrained model is not mistaken for a
// trained one.
absl::StatusOr<std::optional<std::string>> FindLatestCheckpoint(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename = kStateFilename);
// NOT_FOUND with a remedy: the state of `folder` names `prefix`, which does not
// exist, in this directory neither.
absl::Status CheckpointIsGone(absl::string_view folder,
                              absl::string_view prefix,
                              absl::string_view filename = kStateFilename);
// Resolves a user's path to a prefix: the newest checkpoint of a directory, if
// it has one; otherwise the path itself. The error CheckpointIsGone if the
// directory's state names a missing checkpoint; INVALID_ARGUMENT if the state
// is malformed.
absl::StatusOr<std::string> CheckpointPrefix(FileSystem& file_system,
                                             const std::string& path);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_CHECKPOINT_STATE_H_
