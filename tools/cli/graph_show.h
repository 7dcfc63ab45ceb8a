// Lists the nodes of a graph file, one line each.
//
// Stateless functions.
#ifndef WEFT_TOOLS_CLI_GRAPH_SHOW_H_
#define WEFT_TOOLS_CLI_GRAPH_SHOW_H_

#include <string>

#include "absl/status/statusor.h"
#include "tools/cli/graph_file.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

// Lists nodes whose name contains the invocation's pattern, if any, and whose
// op is one of its ops, if any. INVALID_ARGUMENT for an invalid pattern.
absl::StatusOr<std::string> GraphNodesView(const GraphFile& file,
                                           const Invocation& invocation);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_GRAPH_SHOW_H_
