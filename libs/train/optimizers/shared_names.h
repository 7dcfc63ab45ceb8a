// Containers and shared names of resources other than variables that the
// programs of a training run share: queues, accumulators, tables.
//
// Two training runs on the same servers may differ only in their containers, or
// in the names of their global steps. Resources named by these functions belong
// to one training run, regardless of the scope in which the program creates
// them.
//
// The functions are as thread-safe as the scope.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_SHARED_NAMES_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_SHARED_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft::train {

// Returns `scope` with its container replaced by the container of a variable.
// `variable` is the handle of the variable. If it is null, after an error,
// returns `scope` unchanged.
Scope InContainerOf(const Scope& scope, const Output& variable);
// Returns `scope` for slots of a variable: colocated with the variable, and in
// its container unless `scope` has a container. As in TensorFlow, a program may
// place slots in another container.
Scope BesideVariable(const Scope& scope, const Output& variable);

// Returns the shared name of a resource of one training run. If the global step
// has its usual name, that is `name`, as in TensorFlow; otherwise "STEP/name".
// `global_step` is the handle of the variable.
std::string SharedNameBeside(const Output& global_step, absl::string_view name);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_SHARED_NAMES_H_
