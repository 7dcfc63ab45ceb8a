// Copying elements between a packed tensor and a regular pattern of another
// one: what Slice, Transpose, Reverse, Tile, Pad and BroadcastTo have in
// common.
//
// Functions over memory; the caller checks the ranges.
#ifndef WEFT_LIBS_KERNELS_ARRAY_COPY_H_
#define WEFT_LIBS_KERNELS_ARRAY_COPY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "libs/base/scheduler.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft {

// Where the elements of a box lie: element (i, j, ...) is at
// offset + i * strides[0] + j * strides[1] + ..., in elements. A stride of 0
// repeats, a negative one goes backward.
struct ElementPattern {
  Dims dims;
  Dims strides;
  int64_t offset = 0;
};

// Row-major strides of a shape.
Dims PackedStrides(absl::Span<const int64_t> dims);

// The box of `dims` elements of a tensor of shape `whole` that begins at
// `begin` and moves by `steps` in each dimension.
ElementPattern BoxPattern(const TensorShape& whole, const Dims& begin,
                          const Dims& steps, absl::Span<const int64_t> dims);

// A tensor of shape `from` as one of shape `to`, NumPy's way: sizes of 1, and
// those that are missing in front, repeat. REQUIRES: `from` has no more
// dimensions than `to`, and each other size is equal.
ElementPattern BroadcastPattern(absl::Span<const int64_t> from,
                                absl::Span<const int64_t> to);

// `out`, packed, becomes the elements of `in` that the pattern names; with a
// scheduler on as many threads as it is worth.
// REQUIRES: one dtype; `out` has as many elements as the pattern.
absl::Status CopyFromPattern(const Tensor& in, const ElementPattern& pattern,
                             Tensor& out, Scheduler* scheduler = nullptr);
// The elements of `out` that the pattern names, each once, become those of
// `in`, packed.
absl::Status CopyToPattern(const Tensor& in, const ElementPattern& pattern,
                           Tensor& out, Scheduler* scheduler = nullptr);

// The same for a kernel: on as many threads as it is worth, and the memory
// bound counts the strings. RESOURCE_EXHAUSTED where it has no room for them.
absl::Status CopyFromPattern(OpKernelContext& context, const Tensor& in,
                             const ElementPattern& pattern, Tensor& out);
absl::Status CopyToPattern(OpKernelContext& context, const Tensor& in,
                           const ElementPattern& pattern, Tensor& out);

// Copies `count` elements. REQUIRES: one dtype; ranges within the tensors.
void CopyElements(const Tensor& in, int64_t in_begin, int64_t count,
                  Tensor& out, int64_t out_begin);

// The same; `charge` counts the strings, one by one. RESOURCE_EXHAUSTED where
// there is no room for them.
absl::Status CopyElements(HeapCharge& charge, const Tensor& in,
                          int64_t in_begin, int64_t count, Tensor& out,
                          int64_t out_begin);

// All bits zero, or empty strings.
absl::Status FillWithZeros(Tensor& tensor);
// All elements equal to the only one of `value`. REQUIRES: one dtype.
absl::Status FillWithValue(const Tensor& value, Tensor& tensor);
// The same for a kernel: the memory bound counts the strings.
absl::Status FillWithValue(OpKernelContext& context, const Tensor& value,
                           Tensor& tensor);

// The elements of an integer tensor of any integer index type (int8 to int64),
// widened. INVALID_ARGUMENT for other types.
absl::StatusOr<Dims> IntegersOf(const Tensor& tensor);

// The shape of such a tensor's sizes; a scalar counts as a vector of one size,
// as in old graphs. INVALID_ARGUMENT for matrices, and for sizes below 0.
absl::StatusOr<TensorShape> ShapeFromDims(const Tensor& dims);

// The coordinates of the element at a flat position, one for each dimension.
void WriteCoordinates(const TensorShape& shape, int64_t position,
                      int64_t* coordinates);
// "[1,0]": the coordinates of the element at a flat position; "" for scalars.
std::string CoordinatesOf(const TensorShape& shape, int64_t position);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_COPY_H_
