// Implements the command `weft graph` for a graph file. It shows the nodes of
// the graph, explains their placement on a cluster, shows the effect of passes,
// and runs the graph.
//
// Threads: the functions block. They wait for the cluster at most for the
// timeout of the call, and without a limit for the steps of a run.
#ifndef WEFT_TOOLS_CLI_GRAPH_COMMANDS_H_
#define WEFT_TOOLS_CLI_GRAPH_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/runtime/process/process.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Runs the command and returns its output. Does not change the cluster.
// NOT_FOUND names a missing node. Other errors are those of placement.
absl::StatusOr<std::string> RunGraphCommand(Process& process, FileSystem& files,
                                            const std::string& path,
                                            const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_COMMANDS_H_
