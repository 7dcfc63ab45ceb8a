// ExtremeGraph: graphs that ask for too much: sizes, counts and attributes at
// their limits, large constants in a few bytes, loops of any length whose state
// grows, towers of data sets. Most end with an error, some with values.
//
// Threads: functions without state; the same for the same seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_EXTREME_GRAPH_H_
#define WEFT_INTEGRATION_TESTS_TESTING_EXTREME_GRAPH_H_

#include <cstdint>
#include <string>

namespace weft {

// A GraphDef in protobuf's text form. A node with an attribute "_value" is fed:
// its output 0 is that tensor.
std::string ExtremeGraph(uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_EXTREME_GRAPH_H_
