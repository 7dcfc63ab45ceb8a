// Builders of the array family: functions that add one node each, named as in
// TensorFlow's C++ API (tensorflow::ops). Optional attributes are a struct:
//
//   Output x = ops::Placeholder(root, DT_FLOAT, {.shape = {-1, 784}});
//   Output y = ops::Reshape(root, x, {-1, 28, 28});
//   std::vector<Output> halves = ops::Split(root, 0, y, 2);
//
// Errors stick to the scope (see libs/ops/scope.h). Outputs are then null, and
// lists of outputs have their full length. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_ARRAY_ARRAY_OPS_H_
#define WEFT_LIBS_OPS_ARRAY_ARRAY_OPS_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/ops/scope.h"

namespace weft::ops {

// ---- Constants, placeholders ----

// Returns a Const for a value. Returns an output unchanged.
Output Const(const Scope& scope, const Input& value);
// Returns a Const with the values in `shape`, which must have the same number
// of elements.
template <typename T>
Output Const(const Scope& scope, std::initializer_list<T> values,
             const TensorShape& shape) {
  if (static_cast<int64_t>(values.size()) != shape.num_elements()) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("Const: ", values.size(), " values do not fill shape ",
                     shape.ToString())));
    return Output();
  }
  return Const(scope, Input(Tensor::FromValues(shape, values)));
}

struct PlaceholderAttrs {
  PartialShape shape;  // unknown rank
};
Output Placeholder(const Scope& scope, DataType dtype,
                   const PlaceholderAttrs& attrs = {});
Output PlaceholderWithDefault(const Scope& scope, const Input& input,
                              const PartialShape& shape);

// ---- Identity ops ----

Output Identity(const Scope& scope, const Input& input);
std::vector<Output> IdentityN(const Scope& scope, const InputList& input);
Output Snapshot(const Scope& scope, const Input& input);
Output StopGradient(const Scope& scope, const Input& input);

struct PreventGradientAttrs {
  std::string message;
};
Output PreventGradient(const Scope& scope, const Input& input,
                       const PreventGradientAttrs& attrs = {});
Output EnsureShape(const Scope& scope, const Input& input,
                   const PartialShape& shape);
Output CheckNumerics(const Scope& scope, const Input& tensor,
                     absl::string_view message);

// ---- Shapes ----

struct ShapeAttrs {
  DataType out_type = DT_INT32;
};
Output Shape(const Scope& scope, const Input& input,
             const ShapeAttrs& attrs = {});
std::vector<Output> ShapeN(const Scope& scope, const InputList& input,
                           const ShapeAttrs& attrs = {});
Output Size(const Scope& scope, const Input& input,
            const ShapeAttrs& attrs = {});
Output Rank(const Scope& scope, const Input& input);
Output Reshape(const Scope& scope, const Input& tensor, const Input& shape);
Output ExpandDims(const Scope& scope, const Input& input, const Input& axis);

struct SqueezeAttrs {
  std::vector<int64_t> axis;  // empty: every dimension of size 1
};
Output Squeeze(const Scope& scope, const Input& input,
               const SqueezeAttrs& attrs = {});
Output BroadcastTo(const Scope& scope, const Input& input, const Input& shape);

// ---- Filling ----

Output Fill(const Scope& scope, const Input& dims, const Input& value);
Output ZerosLike(const Scope& scope, const Input& x);
Output OnesLike(const Scope& scope, const Input& x);

struct OneHotAttrs {
  int64_t axis = -1;
};
Output OneHot(const Scope& scope, const Input& indices, const Input& depth,
              const Input& on_value, const Input& off_value,
              const OneHotAttrs& attrs = {});

// ---- Concatenation and splitting ----

// Adds a ConcatV2: joins values along `axis`.
Output Concat(const Scope& scope, const InputList& values, const Input& axis);
std::vector<Output> ConcatOffset(const Scope& scope, const Input& concat_dim,
                                 const InputList& shape);
std::vector<Output> Split(const Scope& scope, const Input& axis,
                          const Input& value, int64_t num_split);
std::vector<Output> SplitV(const Scope& scope, const Input& value,
                           const Input& size_splits, const Input& axis,
                           int64_t num_split);

