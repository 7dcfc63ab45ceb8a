// PyFunc: a call of a C++ function that the program knows by a name, as
// TensorFlow's tf.py_func calls one of Python (docs/user/client_functions.md).
//
//   SessionOptions options;
//   options.client_functions["double"] = ...;
//   std::vector<Output> y = ops::PyFunc(root, "double", {x}, {DT_FLOAT});
//
// The node runs where the function is: in a cluster, pin it to a device of the
// task whose program has it. It has no gradient.
#ifndef WEFT_LIBS_OPS_CONTROL_CLIENT_FUNCTIONS_H_
#define WEFT_LIBS_OPS_CONTROL_CLIENT_FUNCTIONS_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

struct PyFuncAttrs {
  // False: the same inputs give the same results, and nothing else happens.
  bool stateful = true;
};
// Outputs of these types, of shapes that nobody knows. None after an error.
std::vector<Output> PyFunc(const Scope& scope, const std::string& token,
                           const InputList& input, const DataTypeVector& types,
                           const PyFuncAttrs& attrs = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_CONTROL_CLIENT_FUNCTIONS_H_
