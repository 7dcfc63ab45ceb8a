// CheckpointState: which checkpoints a folder holds, as the text file
// `checkpoint` in it says (TensorFlow's checkpoint_management). The file is
// written last, so what it names is whole.
//
// Format: text of schemas/tf/checkpoint_state.proto. A path in it that is not
// absolute begins at the folder. An absolute path that leads to another folder
// stands for the checkpoint of that name in the state's own folder, where there
// is one: the folder was moved or copied after the state was written.
//
// Threads: functions without state; a folder has one writer at a time. All
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
  // The prefix of the newest; and of all that are kept, oldest first.
  std::string model_checkpoint_path;
  std::vector<std::string> all_model_checkpoint_paths;
  // When each was saved, in seconds since 1970; or none.
  std::vector<double> all_model_checkpoint_timestamps;
  // When the last one was saved that is kept for good; 0: none was.
  double last_preserved_timestamp = 0;
};

// With paths that begin where `folder` does. NOT_FOUND without the file;
// INVALID_ARGUMENT, naming file and line, where it is no such text or names no
// checkpoint. An error of the file system where it does not say whether a
// checkpoint of an absolute path's name is in the folder.
absl::StatusOr<CheckpointState> ReadCheckpointState(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename = kStateFilename);

// Readers find the old file or the whole of the new. `paths` are as they are
// given to a Saver: where the folder does not begin with "/", or `relative` is
// asked for, those that have a name in it are written by that name, with "../"
// where they lie beside it. The newest is added
// to all where it is not the last of them.
absl::Status WriteCheckpointState(FileSystem& file_system,
                                  absl::string_view folder,
                                  CheckpointState state, bool relative = false,
                                  absl::string_view filename = kStateFilename);

// The prefix of the newest checkpoint, or the files of a V1 checkpoint; none
// without a state file, or where that names one that is gone
// (CheckpointExists).
absl::StatusOr<std::optional<std::string>> LatestCheckpoint(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename = kStateFilename);
// The same, but the error of CheckpointIsGone where the state names a
// checkpoint that is gone, so that nobody takes an untrained model for a
// trained one.
absl::StatusOr<std::optional<std::string>> FindLatestCheckpoint(
    FileSystem& file_system, absl::string_view folder,
    absl::string_view filename = kStateFilename);
// NOT_FOUND: the state of `folder` names `prefix`, which is neither there nor
// in the folder; with what to do.
absl::Status CheckpointIsGone(absl::string_view folder,
                              absl::string_view prefix,
                              absl::string_view filename = kStateFilename);
// The prefix that a path of a user's means: a folder's newest checkpoint, where
// it has one; else the path itself. The error of CheckpointIsGone where the
// folder's state names a checkpoint that is gone; INVALID_ARGUMENT where the
// state is damaged.
absl::StatusOr<std::string> CheckpointPrefix(FileSystem& file_system,
                                             const std::string& path);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_CHECKPOINT_STATE_H_
