// AddGradients: reverse-mode differentiation over the graph.
#ifndef WEFT_LIBS_GRADIENTS_GRADIENTS_H_
#define WEFT_LIBS_GRADIENTS_GRADIENTS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/gradients/gradient_registry.h"
#include "libs/ops/scope.h"

namespace weft {

struct GradientOptions {
  // Weights of ys; a null output means ones. Empty: ones for all.
  std::vector<Output> grad_ys;
  // Gradients do not flow through these.
  std::vector<Output> stop_gradients;
  // Put each gradient node on the device of its forward node.
  bool colocate_gradients_with_ops = false;
  const GradientRegistry* registry = nullptr;  // null: StandardGradients()
};

// Adds nodes, under "gradients/", that compute the sum over ys of dy/dx for
// each x; None for an x that no y depends on. An x may be the handle of a
// resource variable. Like TensorFlow's tf.gradients, through loops and branches
// (docs/user/control_flow.md). Errors name the op that has no gradient, and add
// no nodes; in the body of a loop or a branch they stick to the scope.
absl::StatusOr<std::vector<Gradient>> AddGradients(
    const Scope& scope, absl::Span<const Output> ys,
    absl::Span<const Output> xs, const GradientOptions& options = {});

// A dense tensor of the gradient: itself, or the rows summed into zeros.
// REQUIRES: not None.
Output ToDense(const Scope& scope, const Gradient& gradient);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_GRADIENTS_H_
