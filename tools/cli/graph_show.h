// The nodes of a graph in a file, one line each.
//
// Functions without state.
#ifndef WEFT_TOOLS_CLI_GRAPH_SHOW_H_
#define WEFT_TOOLS_CLI_GRAPH_SHOW_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/cli/graph_file.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Of the nodes in whose name the invocation's pattern is found, if it has one,
// and that are of one of its ops, if it has any. INVALID_ARGUMENT where the
// pattern is none.
absl::StatusOr<std::string> GraphNodesView(const GraphFile& file,
                                           const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_SHOW_H_
