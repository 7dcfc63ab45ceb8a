// GradientChecker compares the gradients that AddGradients builds with finite
// differences of the function. For tests only.
//
// The function that runs the graph is a parameter, so that this module does not
// depend on sessions. Threads: as for the scope.
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
  // Half the distance over which differences are taken.
  double delta = 1e-4;
};

// Returns the largest error of the gradient of the sum of `ys`, weighted by
// fixed weights, over all elements of all xs. The error is relative if the
// gradient is above 1. An x without a gradient counts as 0 everywhere. `values`
// are fed for `xs`, which are float or double; use double, because differences
// of floats are inaccurate. INVALID_ARGUMENT if `ys` is empty.
absl::StatusOr<double> MaxGradientError(
    const Scope& scope, absl::Span<const Output> ys,
    absl::Span<const Output> xs, const std::vector<Tensor>& values,
    const Evaluate& evaluate, const GradientCheckOptions& options = {});

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_TESTING_GRADIENT_CHECKER_H_
