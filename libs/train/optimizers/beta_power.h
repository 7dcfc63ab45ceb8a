// BetaPower is the power of a decay rate that corrects the bias of a mean: a
// variable that optimizers such as Adam keep and multiply by the decay after
// each step.
//
// Errors stick to the scope. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_BETA_POWER_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_BETA_POWER_H_

#include <vector>

#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

class BetaPower {
 public:
  // Creates the variable with initial value `beta`, unless it exists. It is
  // colocated with the variable of `variables` whose name sorts first, so that
  // replicas that list them in another order agree. `name` is "beta1_power" or
  // the like.
  void Create(const Scope& scope, const char* name, float beta,
              const std::vector<ops::Variable>& variables);

  // Returns the power, cast to the type of `variable`.
  Output For(const Scope& scope, const ops::Variable& variable) const;

  // Multiplies the power by `beta`, in `scope`.
  Operation Advance(const Scope& scope, const Output& beta) const;

  Output handle() const { return power_.handle(); }

 private:
  ops::Variable power_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_BETA_POWER_H_
