// ComparePasses checks that graph rewrites (libs/passes) are not observable:
// the same steps of the same graph, with passes and without, must give the same
// bits, or fail with the same code.
//
// Ignores differences that can also occur between two runs without passes:
// random numbers, the order of side effects, and which of several nodes fails
// first.
//
// Graphs are GraphDefs in protobuf's text form. Threads: those of SmallGraph.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_PASS_COMPARISON_H_
#define WEFT_INTEGRATION_TESTS_TESTING_PASS_COMPARISON_H_

#include <string>

#include "absl/strings/string_view.h"

namespace weft {

struct PassComparison {
  // Number of steps that returned the same values with and without passes.
  int equal_values = 0;
  // Number of steps with passes that ran fused nodes.
  int fused_steps = 0;
  // The step that differed, with both results. Empty if all steps are equal.
  std::string difference;
};

// Compares a graph with and without passes. Skips invalid graphs, and steps
// that took too long or did not fit in memory.
PassComparison ComparePasses(absl::string_view graph);

// Compares two equivalent graphs. `changed` runs with passes and `plain`
// without. The steps are those of `plain`.
PassComparison CompareGraphs(absl::string_view changed,
                             absl::string_view plain);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_PASS_COMPARISON_H_
