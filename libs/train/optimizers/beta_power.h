// BetaPower is the power of a decay rate that corrects the bias of a mean: a
// variable that optimizers such as Adam keep and multiply by the decay after
// each step.
//
// Errors stick to the scope. The functions are as thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_BETA_POWER_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_BETA_POWER_H_

#include <vector>

#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

class BetaPower {
 public:
  // Creates the variable with initial value `beta`, unless it exists. It is
  // colocated with the variable in `variables` whose name sorts first. The
  // order of names is used because replicas may list the variables in different
  // orders but must agree. `name` is, for example, "beta1_power".
  void Create(const Scope& scope, const char* name, float beta,
              const std::vector<ops::Variable>& variables);

  // Returns the power, cast to the type of `variable`.
  Output For(const Scope& scope, const ops::Variable& variable) const;

  // Returns the operation, created in `scope`, that multiplies the power by
  // `beta`.
  Operation Advance(const Scope& scope, const Output& beta) const;

  Output handle() const { return power_.handle(); }

 private:
  ops::Variable power_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_BETA_POWER_H_
