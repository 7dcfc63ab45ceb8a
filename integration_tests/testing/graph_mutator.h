// MutateGraph generates untrusted graphs for tests by mutating other graphs:
// additional nodes, other values, attributes, edges. Random bytes are hardly
// ever a valid graph; mutated graphs often run.
//
// Graphs are GraphDefs in protobuf's text form. Threads: stateless functions;
// deterministic for a seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_MUTATOR_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_MUTATOR_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Maximum number of nodes.
inline constexpr int kMaxMutatedNodes = 48;

// Returns `graph` with a few changes; an invalid graph counts as empty.
std::string MutateGraph(absl::string_view graph, uint64_t seed);
// Returns the nodes of both, with distinct names.
std::string JoinGraphs(absl::string_view a, absl::string_view b);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_MUTATOR_H_
