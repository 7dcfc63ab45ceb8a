// Builders of ops that print and check values, with TensorFlow's names.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_CONTROL_LOGGING_OPS_H_
#define WEFT_LIBS_OPS_CONTROL_LOGGING_OPS_H_

#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

// `summarize` is the number of values shown of each tensor; negative: all.
Operation Assert(const Scope& scope, const Input& condition,
                 const InputList& data, int64_t summarize = 3);

struct PrintAttrs {
  std::string message;
  int64_t first_n = -1;  // number of times to print; negative: always
  int64_t summarize = 3;
};
// Prints to standard error of the task that runs the node.
Output Print(const Scope& scope, const Input& input, const InputList& data,
             const PrintAttrs& attrs = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_LOGGING_OPS_H_
