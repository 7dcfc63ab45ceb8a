// What tells whether variables have values: ReportUninitializedVariables says
// which have none, WaitForVariables ends when all have one.
//
// Threads: as the scope's. Errors stick to the scope.
#ifndef WEFT_LIBS_TRAIN_REPORT_UNINITIALIZED_H_
#define WEFT_LIBS_TRAIN_REPORT_UNINITIALIZED_H_

#include <vector>

#include "absl/types/span.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

// The names of those that have no value, a vector of strings, in the order
// given; as TensorFlow's function of that name, by whose name of a scope it
// goes, "report_uninitialized_variables". It is on a CPU of the session's task.
Output ReportUninitializedVariables(const Scope& scope,
                                    absl::Span<const ops::Variable> variables);
// Of all global and local variables.
Output ReportUninitializedVariables(const Scope& scope);

// An operation, "wait_for_variables", that is done when all have values: it
// waits where they lie, without asking again and again, and for as long as its
// step may take. ABORTED where a variable is deleted meanwhile.
Operation WaitForVariables(const Scope& scope,
                           absl::Span<const ops::Variable> variables);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_REPORT_UNINITIALIZED_H_
