// PyFunc calls a C++ function that the program registers under a name, as
// TensorFlow's tf.py_func calls a Python function
// (docs/user/client_functions.md).
//
//   SessionOptions options;
//   options.client_functions["double"] = ...;
//   std::vector<Output> y = ops::PyFunc(root, "double", {x}, {DT_FLOAT});
//
// The node runs in the program that has the function: in a cluster, pin it to a
// device of that program's task. It has no gradient.
#ifndef WEFT_LIBS_OPS_CONTROL_CLIENT_FUNCTIONS_H_
#define WEFT_LIBS_OPS_CONTROL_CLIENT_FUNCTIONS_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

struct PyFuncAttrs {
  // If false, the function has no side effects, and equal inputs give equal
  // results.
  bool stateful = true;
};
// Returns outputs of these types and unknown shapes; empty after an error.
std::vector<Output> PyFunc(const Scope& scope, const std::string& token,
                           const InputList& input, const DataTypeVector& types,
                           const PyFuncAttrs& attrs = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_CLIENT_FUNCTIONS_H_
