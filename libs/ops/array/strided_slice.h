// StridedSlicePlan is the interpretation of a StridedSlice node, with its five
// masks, for a given input shape. The shape function and the kernels use it.
//
// It follows tensorflow/core/util/strided_slice_op.cc, including its error
// texts. Pure functions; sizes are in elements.
#ifndef WEFT_LIBS_OPS_ARRAY_STRIDED_SLICE_H_
#define WEFT_LIBS_OPS_ARRAY_STRIDED_SLICE_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/tensor/shape.h"

namespace weft {

// Bit i refers to entry i of the specification.
struct StridedSliceMasks {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t ellipsis = 0;
  int64_t new_axis = 0;
  int64_t shrink_axis = 0;
};

struct StridedSliceSpec {
  StridedSliceMasks masks;
  // Not set if the values are not known yet.
  std::optional<Dims> begin;
  std::optional<Dims> end;
  Dims strides;
};

struct StridedSlicePlan {
  // One entry for each dimension of the input, between 0 and its size (-1 and
  // its size - 1 for negative strides). Set only if everything is known.
  Dims begin;
  Dims strides;
  // The shape of the result with a dimension for each input dimension.
  PartialShape processing_shape;
  // The shape of the result, without the shrunk dimensions and with the new
  // ones.
  PartialShape final_shape;
  // Whether every element keeps its place, so that the result is the input,
  // reshaped.
  bool is_identity = false;
};

// Returns the plan for an input. INVALID_ARGUMENT if the specification does not
// fit the input. An input of unknown rank has a result of unknown rank.
absl::StatusOr<StridedSlicePlan> PlanStridedSlice(const StridedSliceSpec& spec,
                                                  const PartialShape& input);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_ARRAY_STRIDED_SLICE_H_
