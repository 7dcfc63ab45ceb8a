// What the shape and value functions of the array family share.
//
// Pure functions of their arguments and of the context of the node that is
// being added. Errors are INVALID_ARGUMENT.
#ifndef WEFT_LIBS_OPS_ARRAY_ARRAY_SHAPES_H_
#define WEFT_LIBS_OPS_ARRAY_ARRAY_SHAPES_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/graph/inference_context.h"

namespace weft::array_shapes {

// Value functions look at no more elements than this: they serve the
// arithmetic of shapes.
inline constexpr int64_t kMaxElements = 1024;

// The elements of an int32 or int64 tensor, or of such an input where its value
// is known; nothing for other types and for large ones.
std::optional<Dims> Integers(const Tensor& tensor);
std::optional<Dims> Integers(InferenceContext& c, int input);
// REQUIRES: dtype is int32 or int64, as many values as elements.
Tensor MakeIntegers(DataType dtype, const TensorShape& shape,
                    absl::Span<const int64_t> values);

// `axis` counted from the front. The error names what the axis is of.
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

// Dimensions [begin, end) and [begin, rank). REQUIRES: a known rank.
PartialShape Subshape(const PartialShape& shape, int begin, int end);
PartialShape Subshape(const PartialShape& shape, int begin);
// Unknown rank when either's is.
PartialShape Concatenate(const PartialShape& a, const PartialShape& b);

// Sum, quotient, product of sizes that may be unknown. A result that overflows
// is an error.
absl::StatusOr<int64_t> AddSizes(int64_t a, int64_t b);
absl::StatusOr<int64_t> MultiplySizes(int64_t a, int64_t b);

}  // namespace weft::array_shapes

#endif  // WEFT_LIBS_OPS_ARRAY_ARRAY_SHAPES_H_