struct StackAttrs {
  int64_t axis = 0;
};
// Adds a Pack: joins values along a new dimension.
Output Stack(const Scope& scope, const InputList& values,
             const StackAttrs& attrs = {});
// Adds an Unpack: the inverse of Stack.
std::vector<Output> Unstack(const Scope& scope, const Input& value, int64_t num,
                            const StackAttrs& attrs = {});
Output Tile(const Scope& scope, const Input& input, const Input& multiples);
Output Pad(const Scope& scope, const Input& input, const Input& paddings);
Output PadV2(const Scope& scope, const Input& input, const Input& paddings,
             const Input& constant_values);
// `mode` is "REFLECT" or "SYMMETRIC".
Output MirrorPad(const Scope& scope, const Input& input, const Input& paddings,
                 absl::string_view mode);
Output MirrorPadGrad(const Scope& scope, const Input& input,
                     const Input& paddings, absl::string_view mode);

// ---- Slices ----

Output Slice(const Scope& scope, const Input& input, const Input& begin,
             const Input& size);

// Bit i refers to dimension i of the specification.
struct StridedSliceAttrs {
  int64_t begin_mask = 0;
  int64_t end_mask = 0;
  int64_t ellipsis_mask = 0;
  int64_t new_axis_mask = 0;
  int64_t shrink_axis_mask = 0;
};
Output StridedSlice(const Scope& scope, const Input& input, const Input& begin,
                    const Input& end, const Input& strides,
                    const StridedSliceAttrs& attrs = {});
Output StridedSliceGrad(const Scope& scope, const Input& shape,
                        const Input& begin, const Input& end,
                        const Input& strides, const Input& dy,
                        const StridedSliceAttrs& attrs = {});

Output Gather(const Scope& scope, const Input& params, const Input& indices);
struct GatherV2Attrs {
  int64_t batch_dims = 0;
};
Output GatherV2(const Scope& scope, const Input& params, const Input& indices,
                const Input& axis, const GatherV2Attrs& attrs = {});
Output GatherNd(const Scope& scope, const Input& params, const Input& indices);
Output ScatterNd(const Scope& scope, const Input& indices, const Input& updates,
                 const Input& shape);
Output TensorScatterUpdate(const Scope& scope, const Input& tensor,
                           const Input& indices, const Input& updates);

// ---- Order ----

Output Transpose(const Scope& scope, const Input& x, const Input& perm);
Output InvertPermutation(const Scope& scope, const Input& x);
// Adds a ReverseV2: reverses the order along the dimensions `axis`.
Output Reverse(const Scope& scope, const Input& tensor, const Input& axis);

// Moves elements by `shift` positions along `axis`, each a scalar or a vector;
// elements shifted out at one end reappear at the other.
Output Roll(const Scope& scope, const Input& input, const Input& shift,
            const Input& axis);

struct ReverseSequenceAttrs {
  int64_t batch_dim = 0;
};
Output ReverseSequence(const Scope& scope, const Input& input,
                       const Input& seq_lengths, int64_t seq_dim,
                       const ReverseSequenceAttrs& attrs = {});

// ---- Partitions, sets ----

std::vector<Output> DynamicPartition(const Scope& scope, const Input& data,
                                     const Input& partitions,
                                     int64_t num_partitions);
Output DynamicStitch(const Scope& scope, const InputList& indices,
                     const InputList& data);
Output ParallelDynamicStitch(const Scope& scope, const InputList& indices,
                             const InputList& data);
Output Where(const Scope& scope, const Input& condition);

struct UniqueAttrs {
  DataType out_idx = DT_INT32;
};
struct UniqueOutputs {
  Output y;
  Output idx;
};
UniqueOutputs Unique(const Scope& scope, const Input& x,
                     const UniqueAttrs& attrs = {});
struct UniqueWithCountsOutputs {
  Output y;
  Output idx;
  Output count;
};
UniqueWithCountsOutputs UniqueWithCounts(const Scope& scope, const Input& x,
                                         const UniqueAttrs& attrs = {});
struct SetDiff1DOutputs {
  Output out;
  Output idx;
};
// Adds a ListDiff: the elements of `x` that are not in `y`.
SetDiff1DOutputs SetDiff1D(const Scope& scope, const Input& x, const Input& y,
                           const UniqueAttrs& attrs = {});

