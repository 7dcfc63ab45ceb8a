// Helpers for gradients of broadcasting ops and reductions: sums back to the
// shape of an operand, and broadcasts of reduced tensors. Shapes that are known
// while the graph is built need no nodes.
#ifndef WEFT_LIBS_GRADIENTS_MATH_BROADCAST_GRADIENT_H_
#define WEFT_LIBS_GRADIENTS_MATH_BROADCAST_GRADIENT_H_

#include <utility>

#include "libs/ops/scope.h"

namespace weft {

// Takes gradients in the shape that x and y broadcast to (or a null output),
// and returns them summed to the shapes of x and y.
std::pair<Output, Output> SumToShapes(const Scope& scope, const Output& x,
                                      const Output& y, const Output& x_grad,
                                      const Output& y_grad);

// Returns `reduced`, the result of reducing `input` along `axes`, with the
// reduced dimensions restored as ones.
Output RestoreReducedDims(const Scope& scope, const Output& reduced,
                          const Output& input, const Output& axes,
                          bool keep_dims);

// Like RestoreReducedDims, broadcast to the shape of `input`.
Output SpreadReduced(const Scope& scope, const Output& reduced,
                     const Output& input, const Output& axes, bool keep_dims);

// The shape of `x`: a constant if it is known.
Output ShapeOf(const Scope& scope, const Output& x);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_MATH_BROADCAST_GRADIENT_H_
