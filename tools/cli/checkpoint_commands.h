// Implements the command `weft checkpoint`, which lists, shows, verifies,
// compares and converts checkpoints.
//
// The functions block while they read files, including those of checkpoint
// writers and object stores. Only one tensor is in memory at a time, or two for
// `diff`.
#ifndef WEFT_TOOLS_CLI_CHECKPOINT_COMMANDS_H_
#define WEFT_TOOLS_CLI_CHECKPOINT_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/base/random.h"
#include "libs/fs/file_system.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Runs the command and returns its output. Arguments are prefixes of
// checkpoints, or the files of V1 checkpoints (CheckpointReader::Open). A
// directory stands for the newest checkpoint in its state file. Returns
// DATA_LOSS if `verify` finds corruption and FAILED_PRECONDITION if `diff`
// finds differences; both errors list everything that was found. Returns
// ALREADY_EXISTS if `convert` would overwrite a checkpoint. NOT_FOUND names a
// missing tensor and similar names.
absl::StatusOr<std::string> RunCheckpointCommand(FileSystem& files,
                                                 Random& random,
                                                 const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CHECKPOINT_COMMANDS_H_
