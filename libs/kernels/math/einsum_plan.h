// The plan of an Einsum for known shapes: the positions of labels in operands
// and result, and the matrices to multiply.
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

// EinsumAxis is the axis of one label of a tensor; for a repeated label, the
// diagonal.
struct EinsumAxis {
  // A character's code. Dimensions of an ellipsis count from 256, the last one
  // first, so that equal numbers broadcast with each other.
  int label = 0;
  int64_t size = 0;
  int64_t stride = 0;
};

// A tensor by its distinct labels. Dimensions of size 1 are left out, because
// they broadcast.
using EinsumView = std::vector<EinsumAxis>;

struct EinsumViews {
  std::vector<EinsumView> inputs;
  EinsumView output;
  TensorShape output_shape;
};

// Returns INVALID_ARGUMENT, with TensorFlow's texts, if shapes do not fit the
// equation or each other. REQUIRES: the number of shapes equals that of the
// equation's inputs.
absl::StatusOr<EinsumViews> ViewsOf(const EinsumEquation& equation,
                                    absl::Span<const TensorShape> inputs);

const EinsumAxis* FindAxis(const EinsumView& view, int label);

// The axes of `view` for which `keep` returns true, in order.
EinsumView FilterAxes(const EinsumView& view,
                      const std::function<bool(int label)>& keep);
// The axes of `view` in the order of the labels in `order`. REQUIRES: `view`
// has all of them.
EinsumView AxesAs(const EinsumView& view, const EinsumView& order);
EinsumView JoinAxes(absl::Span<const EinsumView> parts);

// The elements of the axes; the last axis varies fastest.
ElementPattern PatternOf(const EinsumView& view);
// The same axes in a tensor with packed elements.
EinsumView Packed(EinsumView view);
bool IsPacked(const EinsumView& view);
int64_t CountElements(const EinsumView& view);

// Several axes as one, if their strides allow it.
struct EinsumRun {
  int64_t size = 1;
  int64_t stride = 1;
};
std::optional<EinsumRun> JoinedRun(const EinsumView& view);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_EINSUM_PLAN_H_
