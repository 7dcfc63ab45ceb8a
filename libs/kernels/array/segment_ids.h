// What kernels of segments, for CPUs and for GPUs, find out from ids and
// indices in host memory. Errors are INVALID_ARGUMENT.
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

// Ids that never fall, none negative, and how many segments they make.
struct SortedSegments {
  Dims ids;
  int64_t count = 0;
};
absl::StatusOr<SortedSegments> ReadSortedSegments(const Tensor& ids);

// The inputs of SegmentSum and its like, checked: row i goes into segment
// ids[i]. The output has no values yet.
struct Segments {
  Dims ids;
  Tensor* output = nullptr;
};
absl::StatusOr<Segments> PrepareSegments(OpKernelContext& context);

// The inputs of SparseSegmentSum and its like, checked: row indices[i] goes
// into segment ids[i]. The output has no values yet.
struct SparseSegments {
  Dims indices, ids;
  Tensor* output = nullptr;
};
// With a fourth input that many segments, and the ids must be below.
absl::StatusOr<SparseSegments> PrepareSparseSegments(OpKernelContext& context);

// The same of their gradients: row ids[i] of the gradient goes into row
// indices[i] of the output. That of the second versions has only the rows that
// are used, whose numbers `indices` are then, and their other output says which
// these are.
absl::StatusOr<SparseSegments> PrepareSparseSegmentGradient(
    OpKernelContext& context);

// Of UnsortedSegmentSum and its like, whose inputs 0 and 1 fit, and whose input
// 2, in host memory, says how many segments there are.
struct UnsortedSegments {
  int64_t count = 0;
  TensorShape shape;  // of the output
};
absl::StatusOr<UnsortedSegments> FindUnsortedSegments(
    const OpKernelContext& context);

// The outputs of DynamicPartition, which have no values yet, and how many rows
// each gets of partitions that are checked.
struct Partitions {
  std::vector<int64_t> counts;
  std::vector<Tensor*> outputs;
};
absl::StatusOr<Partitions> PreparePartitions(OpKernelContext& context);

// Of the inputs of UnsortedSegmentSum and its like: that the data have a row
// for each id, and what is said of an id that is none of `segments`.
absl::Status CheckSegmentPrefix(const TensorShape& data,
                                const TensorShape& ids);
absl::Status SegmentOutOfRange(const TensorShape& ids, int64_t position,
                               int64_t id, int64_t segments);

// Whether a shape's first dimensions are all of `prefix`.
bool StartsWith(const TensorShape& shape, const TensorShape& prefix);

// The rows of what DynamicStitch makes of inputs [0, count), the indices, and
// the `count` that follow, the data; checks all of them.
absl::StatusOr<int64_t> CountStitchedRows(const OpKernelContext& context,
                                          int count);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_SEGMENT_IDS_H_
