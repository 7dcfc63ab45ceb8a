// Gradient is the derivative of a sum with respect to one output of a node.
//
// Threads: as for the scope. Errors stick to the scope.
#ifndef WEFT_LIBS_GRADIENTS_REGISTRY_GRADIENT_H_
#define WEFT_LIBS_GRADIENTS_REGISTRY_GRADIENT_H_

#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/ops/scope.h"

namespace weft {

// The gradient with respect to one output of a node: dense, or the rows
// `values` at `indices` of a tensor of shape `dense_shape` (IndexedSlices). A
// repeated row counts several times.
struct Gradient {
  Output dense;   // null when sparse or absent
  Output values;  // these three are set if sparse
  Output indices;
  Output dense_shape;
  bool is_distinct = false;  // sparse, without repeated rows

  Gradient() = default;
  Gradient(Output output) : dense(output) {}  // NOLINT: the usual case
  bool IsNone() const { return !dense && !values; }
  bool IsSparse() const { return static_cast<bool>(values); }
};

// Returns the gradient as a dense tensor: itself, or the rows summed into
// zeros. REQUIRES: not None.
Output ToDense(const Scope& scope, const Gradient& gradient);

// AddGradients (gradients.h) as a parameter of code that gradients.cc calls.
// `grad_ys` are the weights of the ys.
using AddGradientsFn = absl::FunctionRef<absl::StatusOr<std::vector<Gradient>>(
    const Scope& scope, absl::Span<const Output> ys,
    absl::Span<const Output> xs, const std::vector<Output>& grad_ys)>;

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_REGISTRY_GRADIENT_H_
