// BuildGradientFunction builds the function that SymbolicGradient calls, which
// computes the gradients of another function's arguments. Internal to
// libs/gradients; others call GradientFunction (gradients.h).
#ifndef WEFT_LIBS_GRADIENTS_FUNCTION_GRADIENT_H_
#define WEFT_LIBS_GRADIENTS_FUNCTION_GRADIENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "libs/gradients/registry/gradient.h"
#include "libs/graph/function_library.h"
#include "libs/graph/graph.h"

namespace weft {

// Returns a function `name` that takes the arguments of `function` and the
// gradients of its results, and returns the gradients of its arguments: zeros
// for an argument that no result depends on. `attrs` are those of the call;
// `graph` holds the functions that it may call. Errors are those of
// AddFunctionBody and `add_gradients`. Thread-safe if `add_gradients` is.
absl::StatusOr<FunctionPtr> BuildGradientFunction(const std::string& name,
                                                  const FunctionDef& function,
                                                  const AttrMap& attrs,
                                                  const Graph& graph,
                                                  AddGradientsFn add_gradients);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_FUNCTION_GRADIENT_H_
