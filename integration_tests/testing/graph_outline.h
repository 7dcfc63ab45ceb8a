// OutlineGraph moves some nodes of a graph into a function and replaces them by
// a call. The results of the graph do not change.
//
// Graphs are GraphDefs in protobuf's text form. Threads: the functions have no
// state. Their results depend only on the seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_OUTLINE_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_OUTLINE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Moves connected nodes without state and control flow into a function. The
// function is called by a PartitionedCall, as all branches of an If or a Case,
// or by an op with its name. Nodes with the old names forward the outputs.
// Returns "" if there are no such nodes.
//
// Behavior that a call cannot preserve stays outside of the function. A node
// without outputs becomes a separate function with a control output, because
// otherwise a call would run it always or never. Nodes move together only if
// they are in the same frame and on the same branch. Constants are copied, so
// that nodes outside of loops and branches can use the original.
std::string OutlineGraph(absl::string_view graph, uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_OUTLINE_H_
