// RunGraph runs a part of a graph file, in this process or on a cluster.
//
// Threads: blocks until the steps have ended.
#ifndef WEFT_TOOLS_CLI_GRAPH_RUN_H_
#define WEFT_TOOLS_CLI_GRAPH_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/runtime/process/process.h"
#include "tools/cli/graph_file.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Runs each node of invocation.inits separately, in order, and then the fetches
// in one step. A fetch of a node without outputs only runs it. All steps get
// the feeds. Returns a text with the fetched values, their types and shapes.
// Errors name the flag, or are those of the session.
absl::StatusOr<std::string> RunGraph(Process& process, const GraphFile& file,
                                     const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_RUN_H_
