// Errors of kernels that do the work of several nodes (_FusedMatMul and its
// like): which of them it was that failed, so that the error names that one.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_MEMBER_ERRORS_H_
#define WEFT_LIBS_KERNELS_MEMBER_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

// The same error, as one of the node `name` of op `op`. OK stays OK.
absl::Status OfMember(absl::Status status, absl::string_view name,
                      absl::string_view op);

// "NAME (OP)" as an error is to name it: the member's, which is taken off the
// status, else the node's own.
std::string TakeFailedNode(absl::Status& status, absl::string_view name,
                           absl::string_view op);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MEMBER_ERRORS_H_
