// GraphOps lists the ops that a GraphDef needs.
#ifndef WEFT_TOOLS_CONFORMANCE_GRAPH_OPS_H_
#define WEFT_TOOLS_CONFORMANCE_GRAPH_OPS_H_

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::conformance {

// Returns the ops of all nodes, and of the functions that they may call.
absl::StatusOr<std::set<std::string>> OpsOf(absl::string_view graph_def);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_GRAPH_OPS_H_
