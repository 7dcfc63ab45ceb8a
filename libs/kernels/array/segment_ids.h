// Checks ids and indices in host memory for segment kernels on CPUs and GPUs.
// Errors are INVALID_ARGUMENT.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_ARRAY_SEGMENT_IDS_H_
#define WEFT_LIBS_KERNELS_ARRAY_SEGMENT_IDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/tensor.h"

namespace weft {

// [rows] + shape[begin:]
absl::StatusOr<TensorShape> ShapeOfRows(int64_t rows, const TensorShape& shape,
                                        int begin);

// Sorted, non-negative ids, and the number of segments.
struct SortedSegments {
  Dims ids;
  int64_t count = 0;
};
absl::StatusOr<SortedSegments> ReadSortedSegments(const Tensor& ids);

// The checked inputs of SegmentSum and related ops: row i goes into segment
// ids[i]. The output has no values yet.
struct Segments {
  Dims ids;
  Tensor* output = nullptr;
};
absl::StatusOr<Segments> PrepareSegments(OpKernelContext& context);

// The checked inputs of SparseSegmentSum and related ops: row indices[i] goes
// into segment ids[i]. The output has no values yet.
struct SparseSegments {
  Dims indices, ids;
  Tensor* output = nullptr;
};
// With a fourth input, that is the number of segments, and ids must be below
// it.
absl::StatusOr<SparseSegments> PrepareSparseSegments(OpKernelContext& context);

// Like PrepareSparseSegments for their gradients: row ids[i] of the gradient
// goes into row indices[i] of the output. In the second version of the ops, the
// output has only the used rows, which `indices` then number, and a second
// output lists these rows.
absl::StatusOr<SparseSegments> PrepareSparseSegmentGradient(
    OpKernelContext& context);

// The inputs of UnsortedSegmentSum and related ops. Inputs 0 and 1 are checked;
// input 2, in host memory, is the number of segments.
struct UnsortedSegments {
  int64_t count = 0;
  TensorShape shape;  // of the output
};
absl::StatusOr<UnsortedSegments> FindUnsortedSegments(
    const OpKernelContext& context);

// The outputs of DynamicPartition, which have no values yet, and their numbers
// of rows, for checked partitions.
struct Partitions {
  std::vector<int64_t> counts;
  std::vector<Tensor*> outputs;
};
absl::StatusOr<Partitions> PreparePartitions(OpKernelContext& context);

// Checks, for UnsortedSegmentSum and related ops, that the data have a row for
// each id. SegmentOutOfRange returns the error for an id that is not below
// `segments`.
absl::Status CheckSegmentPrefix(const TensorShape& data,
                                const TensorShape& ids);
absl::Status SegmentOutOfRange(const TensorShape& ids, int64_t position,
                               int64_t id, int64_t segments);

// Returns whether the first dimensions of a shape equal `prefix`.
bool StartsWith(const TensorShape& shape, const TensorShape& prefix);

// The number of rows of DynamicStitch for inputs [0, count), the indices, and
// the following `count`, the data; checks all of them.
absl::StatusOr<int64_t> CountStitchedRows(const OpKernelContext& context,
                                          int count);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_SEGMENT_IDS_H_
