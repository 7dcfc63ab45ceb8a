// The gradients of the math family, one function for each noun, in the file
// NOUN_gradients.cc. The formulas are TensorFlow's
// (tensorflow/python/ops/math_grad.py), because goldens compare their numbers.
#ifndef WEFT_LIBS_GRADIENTS_MATH_MATH_GRADIENTS_H_
#define WEFT_LIBS_GRADIENTS_MATH_MATH_GRADIENTS_H_

#include <functional>
#include <utility>

#include "libs/gradients/registry/gradient_registry.h"

namespace weft {

void RegisterBinaryGradients(GradientRegistry& registry);
void RegisterUnaryGradients(GradientRegistry& registry);
void RegisterReductionGradients(GradientRegistry& registry);
void RegisterMatMulGradients(GradientRegistry& registry);
void RegisterEinsumGradients(GradientRegistry& registry);

// The inputs of a gradient of y = f(x).
struct UnaryArgs {
  const Scope& scope;
  Output x;
  Output y;
  Output grad;
};
using UnaryGradient = std::function<Output(const UnaryArgs&)>;
void RegisterUnaryGradient(GradientRegistry& registry, absl::string_view op,
                           UnaryGradient gradient);

// The inputs of a gradient of z = f(x, y) with broadcasting. It returns both
// gradients in the shape of z (null for none), which are then summed to the
// operands' shapes.
struct BinaryArgs {
  const Scope& scope;
  Output x;
  Output y;
  Output z;
  Output grad;
};
using BinaryGradient =
    std::function<std::pair<Output, Output>(const BinaryArgs&)>;
void RegisterBinaryGradient(GradientRegistry& registry, absl::string_view op,
                            BinaryGradient gradient);

// The complex conjugate; real tensors are unchanged.
Output Conjugate(const Scope& scope, const Output& x);

// A scalar 0 of the type of `like`.
Output ZeroLike(const Scope& scope, const Output& like);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_MATH_MATH_GRADIENTS_H_
