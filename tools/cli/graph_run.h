// Runs a part of a graph that lies in a file, in this process or on a cluster.
//
// Threads: waits for the steps.
#ifndef WEFT_TOOLS_CLI_GRAPH_RUN_H_
#define WEFT_TOOLS_CLI_GRAPH_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/runtime/process.h"
#include "tools/cli/graph_file.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Runs each node of invocation.inits by itself, in order, then fetches what is
// to be fetched in one step; a fetch that names a node without outputs is run.
// All of them are fed. Shows what was fetched, with types and shapes. Errors
// name the flag, else they are the session's.
absl::StatusOr<std::string> RunGraph(Process& process, const GraphFile& file,
                                     const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_RUN_H_
