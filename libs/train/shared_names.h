// Containers and shared names of what the programs of a training share beside
// its variables: queues, accumulators, tables.
//
// Two trainings on the same servers may differ in their containers only, or in
// the names of their global steps. Resources that follow these belong to one
// training, whichever scope the program makes them in.
//
// Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_SHARED_NAMES_H_
#define WEFT_LIBS_TRAIN_SHARED_NAMES_H_

#include <string>

#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft::train {

// `scope` with the container of a variable instead of its own. `variable` is
// the variable's handle; null after an error: `scope` as it is.
Scope InContainerOf(const Scope& scope, const Output& variable);
// The same where `scope` has no container of its own, as for slots: a program
// may put them elsewhere, as in TensorFlow.
Scope InContainerOfUnlessSet(const Scope& scope, const Output& variable);

// The shared name of a resource of one training: `name`, as TensorFlow has it,
// where the global step has its usual name, else "STEP/name". `global_step` is
// the variable's handle.
std::string SharedNameBeside(const Output& global_step, absl::string_view name);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SHARED_NAMES_H_
