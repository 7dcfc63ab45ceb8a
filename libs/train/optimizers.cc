// The optimizers themselves. What they compute is in the kernels of their ops;
// names and formulas are those of tf.train.
#include <algorithm>
#include <utility>

#include "libs/ops/array_ops.h"
#include "libs/ops/group.h"
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
  // The powers live beside the variable whose name comes first, so that
  // replicas that list variables in another order agree.
  const ops::Variable& first =
      *std::min_element(variables.begin(), variables.end(),
                        [](const ops::Variable& a, const ops::Variable& b) {
                          return a.name() < b.name();
                        });
  if (!beta1_power_) {
    ops::VariableOptions options;
    options.trainable = false;
    options.use_resource = first.is_resource();
    const Scope beside = scope.ReenterScope("").ColocateWith(first.handle());
    beta1_power_ =
        ops::Variable(beside.WithName("beta1_power"), options_.beta1, options);
    beta2_power_ =
        ops::Variable(beside.WithName("beta2_power"), options_.beta2, options);
  }
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

Output Adam::PowerFor(const Scope& scope, const ops::Variable& power,
                      const ops::Variable& variable) {
  // Read beside itself, not beside the variable, which may be on another task.
  const Output value = power.value();
  if (!value || value.dtype() == variable.dtype()) return value;
  return ops::Cast(scope, value, variable.dtype());
}

Operation Adam::ApplyDense(const Scope& scope, const ops::Variable& variable,
                           const Output& gradient) {
  return AddApply(
      scope, variable, gradient, "Adam", {"m", "v"},
      {PowerFor(scope, beta1_power_, variable),
       PowerFor(scope, beta2_power_, variable),
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
  const Output power1 = PowerFor(scope, beta1_power_, variable);
  const Output power2 = PowerFor(scope, beta2_power_, variable);
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
  std::vector<Operation> result;
  for (const auto& [power, beta] :
       {std::pair(&beta1_power_, &beta1_), std::pair(&beta2_power_, &beta2_)}) {
    const Output next = ops::Mul(after, power->Read(after), beta->tensor);
    result.push_back(
        power->is_resource()
            ? ops::AssignVariableOp(after, power->handle(), next)
            : Operation(ops::Assign(after, power->handle(), next)));
  }
  return result;
}

}  // namespace weft::train
