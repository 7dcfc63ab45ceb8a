// MutateGraph generates untrusted graphs for tests by mutating other graphs. It
// adds nodes and changes values, attributes and edges. Random bytes are hardly
// ever a valid graph, but mutated graphs often run.
//
// Graphs are GraphDefs in protobuf's text form. Threads: the functions have no
// state. Their results depend only on the seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_MUTATOR_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_MUTATOR_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Maximum number of nodes in a mutated graph.
inline constexpr int kMaxMutatedNodes = 48;

// Returns `graph` with a few changes. An invalid graph is treated as empty.
std::string MutateGraph(absl::string_view graph, uint64_t seed);
// Returns a graph with the nodes of `a` and `b`, renamed so that names are
// unique.
std::string JoinGraphs(absl::string_view a, absl::string_view b);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_MUTATOR_H_
