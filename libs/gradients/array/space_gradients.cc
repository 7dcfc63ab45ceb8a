// Gradients of the ops that move blocks between space and batch or channels,
// which are their inverses; and the gradient of NthElement.
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/gradients/array/array_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

// Applies the inverse op, with the same inputs except the first.
GradientFn MovedBack(const char* op) {
  return [op](const Scope& scope, const Node& node,
              const Gradients& grads) -> absl::StatusOr<Gradients> {
    InputList inputs = {grads[0].dense};
    for (int i = 1; i < node.num_inputs(); ++i) {
      inputs.emplace_back(Output(node.input(i)));
    }
    AttrMap attrs;
    if (const auto* block = node.attr<int64_t>("block_size")) {
      attrs["block_size"] = *block;
    }
    if (const auto* format = node.attr<std::string>("data_format")) {
      attrs["data_format"] = *format;
    }
    Gradients result(node.num_inputs());
    result[0] = scope.AddOutput(op, inputs, std::move(attrs));
    return result;
  };
}

// All elements equal to the chosen one share the gradient equally.
absl::StatusOr<Gradients> NthElementGrad(const Scope& scope, const Node& node,
                                         const Gradients& grads) {
  const Output input(node.input(0));
  const Output chosen = ops::ExpandDims(scope, Output(&node, 0), -1);
  const Output is_chosen = ops::Cast(scope, ops::Equal(scope, chosen, input),
                                     grads[0].dense.dtype());
  const Output count = ops::ExpandDims(
      scope, ops::Sum(scope, is_chosen, Tensor::Scalar(-1)), -1);
  const Output grad = ops::ExpandDims(scope, grads[0].dense, -1);
  return Gradients{ops::Mul(scope, ops::RealDiv(scope, is_chosen, count), grad),
                   {}};
}

}  // namespace

void RegisterArraySpaceGradients(GradientRegistry& registry) {
  registry.Register("SpaceToBatchND", MovedBack("BatchToSpaceND"));
  registry.Register("BatchToSpaceND", MovedBack("SpaceToBatchND"));
  registry.Register("SpaceToBatch", MovedBack("BatchToSpace"));
  registry.Register("BatchToSpace", MovedBack("SpaceToBatch"));
  registry.Register("SpaceToDepth", MovedBack("DepthToSpace"));
  registry.Register("DepthToSpace", MovedBack("SpaceToDepth"));
  registry.Register("NthElement", NthElementGrad);
  for (const char* op :
       {"LowerBound", "UpperBound", "UnravelIndex", "HistogramFixedWidth"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
