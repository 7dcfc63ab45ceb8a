// Errors of kernels that replace several nodes (_FusedMatMul and related ops),
// which name the original node that failed.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_COMMON_MEMBER_ERRORS_H_
#define WEFT_LIBS_KERNELS_COMMON_MEMBER_ERRORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

// Attributes the error to node `name` of op `op`. OK remains OK.
absl::Status OfMember(absl::Status status, absl::string_view name,
                      absl::string_view op);

// Returns "NAME (OP)" of the node that failed: that of the original node, if
// OfMember has added it to the status, from which it is removed; otherwise that
// of the node itself.
std::string TakeFailedNode(absl::Status& status, absl::string_view name,
                           absl::string_view op);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_MEMBER_ERRORS_H_
