#include "libs/ops/array/array_ops.h"

namespace weft::ops {
namespace {

// All outputs of a node, or `count` null ones after an error, so that callers
// may index them.
std::vector<Output> Outputs(const Node* node, int64_t count) {
  std::vector<Output> outputs;
  for (int64_t i = 0; i < count; ++i) {
    outputs.push_back(node == nullptr ? Output()
                                      : Output(node, static_cast<int>(i)));
  }
  return outputs;
}

InputList Join(InputList list, const InputList& more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

AttrMap Masks(const StridedSliceAttrs& attrs) {
  return {{"begin_mask", attrs.begin_mask},
          {"end_mask", attrs.end_mask},
          {"ellipsis_mask", attrs.ellipsis_mask},
          {"new_axis_mask", attrs.new_axis_mask},
          {"shrink_axis_mask", attrs.shrink_axis_mask}};
}

int64_t Count(const InputList& list) {
  return static_cast<int64_t>(list.size());
}

}  // namespace

Output Const(const Scope& scope, const Input& value) {
  if (!value.value().has_value()) return value.output();
  const Tensor& tensor = *value.value();
  return scope.AddOutput("Const", {},
                         {{"dtype", tensor.dtype()}, {"value", tensor}});
}

Output Placeholder(const Scope& scope, DataType dtype,
                   const PlaceholderAttrs& attrs) {
  return scope.AddOutput("Placeholder", {},
                         {{"dtype", dtype}, {"shape", attrs.shape}});
}

Output PlaceholderWithDefault(const Scope& scope, const Input& input,
                              const PartialShape& shape) {
  return scope.AddOutput("PlaceholderWithDefault", {input}, {{"shape", shape}});
}

Output Identity(const Scope& scope, const Input& input) {
  return scope.AddOutput("Identity", {input});
}

std::vector<Output> IdentityN(const Scope& scope, const InputList& input) {
  return Outputs(scope.AddNode("IdentityN", input), Count(input));
}

Output Snapshot(const Scope& scope, const Input& input) {
  return scope.AddOutput("Snapshot", {input});
}

Output StopGradient(const Scope& scope, const Input& input) {
  return scope.AddOutput("StopGradient", {input});
}

Output PreventGradient(const Scope& scope, const Input& input,
                       const PreventGradientAttrs& attrs) {
  return scope.AddOutput("PreventGradient", {input},
                         {{"message", attrs.message}});
}

Output EnsureShape(const Scope& scope, const Input& input,
                   const PartialShape& shape) {
  return scope.AddOutput("EnsureShape", {input}, {{"shape", shape}});
}

Output CheckNumerics(const Scope& scope, const Input& tensor,
                     absl::string_view message) {
  return scope.AddOutput("CheckNumerics", {tensor}, {{"message", message}});
}

Output Shape(const Scope& scope, const Input& input, const ShapeAttrs& attrs) {
  return scope.AddOutput("Shape", {input}, {{"out_type", attrs.out_type}});
}

std::vector<Output> ShapeN(const Scope& scope, const InputList& input,
                           const ShapeAttrs& attrs) {
  return Outputs(scope.AddNode("ShapeN", input, {{"out_type", attrs.out_type}}),
                 Count(input));
}

Output Size(const Scope& scope, const Input& input, const ShapeAttrs& attrs) {
  return scope.AddOutput("Size", {input}, {{"out_type", attrs.out_type}});
}

Output Rank(const Scope& scope, const Input& input) {
  return scope.AddOutput("Rank", {input});
}

Output Reshape(const Scope& scope, const Input& tensor, const Input& shape) {
  return scope.AddOutput("Reshape", {tensor, shape});
}

Output ExpandDims(const Scope& scope, const Input& input, const Input& axis) {
  return scope.AddOutput("ExpandDims", {input, axis});
}

Output Squeeze(const Scope& scope, const Input& input,
               const SqueezeAttrs& attrs) {
  return scope.AddOutput("Squeeze", {input}, {{"squeeze_dims", attrs.axis}});
}

Output BroadcastTo(const Scope& scope, const Input& input, const Input& shape) {
  return scope.AddOutput("BroadcastTo", {input, shape});
}

Output Fill(const Scope& scope, const Input& dims, const Input& value) {
  return scope.AddOutput("Fill", {dims, value});
}

Output ZerosLike(const Scope& scope, const Input& x) {
  return scope.AddOutput("ZerosLike", {x});
}

Output OnesLike(const Scope& scope, const Input& x) {
  return scope.AddOutput("OnesLike", {x});
}

Output OneHot(const Scope& scope, const Input& indices, const Input& depth,
              const Input& on_value, const Input& off_value,
              const OneHotAttrs& attrs) {
  return scope.AddOutput("OneHot", {indices, depth, on_value, off_value},
                         {{"axis", attrs.axis}});
}

Output Concat(const Scope& scope, const InputList& values, const Input& axis) {
  return scope.AddOutput("ConcatV2", Join(values, {axis}),
                         {{"N", Count(values)}});
}

std::vector<Output> ConcatOffset(const Scope& scope, const Input& concat_dim,
                                 const InputList& shape) {
  return Outputs(scope.AddNode("ConcatOffset", Join({concat_dim}, shape),
                               {{"N", Count(shape)}}),
                 Count(shape));
}

std::vector<Output> Split(const Scope& scope, const Input& axis,
                          const Input& value, int64_t num_split) {
  return Outputs(
      scope.AddNode("Split", {axis, value}, {{"num_split", num_split}}),
      num_split);
}

std::vector<Output> SplitV(const Scope& scope, const Input& value,
                           const Input& size_splits, const Input& axis,
                           int64_t num_split) {
  return Outputs(scope.AddNode("SplitV", {value, size_splits, axis},
                               {{"num_split", num_split}}),
                 num_split);
}

Output Stack(const Scope& scope, const InputList& values,
             const StackAttrs& attrs) {
  return scope.AddOutput("Pack", values,
                         {{"N", Count(values)}, {"axis", attrs.axis}});
}

std::vector<Output> Unstack(const Scope& scope, const Input& value, int64_t num,
                            const StackAttrs& attrs) {
  return Outputs(
      scope.AddNode("Unpack", {value}, {{"num", num}, {"axis", attrs.axis}}),
      num);
}

Output Tile(const Scope& scope, const Input& input, const Input& multiples) {
  return scope.AddOutput("Tile", {input, multiples});
}

Output Pad(const Scope& scope, const Input& input, const Input& paddings) {
  return scope.AddOutput("Pad", {input, paddings});
}

Output PadV2(const Scope& scope, const Input& input, const Input& paddings,
             const Input& constant_values) {
  return scope.AddOutput("PadV2", {input, paddings, constant_values});
}

Output MirrorPad(const Scope& scope, const Input& input, const Input& paddings,
                 absl::string_view mode) {
  return scope.AddOutput("MirrorPad", {input, paddings}, {{"mode", mode}});
}

Output MirrorPadGrad(const Scope& scope, const Input& input,
                     const Input& paddings, absl::string_view mode) {
  return scope.AddOutput("MirrorPadGrad", {input, paddings}, {{"mode", mode}});
}

Output Slice(const Scope& scope, const Input& input, const Input& begin,
             const Input& size) {
  return scope.AddOutput("Slice", {input, begin, size});
}

Output StridedSlice(const Scope& scope, const Input& input, const Input& begin,
                    const Input& end, const Input& strides,
                    const StridedSliceAttrs& attrs) {
  return scope.AddOutput("StridedSlice", {input, begin, end, strides},
                         Masks(attrs));
}

Output StridedSliceGrad(const Scope& scope, const Input& shape,
                        const Input& begin, const Input& end,
                        const Input& strides, const Input& dy,
                        const StridedSliceAttrs& attrs) {
  return scope.AddOutput("StridedSliceGrad", {shape, begin, end, strides, dy},
                         Masks(attrs));
}

Output Gather(const Scope& scope, const Input& params, const Input& indices) {
  return scope.AddOutput("Gather", {params, indices});
}

Output GatherV2(const Scope& scope, const Input& params, const Input& indices,
                const Input& axis, const GatherV2Attrs& attrs) {
  return scope.AddOutput("GatherV2", {params, indices, axis},
                         {{"batch_dims", attrs.batch_dims}});
}

Output GatherNd(const Scope& scope, const Input& params, const Input& indices) {
  return scope.AddOutput("GatherNd", {params, indices});
}

Output ScatterNd(const Scope& scope, const Input& indices, const Input& updates,
                 const Input& shape) {
  return scope.AddOutput("ScatterNd", {indices, updates, shape});
}

Output TensorScatterUpdate(const Scope& scope, const Input& tensor,
                           const Input& indices, const Input& updates) {
  return scope.AddOutput("TensorScatterUpdate", {tensor, indices, updates});
}

Output Transpose(const Scope& scope, const Input& x, const Input& perm) {
  return scope.AddOutput("Transpose", {x, perm});
}

Output InvertPermutation(const Scope& scope, const Input& x) {
  return scope.AddOutput("InvertPermutation", {x});
}

Output Reverse(const Scope& scope, const Input& tensor, const Input& axis) {
  return scope.AddOutput("ReverseV2", {tensor, axis});
}

Output Roll(const Scope& scope, const Input& input, const Input& shift,
            const Input& axis) {
  return scope.AddOutput("Roll", {input, shift, axis});
}

Output ReverseSequence(const Scope& scope, const Input& input,
                       const Input& seq_lengths, int64_t seq_dim,
                       const ReverseSequenceAttrs& attrs) {
  return scope.AddOutput(
      "ReverseSequence", {input, seq_lengths},
      {{"seq_dim", seq_dim}, {"batch_dim", attrs.batch_dim}});
}

std::vector<Output> DynamicPartition(const Scope& scope, const Input& data,
                                     const Input& partitions,
                                     int64_t num_partitions) {
  return Outputs(scope.AddNode("DynamicPartition", {data, partitions},
                               {{"num_partitions", num_partitions}}),
                 num_partitions);
}

Output DynamicStitch(const Scope& scope, const InputList& indices,
                     const InputList& data) {
  return scope.AddOutput("DynamicStitch", Join(indices, data),
                         {{"N", Count(indices)}});
}

Output ParallelDynamicStitch(const Scope& scope, const InputList& indices,
                             const InputList& data) {
  return scope.AddOutput("ParallelDynamicStitch", Join(indices, data),
                         {{"N", Count(indices)}});
}

Output Where(const Scope& scope, const Input& condition) {
  return scope.AddOutput("Where", {condition});
}

UniqueOutputs Unique(const Scope& scope, const Input& x,
                     const UniqueAttrs& attrs) {
  const Node* node = scope.AddNode("Unique", {x}, {{"out_idx", attrs.out_idx}});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

UniqueWithCountsOutputs UniqueWithCounts(const Scope& scope, const Input& x,
                                         const UniqueAttrs& attrs) {
  const Node* node =
      scope.AddNode("UniqueWithCounts", {x}, {{"out_idx", attrs.out_idx}});
  return {OutputOf(node, 0), OutputOf(node, 1), OutputOf(node, 2)};
}

SetDiff1DOutputs SetDiff1D(const Scope& scope, const Input& x, const Input& y,
                           const UniqueAttrs& attrs) {
  const Node* node =
      scope.AddNode("ListDiff", {x, y}, {{"out_idx", attrs.out_idx}});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

Output Diag(const Scope& scope, const Input& diagonal) {
  return scope.AddOutput("Diag", {diagonal});
}

Output DiagPart(const Scope& scope, const Input& input) {
  return scope.AddOutput("DiagPart", {input});
}

Output MatrixDiag(const Scope& scope, const Input& diagonal) {
  return scope.AddOutput("MatrixDiag", {diagonal});
}

Output MatrixDiagPart(const Scope& scope, const Input& input) {
  return scope.AddOutput("MatrixDiagPart", {input});
}

Output MatrixDiagV3(const Scope& scope, const Input& diagonal, const Input& k,
                    const Input& num_rows, const Input& num_cols,
                    const Input& padding_value, const std::string& align) {
  return scope.AddOutput("MatrixDiagV3",
                         {diagonal, k, num_rows, num_cols, padding_value},
                         {{"align", align}});
}

Output MatrixDiagPartV3(const Scope& scope, const Input& input, const Input& k,
                        const Input& padding_value, const std::string& align) {
  return scope.AddOutput("MatrixDiagPartV3", {input, k, padding_value},
                         {{"align", align}});
}

Output MatrixBandPart(const Scope& scope, const Input& input,
                      const Input& num_lower, const Input& num_upper) {
  return scope.AddOutput("MatrixBandPart", {input, num_lower, num_upper});
}

Output SegmentSum(const Scope& scope, const Input& data,
                  const Input& segment_ids) {
  return scope.AddOutput("SegmentSum", {data, segment_ids});
}

Output SegmentMean(const Scope& scope, const Input& data,
                   const Input& segment_ids) {
  return scope.AddOutput("SegmentMean", {data, segment_ids});
}

Output SegmentMax(const Scope& scope, const Input& data,
                  const Input& segment_ids) {
  return scope.AddOutput("SegmentMax", {data, segment_ids});
}

Output SegmentMin(const Scope& scope, const Input& data,
                  const Input& segment_ids) {
  return scope.AddOutput("SegmentMin", {data, segment_ids});
}

Output SegmentProd(const Scope& scope, const Input& data,
                   const Input& segment_ids) {
  return scope.AddOutput("SegmentProd", {data, segment_ids});
}

Output UnsortedSegmentSum(const Scope& scope, const Input& data,
                          const Input& segment_ids, const Input& num_segments) {
  return scope.AddOutput("UnsortedSegmentSum",
                         {data, segment_ids, num_segments});
}

Output UnsortedSegmentMax(const Scope& scope, const Input& data,
                          const Input& segment_ids, const Input& num_segments) {
  return scope.AddOutput("UnsortedSegmentMax",
                         {data, segment_ids, num_segments});
}

Output UnsortedSegmentMin(const Scope& scope, const Input& data,
                          const Input& segment_ids, const Input& num_segments) {
  return scope.AddOutput("UnsortedSegmentMin",
                         {data, segment_ids, num_segments});
}

Output UnsortedSegmentProd(const Scope& scope, const Input& data,
                           const Input& segment_ids,
                           const Input& num_segments) {
  return scope.AddOutput("UnsortedSegmentProd",
                         {data, segment_ids, num_segments});
}

Output SparseSegmentSum(const Scope& scope, const Input& data,
                        const Input& indices, const Input& segment_ids) {
  return scope.AddOutput("SparseSegmentSum", {data, indices, segment_ids});
}

Output SparseSegmentMean(const Scope& scope, const Input& data,
                         const Input& indices, const Input& segment_ids) {
  return scope.AddOutput("SparseSegmentMean", {data, indices, segment_ids});
}

Output SparseSegmentSqrtN(const Scope& scope, const Input& data,
                          const Input& indices, const Input& segment_ids) {
  return scope.AddOutput("SparseSegmentSqrtN", {data, indices, segment_ids});
}

Output SparseSegmentSumGrad(const Scope& scope, const Input& grad,
                            const Input& indices, const Input& segment_ids,
                            const Input& output_dim0) {
  return scope.AddOutput("SparseSegmentSumGrad",
                         {grad, indices, segment_ids, output_dim0});
}

Output SparseSegmentMeanGrad(const Scope& scope, const Input& grad,
                             const Input& indices, const Input& segment_ids,
                             const Input& output_dim0) {
  return scope.AddOutput("SparseSegmentMeanGrad",
                         {grad, indices, segment_ids, output_dim0});
}

SparseSegmentGradV2Outputs SparseSegmentSumGradV2(
    const Scope& scope, const Input& grad, const Input& indices,
    const Input& segment_ids, const Input& dense_output_dim0) {
  const Node* node =
      scope.AddNode("SparseSegmentSumGradV2",
                    {grad, indices, segment_ids, dense_output_dim0});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

SparseSegmentGradV2Outputs SparseSegmentMeanGradV2(
    const Scope& scope, const Input& grad, const Input& indices,
    const Input& segment_ids, const Input& dense_output_dim0) {
  const Node* node =
      scope.AddNode("SparseSegmentMeanGradV2",
                    {grad, indices, segment_ids, dense_output_dim0});
  return {OutputOf(node, 0), OutputOf(node, 1)};
}

Output SparseSegmentSqrtNGrad(const Scope& scope, const Input& grad,
                              const Input& indices, const Input& segment_ids,
                              const Input& output_dim0) {
  return scope.AddOutput("SparseSegmentSqrtNGrad",
                         {grad, indices, segment_ids, output_dim0});
}

Output MatrixSetDiag(const Scope& scope, const Input& input,
                     const Input& diagonal) {
  return scope.AddOutput("MatrixSetDiag", {input, diagonal});
}

Output MatrixSetDiagV3(const Scope& scope, const Input& input,
                       const Input& diagonal, const Input& k,
                       const std::string& align) {
  return scope.AddOutput("MatrixSetDiagV3", {input, diagonal, k},
                         {{"align", align}});
}

Output Bitcast(const Scope& scope, const Input& input, DataType type) {
  return scope.AddOutput("Bitcast", {input}, {{"type", type}});
}

}  // namespace weft::ops
