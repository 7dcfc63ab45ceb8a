// The command for a graph in a file: shows its nodes, where they would go on a
// cluster and why, what passes leave of them, and runs it.
//
// Threads: functions that wait for the cluster, if one is asked, for the call's
// timeout at most; a run waits for its steps.
#ifndef WEFT_TOOLS_CLI_GRAPH_COMMANDS_H_
#define WEFT_TOOLS_CLI_GRAPH_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// What is to be printed. Nothing is registered with the cluster.
// NOT_FOUND names a node that there is not; errors are placement's otherwise.
absl::StatusOr<std::string> RunGraphCommand(Process& process, FileSystem& files,
                                            const std::string& path,
                                            const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_COMMANDS_H_
