// ClientFunction: a C++ function of the program that the graph calls by its
// name, as TensorFlow's tf.py_func calls one of Python
// (docs/user/client_functions.md).
//
//   ClientFunctions functions;
//   functions["double"] = [](const ClientFunctionCall& call)
//       -> absl::StatusOr<std::vector<Tensor>> { ... };
//
// Threads: called on threads that may block, by several steps at a time.
#ifndef WEFT_LIBS_TENSOR_CLIENT_FUNCTION_H_
#define WEFT_LIBS_TENSOR_CLIENT_FUNCTION_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/base/cancellation.h"
#include "libs/tensor/tensor.h"

namespace weft {

// What a call is given. Valid until the function returns.
struct ClientFunctionCall {
  absl::Span<const Tensor> inputs;  // not to be written to
  absl::string_view node;           // the node that calls
  // Of the step. It ends, and the session can close, only when the function has
  // returned; so a function that takes long asks IsCancelled() and returns
  // status(), or registers what ends its waiting.
  Cancellation& cancellation;
};

// The results, of the number and types that the node says; else
// INVALID_ARGUMENT. An error fails the step, and so does an exception.
using ClientFunction = std::function<absl::StatusOr<std::vector<Tensor>>(
    const ClientFunctionCall&)>;

// By name: a node's attr "token".
using ClientFunctions = std::map<std::string, ClientFunction>;

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_CLIENT_FUNCTION_H_
