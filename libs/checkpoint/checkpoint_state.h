// CheckpointState lists the checkpoints of a directory, as stored in its text
// file `checkpoint` (TensorFlow's checkpoint_management). The file is written
// last, so the checkpoints that it names are complete.
//
// Format: text of schemas/tf/checkpoint_state.proto. Relative paths in the file
// are relative to the directory. If the file has an absolute path to another
// directory, the directory may have been moved or copied. In this case a
// checkpoint of the same name in the file's own directory is used, if there is
// one.
//
// Threads: stateless functions, which block. A directory must have only one
// writer at a time.
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
  // The prefix of the newest checkpoint, and the prefixes of all kept
  // checkpoints, oldest first.
  std::string model_checkpoint_path;
  std::vector<std::string> all_model_checkpoint_paths;
  // The save times, in seconds since 1970. May be empty.
  std::vector<double> all_model_checkpoint_timestamps;
  // The save time of the last checkpoint that is kept forever; 0 if there is no
  // such checkpoint.
  double last_preserved_timestamp = 0;
};

// Reads the state of `folder`. The returned paths are relative if `folder` is.
// NOT_FOUND if the file does not exist. INVALID_ARGUMENT, naming file and line,
// if the file is malformed or names no checkpoint. Also returns an error of the
// file system that occurs while checking whether the checkpoint of an absolute
// path is in the directory.
absl::StatusOr<CheckpointState> ReadCheckpointState(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename = kStateFilename);

// Replaces the state file atomically. `paths` are as given to a Saver. If the
// directory does not begin with "/", or `relative` is set, paths are written
// relative to the directory, with "../" for siblings. The newest checkpoint is
// appended to the kept checkpoints unless it is already the last of them.
absl::Status WriteCheckpointState(FileSystem& file_system,
                                  absl::string_view folder,
                                  CheckpointState state, bool relative = false,
                                  absl::string_view filename = kStateFilename);

// Returns the prefix of the newest checkpoint, or the path of a V1 checkpoint.
// Returns nothing if there is no state file, or if it names a checkpoint that
// does not exist (CheckpointExists).
absl::StatusOr<std::optional<std::string>> LatestCheckpoint(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename = kStateFilename);
// Does the same as LatestCheckpoint, but returns the error CheckpointIsGone if
// the state names a checkpoint that does not exist. So an untrained model is
// not mistaken for a trained one.
absl::StatusOr<std::optional<std::string>> FindLatestCheckpoint(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename = kStateFilename);
// Returns NOT_FOUND with advice on what to do. The error says that the state of
// `folder` names `prefix`, and that this checkpoint does not exist there or in
// `folder`.
absl::Status CheckpointIsGone(absl::string_view folder,
                              absl::string_view prefix,
                              absl::string_view filename = kStateFilename);
// Returns the prefix that a user's path means: the newest checkpoint if the
// path is a directory that has one, otherwise the path itself. Returns the
// error CheckpointIsGone if the directory's state names a checkpoint that does
// not exist, and INVALID_ARGUMENT if the state is malformed.
absl::StatusOr<std::string> CheckpointPrefix(FileSystem& file_system,
                                             const std::string& path);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_CHECKPOINT_STATE_H_
