// OutlineGraph moves some nodes of a graph into a function that is called in
// their place. Its results are unchanged.
//
// Graphs are GraphDefs in protobuf's text form. Threads: stateless functions;
// deterministic for a seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_OUTLINE_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_OUTLINE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Connected nodes without state and control flow become the body of a
// PartitionedCall, of both branches of an If or of all branches of a Case, or
// of an op with the function's name; nodes of the old names forward their
// outputs. Empty if there are no such nodes.
//
// Behavior that a call cannot preserve stays outside of it: a node without
// outputs becomes a separate function with a control output, because a call
// would run it always or never. Nodes move together only if they are in one
// frame and on one branch; constants are copied, and nodes outside of loops and
// branches keep using the original.
std::string OutlineGraph(absl::string_view graph, uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_OUTLINE_H_
