// ExtremeGraph generates graphs with excessive demands: sizes, counts and
// attributes at their limits, large constants that need few bytes in the graph,
// endless loops with growing state, and deeply nested datasets. Most of these
// graphs end with an error, some with values.
//
// Threads: the functions have no state. Their results depend only on the seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_EXTREME_GRAPH_H_
#define WEFT_INTEGRATION_TESTS_TESTING_EXTREME_GRAPH_H_

#include <cstdint>
#include <string>

namespace weft {

// Returns a GraphDef as text. If a node has an attribute "_value", that tensor
// is fed as output 0 of the node.
std::string ExtremeGraph(uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_EXTREME_GRAPH_H_
