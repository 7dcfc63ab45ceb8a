// Group: one operation that is done when several are.
//
// Threads: as the scope's. Errors stick to the scope.
#ifndef WEFT_LIBS_OPS_GROUP_H_
#define WEFT_LIBS_OPS_GROUP_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft::ops {

// A NoOp that runs after `operations`, named `name` ("group_deps") unless the
// scope names it. Operations of several devices are grouped on each device
// first, as TensorFlow does, so that one signal crosses from each.
Operation Group(const Scope& scope, const std::vector<Operation>& operations,
                absl::string_view name = "group_deps");

Operation NoOp(const Scope& scope);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_GROUP_H_
