// Rules that depend on the version of the writer of a GraphDef
// (versions.producer). They are the rules of TensorFlow's
// c->graph_def_version() in shape functions and Deprecated() in op definitions.
// Version 0 stands for a writer from before versions.
//
// Functions without state.
#ifndef WEFT_LIBS_GRAPH_VERSION_RULES_H_
#define WEFT_LIBS_GRAPH_VERSION_RULES_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/graph/graph.h"

namespace weft {

// Checks the new node of a GraphDef, and converts its attrs to the current
// meaning:
// - Up to version 21 the shape [] of a Placeholder means any shape.
// - From version 21 on, the axes of a reduction must not be a matrix:
//   INVALID_ARGUMENT.
// - From the version that removed an op on: UNIMPLEMENTED.
absl::Status ApplyVersionRules(int producer, NodeSpec& spec);

// Applies only the rule for removed ops. The nodes of a function's body follow
// the version of their graph, but a removed op fails only the steps that need
// it.
absl::Status CheckNotRemoved(int producer, absl::string_view node,
                             absl::string_view op);
// Applies all rules of ApplyVersionRules except the rule for removed ops.
absl::Status AdaptToVersion(int producer, NodeSpec& spec);

// Set and return whether this program built the function. Such a function has
// no version.
void SetBuiltHere(bool is_built_here, FunctionDef& function);
bool IsBuiltHere(const FunctionDef& function);

// Returns the version for the export of a graph: `newest`, or the last version
// that has all ops of its nodes and of its functions that were built here.
int VersionOfBuilt(const Graph& graph, int newest);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_VERSION_RULES_H_
