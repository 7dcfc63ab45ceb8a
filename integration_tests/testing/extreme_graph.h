// ExtremeGraph generates graphs with excessive demands: sizes, counts and
// attributes at their limits, large constants in a few bytes, loops of any
// length with growing state, deeply nested datasets. Most end with an error,
// some with values.
//
// Threads: stateless functions; deterministic for a seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_EXTREME_GRAPH_H_
#define WEFT_INTEGRATION_TESTS_TESTING_EXTREME_GRAPH_H_

#include <cstdint>
#include <string>

namespace weft {

// Returns a text GraphDef. A node with an attribute "_value" is fed: its output
// 0 is that tensor.
std::string ExtremeGraph(uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_EXTREME_GRAPH_H_
