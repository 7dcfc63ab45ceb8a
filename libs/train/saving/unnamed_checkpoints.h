// CheckThatNoneIsUnnamed prevents a training from starting over if that would
// overwrite or delete checkpoints whose state file is missing.
//
// Threads: the function is stateless. It blocks.
#ifndef WEFT_LIBS_TRAIN_SAVING_UNNAMED_CHECKPOINTS_H_
#define WEFT_LIBS_TRAIN_SAVING_UNNAMED_CHECKPOINTS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/fs/file_system.h"

namespace weft::train {

// Must be called if the directory has no file `latest_filename`, before a
// training starts over. Returns FAILED_PRECONDITION, with the remedies, if the
// directory holds an index of a checkpoint whose name begins with
// `name_prefix`, unless a state file of another name names that checkpoint, or
// its save has not ended (save_marker.h). A copy of the state file, such as
// "checkpoint.bak", is not a state file; "x.index" without data beside it that
// cannot be read as an index is not a checkpoint. OK if there is no directory,
// or it cannot be listed. Other errors are those of the file system.
absl::Status CheckThatNoneIsUnnamed(
    FileSystem& files, const std::string& folder,
    absl::string_view latest_filename = checkpoint::kStateFilename,
    absl::string_view name_prefix = "");

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVING_UNNAMED_CHECKPOINTS_H_
