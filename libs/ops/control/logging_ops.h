// Builders of ops that speak to people, under TensorFlow's names.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_CONTROL_LOGGING_OPS_H_
#define WEFT_LIBS_OPS_CONTROL_LOGGING_OPS_H_

#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

// `summarize`: how many values of each tensor are shown; negative: all.
Operation Assert(const Scope& scope, const Input& condition,
                 const InputList& data, int64_t summarize = 3);

struct PrintAttrs {
  std::string message;
  int64_t first_n = -1;  // prints so often; negative: always
  int64_t summarize = 3;
};
// Prints to standard error of the task where it runs.
Output Print(const Scope& scope, const Input& input, const InputList& data,
             const PrintAttrs& attrs = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_LOGGING_OPS_H_
