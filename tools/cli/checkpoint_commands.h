// The command for checkpoints: what is in one, whether it is whole, what
// differs from another, and the same in other parts or under other names.
//
// Functions that block: they read files, also of checkpoint writers and object
// stores. One tensor is in memory at a time, of `diff` two.
#ifndef WEFT_TOOLS_CLI_CHECKPOINT_COMMANDS_H_
#define WEFT_TOOLS_CLI_CHECKPOINT_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/base/random.h"
#include "libs/fs/file_system.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// What is to be printed. Arguments are prefixes of checkpoints, or the files of
// V1 checkpoints (CheckpointReader::Open); a directory stands for the newest
// that its state file names. DATA_LOSS where `verify`
// finds damage, FAILED_PRECONDITION where `diff` finds a difference, each with
// all of them; ALREADY_EXISTS where `convert` would overwrite; NOT_FOUND names
// a tensor that is not there, and those with names like it.
absl::StatusOr<std::string> RunCheckpointCommand(FileSystem& files,
                                                 Random& random,
                                                 const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CHECKPOINT_COMMANDS_H_
