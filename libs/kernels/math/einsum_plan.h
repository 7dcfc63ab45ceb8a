// What an Einsum does to tensors of known shapes: how its labels lie in the
// operands and the result, and which matrices are multiplied.
//
// Values without state. Strides and offsets are in elements.
#ifndef WEFT_LIBS_KERNELS_MATH_EINSUM_PLAN_H_
#define WEFT_LIBS_KERNELS_MATH_EINSUM_PLAN_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/kernels/array/copy.h"
#include "libs/ops/math/einsum_equation.h"
#include "libs/tensor/shape.h"

namespace weft {

// All elements of a tensor that agree in one label: a label that a tensor has
// twice runs along the diagonal.
struct EinsumAxis {
  // A character's code; what an ellipsis stands for counts from 256, the last
  // dimension first, so that equal numbers broadcast with each other.
  int label = 0;
  int64_t size = 0;
  int64_t stride = 0;
};

// A tensor by its labels, each once. Sizes of 1 are left out: they move nothing
// and broadcast by themselves.
using EinsumView = std::vector<EinsumAxis>;

struct EinsumViews {
  std::vector<EinsumView> inputs;
  EinsumView output;
  TensorShape output_shape;
};

// INVALID_ARGUMENT, with TensorFlow's texts, where shapes do not fit the
// equation or each other. REQUIRES: as many shapes as the equation has inputs.
absl::StatusOr<EinsumViews> ViewsOf(const EinsumEquation& equation,
                                    absl::Span<const TensorShape> inputs);

const EinsumAxis* FindAxis(const EinsumView& view, int label);

// Axes of `view` for which `keep` holds, in their order.
EinsumView FilterAxes(const EinsumView& view,
                      const std::function<bool(int label)>& keep);
// The axes of `view` in the order that `order` has its labels in.
// REQUIRES: `view` has all of them.
EinsumView AxesAs(const EinsumView& view, const EinsumView& order);
EinsumView JoinAxes(absl::Span<const EinsumView> parts);

// The elements of the axes, the last moving fastest.
ElementPattern PatternOf(const EinsumView& view);
// The same axes of a tensor that holds their elements packed.
EinsumView Packed(EinsumView view);
bool IsPacked(const EinsumView& view);
int64_t CountElements(const EinsumView& view);

// Several axes as one, if they lie so.
struct EinsumRun {
  int64_t size = 1;
  int64_t stride = 1;
};
std::optional<EinsumRun> JoinedRun(const EinsumView& view);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_EINSUM_PLAN_H_
