// What kernels of segments, for CPUs and for GPUs, find out from ids and
// indices in host memory. Errors are INVALID_ARGUMENT.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ARRAY_SEGMENT_IDS_H_
#define WEFT_LIBS_KERNELS_ARRAY_SEGMENT_IDS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/tensor.h"

namespace weft {

// [rows] + shape[begin:]
absl::StatusOr<TensorShape> ShapeOfRows(int64_t rows, const TensorShape& shape,
                                        int begin);

// Ids that never fall, none negative, and how many segments they make.
struct SortedSegments {
  Dims ids;
  int64_t count = 0;
};
absl::StatusOr<SortedSegments> ReadSortedSegments(const Tensor& ids);

// Of SparseSegmentSum and its like, and of their gradients.
absl::Status CheckSparseShapes(const Tensor& data, const Tensor& indices,
                               const Tensor& ids);
// The indices, each of a row of `rows`.
absl::StatusOr<Dims> ReadChosenRows(const Tensor& indices, int64_t rows);
absl::Status CheckInRange(const Dims& values, int64_t size,
                          absl::string_view what);

// The different ones among the indices, in order, of which the indices become
// the numbers.
Dims NumberUsedRows(Dims& indices);

// Whether a shape's first dimensions are all of `prefix`.
bool StartsWith(const TensorShape& shape, const TensorShape& prefix);

// The rows of what DynamicStitch makes of inputs [0, count), the indices, and
// the `count` that follow, the data; checks all of them.
absl::StatusOr<int64_t> CountStitchedRows(const OpKernelContext& context,
                                          int count);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_SEGMENT_IDS_H_