// ---- Diagonals ----

Output Diag(const Scope& scope, const Input& diagonal);
Output DiagPart(const Scope& scope, const Input& input);
Output MatrixDiag(const Scope& scope, const Input& diagonal);
Output MatrixDiagPart(const Scope& scope, const Input& input);
// Returns matrices that have a band of diagonals. `k` is one diagonal, or the
// lowest and the highest. `align` selects the side on which shorter diagonals
// above and below the main diagonal are padded.
Output MatrixDiagV3(const Scope& scope, const Input& diagonal, const Input& k,
                    const Input& num_rows, const Input& num_cols,
                    const Input& padding_value,
                    const std::string& align = "RIGHT_LEFT");
Output MatrixDiagPartV3(const Scope& scope, const Input& input, const Input& k,
                        const Input& padding_value,
                        const std::string& align = "RIGHT_LEFT");

// Sets the main diagonals, in the format of MatrixDiagPart.
Output MatrixSetDiag(const Scope& scope, const Input& input,
                     const Input& diagonal);
// Sets a band of diagonals, in the format of MatrixDiagPartV3.
Output MatrixSetDiagV3(const Scope& scope, const Input& input,
                       const Input& diagonal, const Input& k,
                       const std::string& align = "RIGHT_LEFT");
Output MatrixBandPart(const Scope& scope, const Input& input,
                      const Input& num_lower, const Input& num_upper);

// ---- Segments ----

Output SegmentSum(const Scope& scope, const Input& data,
                  const Input& segment_ids);
Output SegmentMean(const Scope& scope, const Input& data,
                   const Input& segment_ids);
Output SegmentMax(const Scope& scope, const Input& data,
                  const Input& segment_ids);
Output SegmentMin(const Scope& scope, const Input& data,
                  const Input& segment_ids);
Output SegmentProd(const Scope& scope, const Input& data,
                   const Input& segment_ids);
Output UnsortedSegmentSum(const Scope& scope, const Input& data,
                          const Input& segment_ids, const Input& num_segments);
Output UnsortedSegmentMax(const Scope& scope, const Input& data,
                          const Input& segment_ids, const Input& num_segments);
Output UnsortedSegmentMin(const Scope& scope, const Input& data,
                          const Input& segment_ids, const Input& num_segments);
Output UnsortedSegmentProd(const Scope& scope, const Input& data,
                           const Input& segment_ids, const Input& num_segments);
Output SparseSegmentSum(const Scope& scope, const Input& data,
                        const Input& indices, const Input& segment_ids);
Output SparseSegmentMean(const Scope& scope, const Input& data,
                         const Input& indices, const Input& segment_ids);
Output SparseSegmentSqrtN(const Scope& scope, const Input& data,
                          const Input& indices, const Input& segment_ids);
// The gradients of the three ops above. output_dim0 is the number of rows of
// `data`.
Output SparseSegmentSumGrad(const Scope& scope, const Input& grad,
                            const Input& indices, const Input& segment_ids,
                            const Input& output_dim0);
Output SparseSegmentMeanGrad(const Scope& scope, const Input& grad,
                             const Input& indices, const Input& segment_ids,
                             const Input& output_dim0);
// The nonzero rows of a gradient, and their indices.
struct SparseSegmentGradV2Outputs {
  Output output;
  Output sorted_unique_indices;
};
SparseSegmentGradV2Outputs SparseSegmentSumGradV2(
    const Scope& scope, const Input& grad, const Input& indices,
    const Input& segment_ids, const Input& dense_output_dim0);
SparseSegmentGradV2Outputs SparseSegmentMeanGradV2(
    const Scope& scope, const Input& grad, const Input& indices,
    const Input& segment_ids, const Input& dense_output_dim0);
Output SparseSegmentSqrtNGrad(const Scope& scope, const Input& grad,
                              const Input& indices, const Input& segment_ids,
                              const Input& output_dim0);

// Reinterprets the same memory. For a type twice as large, two elements of the
// last dimension, which must be 2, become one, and the dimension is removed.
// For a type half as large, a dimension of 2 is added.
Output Bitcast(const Scope& scope, const Input& input, DataType type);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_ARRAY_ARRAY_OPS_H_
