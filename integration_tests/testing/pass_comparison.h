// ComparePasses checks that graph rewrites (libs/passes) are not observable:
// the same steps of the same graph, with passes and without, must give the same
// bits, or fail with the same code.
//
// Differences that two runs without passes may have, too, are ignored: random
// numbers, the order of effects, which of several nodes fails first.
//
// Graphs are GraphDefs in protobuf's text form. Threads: those of SmallGraph.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_PASS_COMPARISON_H_
#define WEFT_INTEGRATION_TESTS_TESTING_PASS_COMPARISON_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

struct PassComparison {
  // Steps that returned values both ways.
  int equal_values = 0;
  // Number of steps with passes that ran fused nodes.
  int fused_steps = 0;
  // The step that differed, with both results; empty if there is none.
  std::string difference;
};

// Invalid graphs, and steps that took too long or did not fit in memory, are
// not compared.
PassComparison ComparePasses(absl::string_view graph);

// Compares two equivalent graphs, the first with passes and the second without:
// the steps are those of the second one.
PassComparison CompareGraphs(absl::string_view changed,
                             absl::string_view plain);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_PASS_COMPARISON_H_
