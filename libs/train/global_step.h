// The global step: how many training steps a graph's variables have taken.
//
// Threads: as the scope's. Errors stick to the scope.
#ifndef WEFT_LIBS_TRAIN_GLOBAL_STEP_H_
#define WEFT_LIBS_TRAIN_GLOBAL_STEP_H_

#include <cstdint>

#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/tensor/tensor.h"

namespace weft::train {

// The variable in collection "global_step"; null when there is none. It is an
// error for the collection to hold anything but one integer scalar.
ops::Variable GetGlobalStep(const Scope& scope);

// The same, for whoever can do without: null, and no error, for what is none.
ops::Variable FindGlobalStep(const Scope& scope);

// The same; made when there is none, as int64 variable "global_step" at the
// root of the graph, not trainable.
ops::Variable GetOrCreateGlobalStep(const Scope& scope);

// What a fetch of it holds.
int64_t GlobalStepValue(const Tensor& fetched);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_GLOBAL_STEP_H_
