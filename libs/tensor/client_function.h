// ClientFunction is a C++ function of the program that the graph calls by its
// name, as TensorFlow's tf.py_func calls a Python function
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
#include "libs/base/async/cancellation.h"
#include "libs/tensor/tensor.h"

namespace weft {

// The arguments of a call. Valid until the function returns.
struct ClientFunctionCall {
  absl::Span<const Tensor> inputs;  // must not be written
  absl::string_view node;           // the calling node
  // The step's cancellation. The step ends, and the session can close, only
  // when the function has returned. So a long function must check IsCancelled()
  // and return status(), or register a callback that ends its wait.
  Cancellation& cancellation;
};

// The results, with the number and types declared by the node; otherwise
// INVALID_ARGUMENT. An error fails the step, and so does an exception.
using ClientFunction = std::function<absl::StatusOr<std::vector<Tensor>>(
    const ClientFunctionCall&)>;

// By name: a node's attr "token".
using ClientFunctions = std::map<std::string, ClientFunction>;

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_CLIENT_FUNCTION_H_
