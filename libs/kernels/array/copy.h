// Copies of elements between a packed tensor and a regular pattern of another
// one, for Slice, Transpose, Reverse, Tile, Pad and BroadcastTo.
//
// Functions over memory; the caller checks the ranges.
#ifndef WEFT_LIBS_KERNELS_ARRAY_COPY_H_
#define WEFT_LIBS_KERNELS_ARRAY_COPY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft {

// ElementPattern describes the positions of a box of elements: element (i, j,
// ...) is at offset + i * strides[0] + j * strides[1] + ..., in elements. A
// stride of 0 repeats elements, a negative one goes backward.
struct ElementPattern {
  Dims dims;
  Dims strides;
  int64_t offset = 0;
};

// Returns the row-major strides of a shape.
Dims PackedStrides(absl::Span<const int64_t> dims);

// Returns the box of `dims` elements that begins at `begin` in a tensor of
// shape `whole` and advances by `steps` in each dimension.
ElementPattern BoxPattern(const TensorShape& whole, const Dims& begin,
                          const Dims& steps, absl::Span<const int64_t> dims);

// Returns the pattern that broadcasts shape `from` to shape `to` as in NumPy:
// dimensions of size 1, and missing leading dimensions, repeat. REQUIRES:
// `from` has no more dimensions than `to`, and all other sizes are equal.
ElementPattern BroadcastPattern(absl::Span<const int64_t> from,
                                absl::Span<const int64_t> to);

// Copies the elements of `in` in the pattern to `out`, packed; with a
// scheduler, on as many threads as the work justifies. REQUIRES: one dtype;
// `out` has as many elements as the pattern.
absl::Status CopyFromPattern(const Tensor& in, const ElementPattern& pattern,
                             Tensor& out, Scheduler* scheduler = nullptr);
// Copies `in`, packed, to the elements of `out` in the pattern, which must be
// distinct.
absl::Status CopyToPattern(const Tensor& in, const ElementPattern& pattern,
                           Tensor& out, Scheduler* scheduler = nullptr);

// Like CopyFromPattern for a kernel: on several threads, and with strings
// charged to the memory bound. Returns RESOURCE_EXHAUSTED beyond the bound.
absl::Status CopyFromPattern(OpKernelContext& context, const Tensor& in,
                             const ElementPattern& pattern, Tensor& out);
absl::Status CopyToPattern(OpKernelContext& context, const Tensor& in,
                           const ElementPattern& pattern, Tensor& out);

// Copies `count` elements. REQUIRES: one dtype; ranges within the tensors.
void CopyElements(const Tensor& in, int64_t in_begin, int64_t count,
                  Tensor& out, int64_t out_begin);

// Like CopyElements; `charge` counts each string. Returns RESOURCE_EXHAUSTED
// beyond the memory bound.
absl::Status CopyElements(HeapCharge& charge, const Tensor& in,
                          int64_t in_begin, int64_t count, Tensor& out,
                          int64_t out_begin);

// Sets all elements to zero, or to empty strings.
absl::Status FillWithZeros(Tensor& tensor);
// Sets all elements to the only element of `value`. REQUIRES: both have the
// same dtype.
absl::Status FillWithValue(const Tensor& value, Tensor& tensor);
// Like FillWithValue for a kernel, with strings charged to the memory bound.
absl::Status FillWithValue(OpKernelContext& context, const Tensor& value,
                           Tensor& tensor);

// Returns the elements of a tensor of any integer index type (int8 to int64) as
// int64. INVALID_ARGUMENT for other types.
absl::StatusOr<Dims> IntegersOf(const Tensor& tensor);

// Returns the shape with these sizes. A scalar counts as a vector of one size,
// as in old graphs. INVALID_ARGUMENT for matrices, and for negative sizes.
absl::StatusOr<TensorShape> ShapeFromDims(const Tensor& dims);

// Writes the coordinates of the element at a flat position, one for each
// dimension.
void WriteCoordinates(const TensorShape& shape, int64_t position,
                      int64_t* coordinates);
// Returns the coordinates of the element at a flat position as text, for
// example
// "[1,0]"; "" for scalars.
std::string CoordinatesOf(const TensorShape& shape, int64_t position);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_COPY_H_
