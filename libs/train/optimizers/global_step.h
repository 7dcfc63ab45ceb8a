// The global step: the number of training steps that the variables of a graph
// have taken.
//
// Threads: as the scope's. Errors stick to the scope.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_GLOBAL_STEP_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_GLOBAL_STEP_H_

#include <cstdint>

#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/tensor/tensor.h"

namespace weft::train {

// Returns the variable in collection "global_step", or null if there is none.
// INVALID_ARGUMENT if the collection holds anything but one integer scalar.
ops::Variable GetGlobalStep(const Scope& scope);

// As GetGlobalStep, but returns null instead of an error for an invalid
// collection.
ops::Variable FindGlobalStep(const Scope& scope);

// As GetGlobalStep, but creates the variable if there is none: int64, not
// trainable, "global_step" at the root of the graph.
ops::Variable GetOrCreateGlobalStep(const Scope& scope);

// Returns the step from a fetched value of the variable.
int64_t GlobalStepValue(const Tensor& fetched);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_GLOBAL_STEP_H_
