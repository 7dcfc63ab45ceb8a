// What a graph in a file is made of, and what the passes of a session leave of
// it.
//
// Threads: a function that keeps nothing.
#ifndef WEFT_TOOLS_CLI_GRAPH_STATS_H_
#define WEFT_TOOLS_CLI_GRAPH_STATS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/runtime/process.h"
#include "tools/cli/graph_file.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Nodes by op and by device and the bytes of constants, before and after all
// passes. Of a step that wants `wanted` (tensors, or nodes without outputs);
// where none is named, of the whole graph. Devices are as requested; what is
// left open is task 0 of job localhost, and its CPU.
// NOT_FOUND names what there is not; INVALID_ARGUMENT where the graph or a
// device in it is none.
absl::StatusOr<std::string> GraphStatsView(
    Process& process, const GraphFile& file,
    const std::vector<std::string>& wanted, Format format);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_STATS_H_
