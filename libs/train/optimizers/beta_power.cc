#include "libs/train/optimizers/beta_power.h"

#include <algorithm>

#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/state_ops.h"
#include "libs/train/optimizers/shared_names.h"

namespace weft::train {

void BetaPower::Create(const Scope& scope, const char* name, float beta,
                       const std::vector<ops::Variable>& variables) {
  if (power_ || variables.empty()) return;
  const ops::Variable& first =
      *std::min_element(variables.begin(), variables.end(),
                        [](const ops::Variable& a, const ops::Variable& b) {
                          return a.name() < b.name();
                        });
  ops::VariableOptions options;
  options.trainable = false;
  options.use_resource = first.is_resource();
  const Scope beside = BesideVariable(scope, first.handle());
  power_ = ops::Variable(beside.WithName(name), beta, options);
}

Output BetaPower::For(const Scope& scope, const ops::Variable& variable) const {
  // The power is read on its own device. Reading it on the variable's device
  // could be a read on another task.
  const Output value = power_.value();
  if (!value || value.dtype() == variable.dtype()) return value;
  return ops::Cast(scope, value, variable.dtype());
}

Operation BetaPower::Advance(const Scope& scope, const Output& beta) const {
  const Output next = ops::Mul(scope, power_.Read(scope), beta);
  if (power_.is_resource()) {
    return ops::AssignVariableOp(scope, power_.handle(), next);
  }
  return Operation(ops::Assign(scope, power_.handle(), next));
}

}  // namespace weft::train
