// Runs a part of a graph file, in this process or on a cluster.
//
// Threads: waits for the steps.
#ifndef WEFT_TOOLS_CLI_GRAPH_RUN_H_
#define WEFT_TOOLS_CLI_GRAPH_RUN_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/runtime/process/process.h"
#include "tools/cli/graph_file.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Runs each node of invocation.inits separately, in order, then the fetches in
// one step; a fetch of a node without outputs runs it. All steps are fed. Shows
// the fetched values, with types and shapes. Errors name the flag, or are the
// session's.
absl::StatusOr<std::string> RunGraph(Process& process, const GraphFile& file,
                                     const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_RUN_H_
