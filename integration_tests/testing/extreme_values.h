// Values at their limits, for graphs that ask for too much.
//
// For .cc files that hold protobuf messages. Threads: functions without state.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_EXTREME_VALUES_H_
#define WEFT_INTEGRATION_TESTS_TESTING_EXTREME_VALUES_H_

#include <cstdint>

#include "integration_tests/testing/choices.h"

namespace weft {

namespace tf {
class GraphDef;
}  // namespace tf

// A size, a count or a place: small, or one that takes all memory or all time.
int64_t ExtremeInteger(Choices& choices);

// Gives some of the graph's constants, fed values and attributes such values.
// Constants become large tensors of one value, which take a few bytes in a
// graph, and up to 16 MiB in memory.
void MakeExtreme(Choices& choices, tf::GraphDef* def);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_EXTREME_VALUES_H_
