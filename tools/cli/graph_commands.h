// The command `weft graph` for a graph file: shows its nodes, explains their
// placement on a cluster, shows the effect of passes, and runs it.
//
// Threads: functions wait for the cluster, if one is used, at most for the
// call's timeout; a run waits for its steps.
#ifndef WEFT_TOOLS_CLI_GRAPH_COMMANDS_H_
#define WEFT_TOOLS_CLI_GRAPH_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process/process.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Returns the output. The cluster is not changed. NOT_FOUND names a missing
// node; other errors are those of placement.
absl::StatusOr<std::string> RunGraphCommand(Process& process, FileSystem& files,
                                            const std::string& path,
                                            const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_COMMANDS_H_
