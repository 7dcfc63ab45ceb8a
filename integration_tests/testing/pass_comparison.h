// ComparePasses: whether a program could see that its graph was rewritten
// (libs/passes): the same steps of the same graph, with passes and without,
// must give the same bits, or fail with the same code.
//
// What two runs without passes need not agree on either is no difference:
// random numbers, the order of effects, which of several nodes fails first.
//
// Graphs are GraphDefs in protobuf's text form. Threads: those of SmallGraph.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_PASS_COMPARISON_H_
#define WEFT_INTEGRATION_TESTS_TESTING_PASS_COMPARISON_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

struct PassComparison {
  // Steps that gave values both ways.
  int equal_values = 0;
  // Of those with passes, how many ran nodes that stand for several.
  int fused_steps = 0;
  // What was run, and what came of it both ways; empty: the same.
  std::string difference;
};

// Nothing is compared of what is no graph, after a step that took too long or
// that did not fit in memory.
PassComparison ComparePasses(absl::string_view graph);

// The same of two graphs that should give the same, the first with passes and
// the second without: the steps are those of the second one.
PassComparison CompareGraphs(absl::string_view changed,
                             absl::string_view plain);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_PASS_COMPARISON_H_
