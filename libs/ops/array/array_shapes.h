// Helpers of the shape and value functions of the array family.
//
// They are pure functions of their arguments and of the context of the new
// node. Errors are INVALID_ARGUMENT.
#ifndef WEFT_LIBS_OPS_ARRAY_ARRAY_SHAPES_H_
#define WEFT_LIBS_OPS_ARRAY_ARRAY_SHAPES_H_

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/graph/inference_context.h"

namespace weft::array_shapes {

// Value functions support only tensors up to this number of elements, because
// they serve arithmetic on shapes.
inline constexpr int64_t kMaxElements = 1024;

// Returns the elements of an int32 or int64 tensor, or of an input with a known
// value; nullopt for other types and for large tensors.
std::optional<Dims> Integers(const Tensor& tensor);
std::optional<Dims> Integers(InferenceContext& c, int input);
// Returns a tensor of integers. REQUIRES: dtype is int32 or int64, and there
// are as many values as the shape has elements.
Tensor MakeIntegers(DataType dtype, const TensorShape& shape,
                    absl::Span<const int64_t> values);

// Returns `axis` counted from the front, or an error if it is out of range.
absl::StatusOr<int> NormalizeAxis(int64_t axis, int rank);

// Returns dimensions [begin, end) or [begin, rank) of a shape. REQUIRES: the
// rank is known.
PartialShape Subshape(const PartialShape& shape, int begin, int end);
PartialShape Subshape(const PartialShape& shape, int begin);
// Returns the dimensions of `a` followed by those of `b`. The result has
// unknown rank if either rank is unknown.
PartialShape Concatenate(const PartialShape& a, const PartialShape& b);

// Return the sum, quotient or product of sizes that may be unknown. Overflow is
// an error.
absl::StatusOr<int64_t> AddSizes(int64_t a, int64_t b);
absl::StatusOr<int64_t> MultiplySizes(int64_t a, int64_t b);

}  // namespace weft::array_shapes

#endif  // WEFT_LIBS_OPS_ARRAY_ARRAY_SHAPES_H_
