// What passes through Print has the gradient that it would have without.
#include "libs/gradients/gradient_registry.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

absl::StatusOr<Gradients> PrintGrad(const Scope&, const Node& node,
                                    const Gradients& grads) {
  Gradients result(node.num_inputs());
  result[0] = grads[0];
  return result;
}

}  // namespace

void RegisterLoggingGradients(GradientRegistry& registry) {
  registry.RegisterNone("Assert");
  registry.Register("Print", PrintGrad, /*takes_sparse=*/true);
}

}  // namespace weft
