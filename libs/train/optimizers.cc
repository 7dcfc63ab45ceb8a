// The optimizers themselves. What they compute is in the kernels of their ops;
// names and formulas are those of tf.train.
#include <utility>

#include "libs/ops/array_ops.h"
#include "libs/ops/math_ops.h"
#include "libs/ops/state_ops.h"
#include "libs/train/optimizer.h"

namespace weft::train {

// ---- GradientDescent ----

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

// Subtracting row by row gives the same for rows that occur twice.
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
  return ops::ResourceScatterAdd(
      scope, variable.handle(), gradient.indices,
      ops::Mul(scope, ops::Neg(scope, gradient.values), rate));
}

// ---- Adam ----

Adam::Adam(Input learning_rate, const AdamOptions& options)
    : Optimizer("Adam"),
      options_(options),
      learning_rate_(std::move(learning_rate), "learning_rate"),
      beta1_(options.beta1, "beta1"),
      beta2_(options.beta2, "beta2"),
      epsilon_(options.epsilon, "epsilon") {}

void Adam::CreateSlots(const Scope& scope,
                       const std::vector<ops::Variable>& variables) {
  beta1_power_.Create(scope, "beta1_power", options_.beta1, variables);
  beta2_power_.Create(scope, "beta2_power", options_.beta2, variables);
  for (const ops::Variable& variable : variables) {
    MakeSlot(scope, variable, "m", name(), ops::initializers::Zeros());
    MakeSlot(scope, variable, "v", name(), ops::initializers::Zeros());
  }
}

void Adam::Prepare(const Scope& scope) {
  for (Hyper* hyper : {&learning_rate_, &beta1_, &beta2_, &epsilon_}) {
    PrepareHyper(scope, *hyper);
  }
}

Operation Adam::ApplyDense(const Scope& scope, const ops::Variable& variable,
                           const Output& gradient) {
  return AddApply(
      scope, variable, gradient, "Adam", {"m", "v"},
      {beta1_power_.For(scope, variable), beta2_power_.For(scope, variable),
       HyperFor(scope, learning_rate_, variable),
       HyperFor(scope, beta1_, variable), HyperFor(scope, beta2_, variable),
       HyperFor(scope, epsilon_, variable)},
      {});
}

namespace {

// slot = slot * decay, then `rows` added at the gradient's indices; its value.
Output DecayAndAdd(const Scope& scope, const ops::Variable& slot,
                   const Output& decay, const Output& rows,
                   const Output& indices) {
  const Output decayed =
      ops::Assign(scope, slot, ops::Mul(scope, slot.Read(scope), decay));
  const Scope after = scope.WithControlDependencies({decayed});
  if (!slot.is_resource()) {
    return ops::ScatterAdd(after, slot.handle(), indices, rows);
  }
  const Operation added =
      ops::ResourceScatterAdd(after, slot.handle(), indices, rows);
  return slot.Read(scope.WithControlDependencies({added}));
}

}  // namespace

// There is no sparse op of Adam's: all of a slot decays, so all of the variable
// moves.
Operation Adam::ApplySparseUnique(const Scope& scope,
                                  const ops::Variable& variable,
                                  const Gradient& gradient) {
  const Output rate = HyperFor(scope, learning_rate_, variable);
  const Output beta1 = HyperFor(scope, beta1_, variable);
  const Output beta2 = HyperFor(scope, beta2_, variable);
  const Output power1 = beta1_power_.For(scope, variable);
  const Output power2 = beta2_power_.For(scope, variable);
  const Output alpha = ops::RealDiv(
      scope,
      ops::Mul(scope, rate, ops::Sqrt(scope, ops::Sub(scope, 1.0f, power2))),
      ops::Sub(scope, 1.0f, power1));
  const Output& g = gradient.values;
  const Output m = DecayAndAdd(scope, GetSlot(variable, "m"), beta1,
                               ops::Mul(scope, g, ops::Sub(scope, 1.0f, beta1)),
                               gradient.indices);
  const Output v = DecayAndAdd(
      scope, GetSlot(variable, "v"), beta2,
      ops::Mul(scope, ops::Mul(scope, g, g), ops::Sub(scope, 1.0f, beta2)),
      gradient.indices);
  const Output step =
      ops::RealDiv(scope, ops::Mul(scope, alpha, m),
                   ops::Add(scope, ops::Sqrt(scope, v),
                            HyperFor(scope, epsilon_, variable)));
  return ops::AssignSub(scope, variable, step);
}

std::vector<Operation> Adam::Finish(const Scope& scope,
                                    const std::vector<Operation>& updates) {
  const Scope after = scope.WithControlDependencies(updates).ColocateWith(
      beta1_power_.handle());
  return {beta1_power_.Advance(after, beta1_.tensor),
          beta2_power_.Advance(after, beta2_.tensor)};
}

}  // namespace weft::train
