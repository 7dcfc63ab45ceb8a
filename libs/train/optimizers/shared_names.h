// Containers and shared names of the resources that the programs of a training
// run share besides its variables: queues, accumulators, tables.
//
// Two training runs on the same servers may differ only in their containers, or
// in the names of their global steps. Resources named by these functions belong
// to one training run, regardless of the scope in which the program creates
// them.
//
// Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_SHARED_NAMES_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_SHARED_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft::train {

// Returns `scope` with the container of a variable instead of its own.
// `variable` is the variable's handle; if it is null, after an error, returns
// `scope` unchanged.
Scope InContainerOf(const Scope& scope, const Output& variable);
// Returns `scope` colocated with a variable, for slots of it, and in its
// container unless `scope` has one: a program may place slots in another
// container, as in TensorFlow.
Scope BesideVariable(const Scope& scope, const Output& variable);

// Returns the shared name of a resource of one training: `name`, as in
// TensorFlow, if the global step has its usual name, otherwise "STEP/name".
// `global_step` is the variable's handle.
std::string SharedNameBeside(const Output& global_step, absl::string_view name);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_SHARED_NAMES_H_
