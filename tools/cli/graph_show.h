// GraphNodesView lists the nodes of a graph file, one line for each node.
//
// Threads: the functions have no state.
#ifndef WEFT_TOOLS_CLI_GRAPH_SHOW_H_
#define WEFT_TOOLS_CLI_GRAPH_SHOW_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/cli/graph_file.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Lists the nodes whose name contains the pattern of the invocation and whose
// op is one of its ops. Without a pattern or ops, all names or ops match.
// Returns INVALID_ARGUMENT for an invalid pattern.
absl::StatusOr<std::string> GraphNodesView(const GraphFile& file,
                                           const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_SHOW_H_
