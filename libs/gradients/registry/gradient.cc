#include "libs/gradients/registry/gradient.h"

namespace weft {

Output ToDense(const Scope& scope, const Gradient& gradient) {
  if (!gradient.IsSparse()) return gradient.dense;
  const Output rows =
      scope.AddOutput("StridedSlice",
                      {gradient.dense_shape, Tensor::Vector({0}),
                       Tensor::Vector({1}), Tensor::Vector({1})},
                      {{"shrink_axis_mask", 1}});
  if (!rows) return Output();
  return scope.AddOutput("UnsortedSegmentSum",
                         {gradient.values, gradient.indices, rows});
}

}  // namespace weft
