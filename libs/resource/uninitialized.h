// The errors for variables without a value.
#ifndef WEFT_LIBS_RESOURCE_UNINITIALIZED_H_
#define WEFT_LIBS_RESOURCE_UNINITIALIZED_H_

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace weft {

inline constexpr char kInitializeRemedy[] =
    "Run its initializer first (ops::GlobalVariablesInitializer, or "
    "ops::LocalVariablesInitializer for a local variable), or restore it from "
    "a checkpoint. If you did: was it on the same task, and in the same "
    "container?";

// Returns FAILED_PRECONDITION with TensorFlow's text and advice on what to do.
// `name` is the name of the variable, or of the node that makes a reference to
// it.
inline absl::Status UninitializedError(absl::string_view name) {
  return absl::FailedPreconditionError(absl::StrCat(
      "Attempting to use uninitialized value ", name, ". ", kInitializeRemedy));
}

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_UNINITIALIZED_H_
