// OutlineGraph: a graph of which some nodes have become a function that is
// called in their place. It gives what it gave.
//
// Graphs are GraphDefs in protobuf's text form. Threads: functions without
// state; the same for the same seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_OUTLINE_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_OUTLINE_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace weft {

// Nodes that follow one another, without state and control flow, become the
// body of a PartitionedCall, of both branches of an If or of all of a Case, or
// of an op of its own name; nodes of their names hand their outputs on. Empty
// where there are none such.
//
// What a call can't do as the nodes did it stays outside of it: a node without
// outputs becomes a function by itself, which has it as a control output, as
// the call would run it whatever else is wanted, or not at all; nodes move
// together that are in one frame and on one branch, with constants, of which
// others outside of loops and branches go on to take the one there.
std::string OutlineGraph(absl::string_view graph, uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_OUTLINE_H_
