#include "libs/train/optimizers/adam.h"

#include <utility>

#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/initializers.h"
#include "libs/ops/state/state_ops.h"

namespace weft::train {
namespace {

// Returns the rows of a slot at `indices`.
Output RowsOf(const Scope& scope, const ops::Variable& slot,
              const Output& indices) {
  return slot.is_resource()
             ? ops::ResourceGather(scope, slot.handle(), indices, slot.dtype())
             : ops::Gather(scope, slot.handle(), indices);
}

Operation SetRows(const Scope& scope, const ops::Variable& slot,
                  const Output& indices, const Output& rows) {
  if (slot.is_resource()) {
    return ops::ResourceScatterUpdate(scope, slot.handle(), indices, rows);
  }
  return ops::ScatterUpdate(scope, slot.handle(), indices, rows, false);
}

Operation AddToRows(const Scope& scope, const ops::Variable& variable,
                    const Output& indices, const Output& rows) {
  if (variable.is_resource()) {
    return ops::ResourceScatterAdd(scope, variable.handle(), indices, rows);
  }
  return ops::ScatterAdd(scope, variable.handle(), indices, rows);
}

// Computes slot = slot * decay, adds `rows` at the gradient's indices, and
// returns the slot's value.
Output DecayAndAdd(const Scope& scope, const ops::Variable& slot,
                   const Output& decay, const Output& rows,
                   const Output& indices) {
  const Output decayed =
      ops::Assign(scope, slot, ops::Mul(scope, slot.Read(scope), decay));
  const Operation added =
      AddToRows(scope.WithControlDependencies({decayed}), slot, indices, rows);
  if (!slot.is_resource()) return Output(added.node());
  return slot.Read(scope.WithControlDependencies({added}));
}

}  // namespace

// ---- shared base ----

AdamBase::AdamBase(std::string name, Input learning_rate,
                   const AdamOptions& options, bool v_is_mean)
    : Optimizer(std::move(name)),
      learning_rate_(std::move(learning_rate), "learning_rate"),
      beta1_(options.beta1, "beta1"),
      beta2_(options.beta2, "beta2"),
      epsilon_(options.epsilon, "epsilon"),
      options_(options),
      v_is_mean_(v_is_mean) {}

void AdamBase::CreateSlots(const Scope& scope,
                           const std::vector<ops::Variable>& variables) {
  beta1_power_.Create(scope, "beta1_power", options_.beta1, variables);
  if (v_is_mean_) {
    beta2_power_.Create(scope, "beta2_power", options_.beta2, variables);
  }
  for (const ops::Variable& variable : variables) {
    MakeSlot(scope, variable, "m", name(), ops::initializers::Zeros());
    MakeSlot(scope, variable, "v", name(), ops::initializers::Zeros());
  }
}

void AdamBase::Prepare(const Scope& scope) {
  for (Hyper* hyper : {&learning_rate_, &beta1_, &beta2_, &epsilon_}) {
    PrepareHyper(scope, *hyper);
  }
}

Operation AdamBase::ApplyDense(const Scope& scope,
                               const ops::Variable& variable,
                               const Output& gradient) {
  InputList numbers = {beta1_power_.For(scope, variable)};
  if (v_is_mean_) numbers.push_back(beta2_power_.For(scope, variable));
  for (const Hyper* hyper : {&learning_rate_, &beta1_, &beta2_, &epsilon_}) {
    numbers.push_back(HyperFor(scope, *hyper, variable));
  }
  return AddApply(scope, variable, gradient, name().c_str(), {"m", "v"},
                  numbers, {});
}

std::vector<Operation> AdamBase::Finish(const Scope& scope,
                                        const std::vector<Operation>& updates) {
  const Scope after = scope.WithControlDependencies(updates).ColocateWith(
      beta1_power_.handle());
  std::vector<Operation> advanced = {
      beta1_power_.Advance(after, beta1_.tensor)};
  if (v_is_mean_) {
    advanced.push_back(beta2_power_.Advance(after, beta2_.tensor));
  }
  return advanced;
}

// ---- Adam ----

Adam::Adam(Input learning_rate, const AdamOptions& options)
    : AdamBase("Adam", std::move(learning_rate), options, /*v_is_mean=*/true) {}

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

// ---- AdaMax ----

AdaMax::AdaMax(Input learning_rate, const AdaMaxOptions& options)
    : AdamBase("AdaMax", std::move(learning_rate), options,
               /*v_is_mean=*/false) {}

Operation AdaMax::ApplySparseUnique(const Scope& scope,
                                    const ops::Variable& variable,
                                    const Gradient& gradient) {
  const Output& g = gradient.values;
  const Output& rows = gradient.indices;
  const ops::Variable m = GetSlot(variable, "m");
  const ops::Variable v = GetSlot(variable, "v");
  const Output beta1 = HyperFor(scope, beta1_, variable);
  const Output next_m =
      ops::Add(scope, ops::Mul(scope, RowsOf(scope, m, rows), beta1),
               ops::Mul(scope, g, ops::Sub(scope, 1.0f, beta1)));
  const Output next_v =
      ops::Maximum(scope,
                   ops::Mul(scope, RowsOf(scope, v, rows),
                            HyperFor(scope, beta2_, variable)),
                   ops::Abs(scope, g));
  const Output rate = ops::RealDiv(
      scope, ops::Neg(scope, HyperFor(scope, learning_rate_, variable)),
      ops::Sub(scope, 1.0f, beta1_power_.For(scope, variable)));
  const Output direction = ops::RealDiv(
      scope, next_m,
      ops::Add(scope, next_v, HyperFor(scope, epsilon_, variable)));
  return ops::Group(
      scope,
      {AddToRows(scope, variable, rows, ops::Mul(scope, rate, direction)),
       SetRows(scope, m, rows, next_m), SetRows(scope, v, rows, next_v)});
}

}  // namespace weft::train
