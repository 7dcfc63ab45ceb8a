// Implements GradientDescent. Names and formulas are those of tf.train.
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

// Rows may be repeated: subtracting them one after the other gives the same
// result as subtracting their sum.
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
  // The negated rate is added. (-g) * r and g * (-r) are bit-identical, and
  // negating the rate, a scalar, is cheaper.
  return ops::ResourceScatterAdd(
      scope, variable.handle(), gradient.indices,
      ops::Mul(scope, gradient.values, ops::Neg(scope, rate)));
}

}  // namespace weft::train
