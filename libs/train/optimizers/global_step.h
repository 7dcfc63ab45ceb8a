// The global step: the number of training steps that the variables of a graph
// have taken.
//
// The functions are as thread-safe as the scope. Errors stick to the scope.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_GLOBAL_STEP_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_GLOBAL_STEP_H_

#include <cstdint>

#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/tensor/tensor.h"

namespace weft::train {

// Returns the variable in collection "global_step", or null if the collection
// is empty. INVALID_ARGUMENT if the collection holds anything but one integer
// scalar.
ops::Variable GetGlobalStep(const Scope& scope);

// Returns the global step like GetGlobalStep, but returns null instead of an
// error for an invalid collection.
ops::Variable FindGlobalStep(const Scope& scope);

// Returns the global step like GetGlobalStep, but creates the variable if the
// collection is empty: an int64 variable "global_step" at the root of the
// graph, not trainable.
ops::Variable GetOrCreateGlobalStep(const Scope& scope);

// Returns the number of steps from a fetched value of the variable.
int64_t GlobalStepValue(const Tensor& fetched);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_GLOBAL_STEP_H_
