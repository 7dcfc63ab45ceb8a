// StridedSlicePlan: what a StridedSlice node, with its five masks, means for an
// input of some shape. Used by the shape function and by the kernels.
//
// Follows tensorflow/core/util/strided_slice_op.cc, also in its error texts.
// Pure functions; sizes are elements.
#ifndef WEFT_LIBS_OPS_ARRAY_STRIDED_SLICE_H_
#define WEFT_LIBS_OPS_ARRAY_STRIDED_SLICE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/tensor/shape.h"

namespace weft {

// Bit i of each speaks of entry i of the specification.
struct StridedSliceMasks {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t ellipsis = 0;
  int64_t new_axis = 0;
  int64_t shrink_axis = 0;
};

struct StridedSliceSpec {
  StridedSliceMasks masks;
  // Not set where the values are not known yet.
  std::optional<Dims> begin;
  std::optional<Dims> end;
  Dims strides;
};

struct StridedSlicePlan {
  // One for each dimension of the input, between 0 and its size (-1 and its
  // size - 1 for negative strides). Only where everything is known.
  Dims begin;
  Dims strides;
  // Of the result with a dimension for each of the input's.
  PartialShape processing_shape;
  // Of the result: without the shrunk dimensions, with the new ones.
  PartialShape final_shape;
  // Every element in its place: the result is the input, reshaped.
  bool is_identity = false;
};

// INVALID_ARGUMENT where the specification does not fit the input. An input of
// unknown rank has a result of unknown rank.
absl::StatusOr<StridedSlicePlan> PlanStridedSlice(const StridedSliceSpec& spec,
                                                  const PartialShape& input);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_ARRAY_STRIDED_SLICE_H_
