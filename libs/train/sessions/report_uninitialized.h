// ReportUninitializedVariables lists variables without a value;
// WaitForVariables waits until all variables have one.
//
// Threads: as the scope's. Errors stick to the scope.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_REPORT_UNINITIALIZED_H_
#define WEFT_LIBS_TRAIN_SESSIONS_REPORT_UNINITIALIZED_H_

#include <vector>

#include "absl/types/span.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

// Returns the names of the uninitialized variables as a vector of strings, in
// the order given. It uses TensorFlow's default name scope,
// "report_uninitialized_variables". Placed on a CPU of the session's task.
Output ReportUninitializedVariables(const Scope& scope,
                                    absl::Span<const ops::Variable> variables);
// Reports on all global and local variables.
Output ReportUninitializedVariables(const Scope& scope);

// Returns an operation, "wait_for_variables", that completes when all variables
// have values. It waits on the tasks of the variables, without polling, and for
// as long as its step may take. ABORTED if a variable is deleted meanwhile.
Operation WaitForVariables(const Scope& scope,
                           absl::Span<const ops::Variable> variables);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_REPORT_UNINITIALIZED_H_
