// What gradients of broadcasting and of reductions need: sums back to the shape
// of an operand, and reduced tensors spread out again. Shapes that are known
// while the graph is built need no nodes that compute them.
#ifndef WEFT_LIBS_GRADIENTS_MATH_BROADCAST_GRADIENT_H_
#define WEFT_LIBS_GRADIENTS_MATH_BROADCAST_GRADIENT_H_

#include <utility>

#include "libs/ops/scope.h"

namespace weft {

// `x_grad` and `y_grad` have the shape that x and y broadcast to (or a null
// output); returns them summed to the shapes of x and of y.
std::pair<Output, Output> SumToShapes(const Scope& scope, const Output& x,
                                      const Output& y, const Output& x_grad,
                                      const Output& y_grad);

// `reduced`, the result of reducing `input` along `axes`, with the reduced
// dimensions put back as ones.
Output RestoreReducedDims(const Scope& scope, const Output& reduced,
                          const Output& input, const Output& axes,
                          bool keep_dims);

// The same, repeated to the shape of `input`.
Output SpreadReduced(const Scope& scope, const Output& reduced,
                     const Output& input, const Output& axes, bool keep_dims);

// The shape of `x`; a constant where it is known.
Output ShapeOf(const Scope& scope, const Output& x);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_MATH_BROADCAST_GRADIENT_H_
