// The command `weft checkpoint`: lists, shows, verifies, compares and converts
// checkpoints.
//
// Functions block: they read files, also of checkpoint writers and object
// stores. One tensor is in memory at a time, two for `diff`.
#ifndef WEFT_TOOLS_CLI_CHECKPOINT_COMMANDS_H_
#define WEFT_TOOLS_CLI_CHECKPOINT_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/base/random.h"
#include "libs/fs/file_system.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Returns the output. Arguments are prefixes of checkpoints, or the files of V1
// checkpoints (CheckpointReader::Open); a directory stands for the newest
// checkpoint in its state file. DATA_LOSS if `verify` finds corruption,
// FAILED_PRECONDITION if `diff` finds differences, each listing all of them;
// ALREADY_EXISTS if `convert` would overwrite; NOT_FOUND names a missing tensor
// and similar names.
absl::StatusOr<std::string> RunCheckpointCommand(FileSystem& files,
                                                 Random& random,
                                                 const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CHECKPOINT_COMMANDS_H_
