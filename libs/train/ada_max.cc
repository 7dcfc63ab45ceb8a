#include "libs/train/ada_max.h"

#include <utility>

#include "libs/ops/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/initializers.h"
#include "libs/ops/math_ops.h"
#include "libs/ops/state_ops.h"

namespace weft::train {
namespace {

// Rows `indices` of a slot.
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

}  // namespace

AdaMax::AdaMax(Input learning_rate, const AdaMaxOptions& options)
    : Optimizer("AdaMax"),
      options_(options),
      learning_rate_(std::move(learning_rate), "learning_rate"),
      beta1_(options.beta1, "beta1"),
      beta2_(options.beta2, "beta2"),
      epsilon_(options.epsilon, "epsilon") {}

void AdaMax::CreateSlots(const Scope& scope,
                         const std::vector<ops::Variable>& variables) {
  beta1_power_.Create(scope, "beta1_power", options_.beta1, variables);
  for (const ops::Variable& variable : variables) {
    MakeSlot(scope, variable, "m", name(), ops::initializers::Zeros());
    MakeSlot(scope, variable, "v", name(), ops::initializers::Zeros());
  }
}

void AdaMax::Prepare(const Scope& scope) {
  for (Hyper* hyper : {&learning_rate_, &beta1_, &beta2_, &epsilon_}) {
    PrepareHyper(scope, *hyper);
  }
}

Operation AdaMax::ApplyDense(const Scope& scope, const ops::Variable& variable,
                             const Output& gradient) {
  return AddApply(
      scope, variable, gradient, "AdaMax", {"m", "v"},
      {beta1_power_.For(scope, variable),
       HyperFor(scope, learning_rate_, variable),
       HyperFor(scope, beta1_, variable), HyperFor(scope, beta2_, variable),
       HyperFor(scope, epsilon_, variable)},
      {});
}

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

std::vector<Operation> AdaMax::Finish(const Scope& scope,
                                      const std::vector<Operation>& updates) {
  const Scope after = scope.WithControlDependencies(updates).ColocateWith(
      beta1_power_.handle());
  return {beta1_power_.Advance(after, beta1_.tensor)};
}

}  // namespace weft::train
