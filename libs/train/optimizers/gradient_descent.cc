// GradientDescent. Names and formulas are those of tf.train.
#include <utility>

#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/state_ops.h"
#include "libs/train/optimizers/optimizer.h"

namespace weft::train {

GradientDescent::GradientDescent(Input learning_rate)
    : Optimizer("GradientDescent"),
      learning_rate_(std::move(learning_rate), "learning_rate") {}

void GradientDescent::Prepare(const Scope& scope) {
  PrepareHyper(scope, learning_rate_);
}

Operation GradientDescent::ApplyDense(const Scope& scope,
                                      const ops::Variable& variable,
                                      const Output& gradient) {
  return AddApply(scope, variable, gradient, "GradientDescent", {},
                  {HyperFor(scope, learning_rate_, variable)}, {});
}

// Subtracting row by row gives the same result for repeated rows.
Operation GradientDescent::ApplySparse(const Scope& scope,
                                       const ops::Variable& variable,
                                       const Gradient& gradient) {
  return ApplySparseUnique(scope, variable, gradient);
}

Operation GradientDescent::ApplySparseUnique(const Scope& scope,
                                             const ops::Variable& variable,
                                             const Gradient& gradient) {
  const Output rate = HyperFor(scope, learning_rate_, variable);
  if (!variable.is_resource()) {
    return ops::ScatterSub(scope, variable.handle(), gradient.indices,
                           ops::Mul(scope, gradient.values, rate));
  }
  // (-g) * r and g * (-r) are bit-identical, and the rate is a scalar.
  return ops::ResourceScatterAdd(
      scope, variable.handle(), gradient.indices,
      ops::Mul(scope, gradient.values, ops::Neg(scope, rate)));
}

}  // namespace weft::train
