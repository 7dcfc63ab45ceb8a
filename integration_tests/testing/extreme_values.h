// Generators of values at their limits, for graphs with excessive demands.
//
// Only for .cc files that include protobuf messages. Threads: the functions
// have no state.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_EXTREME_VALUES_H_
#define WEFT_INTEGRATION_TESTS_TESTING_EXTREME_VALUES_H_

#include <cstdint>

#include "integration_tests/testing/choices.h"

namespace weft {

namespace tf {
class GraphDef;
}  // namespace tf

// Returns a size, count or index. It is small, or so large that it needs all
// memory or endless time.
int64_t ExtremeInteger(Choices& choices);

// Replaces some constants, fed values and attributes of the graph by extreme
// values. A constant becomes a large tensor with one repeated value, which
// needs a few bytes in the graph and up to 16 MiB in memory.
void MakeExtreme(Choices& choices, tf::GraphDef* def);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_EXTREME_VALUES_H_
