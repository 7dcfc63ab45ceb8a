// GradientChecker: compares the gradients that AddGradients builds with
// differences of the function itself. For tests only.
//
// What runs the graph is given, so that this room need not know sessions.
// Threads: as the scope's.
#ifndef WEFT_LIBS_GRADIENTS_TESTING_GRADIENT_CHECKER_H_
#define WEFT_LIBS_GRADIENTS_TESTING_GRADIENT_CHECKER_H_

#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/gradients/gradients.h"
#include "libs/ops/scope.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Runs the graph as it is now: feeds in, fetches out.
using Evaluate = std::function<absl::StatusOr<std::vector<Tensor>>(
    const std::vector<std::pair<Output, Tensor>>& feeds,
    const std::vector<Output>& fetches)>;

struct GradientCheckOptions {
  // Half of the distance over which differences are taken.
  double delta = 1e-4;
};

// The largest difference between both gradients of the sum of `ys`, weighted by
// fixed weights, in any element of any x; relative to the gradient where that
// is above 1. An x without a gradient counts as 0 everywhere. `values` are fed
// for `xs`, which are float or double; use double, differences of floats tell
// little.
absl::StatusOr<double> MaxGradientError(
    const Scope& scope, absl::Span<const Output> ys,
    absl::Span<const Output> xs, const std::vector<Tensor>& values,
    const Evaluate& evaluate, const GradientCheckOptions& options = {});

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_TESTING_GRADIENT_CHECKER_H_
