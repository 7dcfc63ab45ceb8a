// Builders of ops that print and check values, with TensorFlow's names.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_CONTROL_LOGGING_OPS_H_
#define WEFT_LIBS_OPS_CONTROL_LOGGING_OPS_H_

#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

// Adds an Assert. `summarize` is the number of values that are shown of each
// tensor; all values are shown if it is negative.
Operation Assert(const Scope& scope, const Input& condition,
                 const InputList& data, int64_t summarize = 3);

struct PrintAttrs {
  std::string message;
  int64_t first_n = -1;  // number of times to print; negative: always
  int64_t summarize = 3;
};
// Adds a Print, which prints to standard error of the task that runs it.
Output Print(const Scope& scope, const Input& input, const InputList& data,
             const PrintAttrs& attrs = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_LOGGING_OPS_H_
