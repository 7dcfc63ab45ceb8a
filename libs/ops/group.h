// Group combines several operations into one.
//
// Threads: as for the scope. Errors stick to the scope.
#ifndef WEFT_LIBS_OPS_GROUP_H_
#define WEFT_LIBS_OPS_GROUP_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft::ops {

// Returns a NoOp that runs after `operations`, named `name` ("group_deps")
// unless the scope names it. Operations on several devices are first grouped on
// each device, as in TensorFlow, so that one signal crosses from each.
Operation Group(const Scope& scope, const std::vector<Operation>& operations,
                absl::string_view name = "group_deps");

Operation NoOp(const Scope& scope);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_GROUP_H_
