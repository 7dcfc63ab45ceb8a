// Statistics of a graph file before and after the passes of a session.
//
// Threads: the function has no state.
#ifndef WEFT_TOOLS_CLI_GRAPH_STATS_H_
#define WEFT_TOOLS_CLI_GRAPH_STATS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/runtime/process/process.h"
#include "tools/cli/graph_file.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Returns the number of nodes by op and by device and the bytes of constants,
// before and after all passes. They are counted for a step that needs `wanted`
// (tensors, or nodes without outputs), or for the whole graph if `wanted` is
// empty. Nodes are on their requested devices, by default on the CPU of task 0
// of job localhost. NOT_FOUND names missing nodes. Returns INVALID_ARGUMENT for
// an invalid graph or device.
absl::StatusOr<std::string> GraphStatsView(
    Process& process, const GraphFile& file,
    const std::vector<std::string>& wanted, Format format);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_STATS_H_
