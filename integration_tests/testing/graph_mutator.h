// MutateGraph: graphs for tests of what comes from anywhere: other graphs with
// a node more, other values, attributes, edges. Raw bytes hardly ever make a
// graph; these often run.
//
// Graphs are GraphDefs in protobuf's text form. Threads: functions without
// state; the same for the same seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_MUTATOR_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_MUTATOR_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// No graph grows beyond this.
inline constexpr int kMaxMutatedNodes = 48;

// `graph` with a few changes; what is no graph counts as an empty one.
std::string MutateGraph(absl::string_view graph, uint64_t seed);
// The nodes of both, whose names stay different.
std::string JoinGraphs(absl::string_view a, absl::string_view b);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_MUTATOR_H_
