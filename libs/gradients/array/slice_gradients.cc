// Gradients of the ops that read and write parts of tensors.
#include "libs/base/status.h"
#include "libs/gradients/array/array_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

// Pads the gradient with zeros to the size of the input.
absl::StatusOr<Gradients> SliceGrad(const Scope& scope, const Node& node,
                                    const Gradients& grad_outputs) {
  const Output input(node.input(0)), begin(node.input(1));
  const Output sizes = SizesOf(scope, input, begin.dtype());
  const Output sliced = SizesOf(scope, Output(&node, 0), begin.dtype());
  const Output after = ops::Sub(scope, ops::Sub(scope, sizes, sliced), begin);
  const Output paddings = ops::Stack(scope, {begin, after}, {.axis = 1});
  return Gradients{ops::Pad(scope, grad_outputs[0].dense, paddings), {}, {}};
}

ops::StridedSliceAttrs Masks(const Node& node) {
  return {.begin_mask = IntAttr(node, "begin_mask"),
          .end_mask = IntAttr(node, "end_mask"),
          .ellipsis_mask = IntAttr(node, "ellipsis_mask"),
          .new_axis_mask = IntAttr(node, "new_axis_mask"),
          .shrink_axis_mask = IntAttr(node, "shrink_axis_mask")};
}

// Indices as a type that Shape also returns: int16 becomes int32.
Output WideIndices(const Scope& scope, const Output& x) {
  return x.dtype() == DT_INT16 ? ops::Cast(scope, x, DT_INT32) : x;
}

absl::StatusOr<Gradients> StridedSliceGradient(const Scope& scope,
                                               const Node& node,
                                               const Gradients& grad_outputs) {
  const Output begin = WideIndices(scope, Output(node.input(1)));
  const Output end = WideIndices(scope, Output(node.input(2)));
  const Output strides = WideIndices(scope, Output(node.input(3)));
  const Output sizes = SizesOf(scope, Output(node.input(0)), begin.dtype());
  Gradients result(4);
  result[0] = ops::StridedSliceGrad(scope, sizes, begin, end, strides,
                                    grad_outputs[0].dense, Masks(node));
  return result;
}

absl::StatusOr<Gradients> StridedSliceGradGrad(const Scope& scope,
                                               const Node& node,
                                               const Gradients& grad_outputs) {
  Gradients result(5);
  result[4] = ops::StridedSlice(scope, grad_outputs[0].dense,
                                Output(node.input(1)), Output(node.input(2)),
                                Output(node.input(3)), Masks(node));
  return result;
}

absl::StatusOr<Gradients> GatherGrad(const Scope& scope, const Node& node,
                                     const Gradients& grad_outputs) {
  return Gradients{GatheredRows(scope, node, grad_outputs[0].dense,
                                SizesOf(scope, Output(node.input(0)))),
                   {}};
}

// The product of elements `begin` to `end` of `sizes`, as a vector of one.
Output ProductOf(const Scope& scope, const Output& sizes, const Input& begin,
                 const Input& end, int64_t end_mask = 0) {
  const Output part =
      ops::StridedSlice(scope, sizes, begin, end, Tensor::Vector<int32_t>({1}),
                        {.end_mask = end_mask});
  return ops::Prod(scope, part, 0, {.keep_dims = true});
}

// Params as [batch, outer, rows, inner]; see GatherAlongAxis.
struct GatherBox {
  Output batch, outer, rows, inner;  // vectors of one
};

GatherBox MakeBox(const Scope& scope, const Output& sizes, const Output& axis,
                  const Output& batch_dims) {
  const Output next = ops::Add(scope, axis, 1);
  return {ProductOf(scope, sizes, Tensor::Vector<int32_t>({0}), batch_dims),
          ProductOf(scope, sizes, batch_dims, axis),
          ProductOf(scope, sizes, axis, next),
          ProductOf(scope, sizes, next, Tensor::Vector<int32_t>({0}), 1)};
}

// For each index, flattened, its row among those of all batches.
Output RowsOfAllBatches(const Scope& scope, const Output& indices,
                        const GatherBox& box, const Output& count) {
  const Output batch = ops::Reshape(scope, box.batch, Tensor(DT_INT32, {0}));
  const Output first_rows = ops::Cast(
      scope, ops::Mul(scope, ops::Range(scope, 0, batch, 1), box.rows),
      DT_INT64);
  const Output by_batch =
      ops::Reshape(scope, ops::Cast(scope, indices, DT_INT64),
                   ops::Concat(scope, {box.batch, count}, 0));
  const Output rows =
      ops::Add(scope, by_batch, ops::ExpandDims(scope, first_rows, 1));
  return ops::Reshape(scope, rows, {-1});
}

// Sums the gradient, [batch, outer, count, inner], into the rows of all batches
// at once, as segments of [batch * count, outer, inner].
Output GatherAlongAxis(const Scope& scope, const Output& params,
                       const Output& indices, const Output& axis,
                       int64_t batch_dims, const Output& grad) {
  const Output sizes = SizesOf(scope, params);
  const Output batches = ops::Const(
      scope, Tensor::Vector<int32_t>({static_cast<int32_t>(batch_dims)}));
  const GatherBox box = MakeBox(scope, sizes, axis, batches);
  const Output count = ProductOf(scope, SizesOf(scope, indices), batches,
                                 Tensor::Vector<int32_t>({0}), 1);
  const Output as_box = ops::Reshape(
      scope, grad,
      ops::Concat(scope, {box.batch, box.outer, count, box.inner}, 0));
  const Output counted = ops::Mul(scope, box.batch, count);
  const Output flat =
      ops::Reshape(scope, ops::Transpose(scope, as_box, {0, 2, 1, 3}),
                   ops::Concat(scope, {counted, box.outer, box.inner}, 0));
  const Output segments = ops::Reshape(
      scope, ops::Mul(scope, box.batch, box.rows), Tensor(DT_INT32, {0}));
  const Output summed = ops::UnsortedSegmentSum(
      scope, flat, RowsOfAllBatches(scope, indices, box, count), segments);
  const Output unboxed = ops::Reshape(
      scope, summed,
      ops::Concat(scope, {box.batch, box.rows, box.outer, box.inner}, 0));
  return ops::Reshape(scope, ops::Transpose(scope, unboxed, {0, 2, 1, 3}),
                      sizes);
}

// The axis counted from the front, as a vector of one int32.
Output FrontAxis(const Scope& scope, const Output& params, const Output& axis) {
  const Output value = ops::Cast(scope, axis, DT_INT32);
  const Output front = ops::FloorMod(scope, value, ops::Rank(scope, params));
  return ops::Reshape(scope, front, {1});
}

absl::StatusOr<Gradients> GatherV2Grad(const Scope& scope, const Node& node,
                                       const Gradients& grad_outputs) {
  const Output params(node.input(0)), indices(node.input(1));
  const Output axis(node.input(2));
  const Output& grad = grad_outputs[0].dense;
  int64_t batch_dims = IntAttr(node, "batch_dims");
  const std::optional<Tensor> known =
      scope.graph().ConstantValue(axis.output_tensor());
  const bool first_axis =
      known && (known->dtype() == DT_INT32 ? known->flat<int32_t>()[0] == 0
                                           : known->flat<int64_t>()[0] == 0);
  if (first_axis && batch_dims == 0) {
    return Gradients{
        GatheredRows(scope, node, grad, SizesOf(scope, params)), {}, {}};
  }
  if (batch_dims < 0) {
    if (!indices.shape().has_rank()) {
      return absl::UnimplementedError(absl::StrCat(
          "the gradient of GatherV2 node '", node.name(),
          "' with negative batch_dims needs to know the rank of indices"));
    }
    batch_dims += indices.shape().rank();
  }
  return Gradients{
      GatherAlongAxis(scope, params, indices, FrontAxis(scope, params, axis),
                      batch_dims, grad),
      {},
      {}};
}

// The sizes of `x` in the type of `indices`.
Output SizesLike(const Scope& scope, const Output& x, const Output& indices) {
  if (indices.dtype() == DT_INT64) return SizesOf(scope, x, DT_INT64);
  const Output sizes = SizesOf(scope, x);
  return indices.dtype() == DT_INT32 ? sizes
                                     : ops::Cast(scope, sizes, indices.dtype());
}

absl::StatusOr<Gradients> GatherNdGrad(const Scope& scope, const Node& node,
                                       const Gradients& grad_outputs) {
  const Output params(node.input(0)), indices(node.input(1));
  return Gradients{ops::ScatterNd(scope, indices, grad_outputs[0].dense,
                                  SizesLike(scope, params, indices)),
                   {}};
}

absl::StatusOr<Gradients> ScatterNdGrad(const Scope& scope, const Node& node,
                                        const Gradients& grad_outputs) {
  return Gradients{
      {},
      ops::GatherNd(scope, grad_outputs[0].dense, Output(node.input(0))),
      {}};
}

absl::StatusOr<Gradients> TensorScatterUpdateGrad(
    const Scope& scope, const Node& node, const Gradients& grad_outputs) {
  const Output& grad = grad_outputs[0].dense;
  const Output indices(node.input(1)), updates(node.input(2));
  return Gradients{ops::TensorScatterUpdate(scope, grad, indices,
                                            ops::ZerosLike(scope, updates)),
                   {},
                   ops::GatherNd(scope, grad, indices)};
}

absl::StatusOr<Gradients> TensorScatterAddGrad(const Scope& scope,
                                               const Node& node,
                                               const Gradients& grad_outputs) {
  const Output& grad = grad_outputs[0].dense;
  return Gradients{grad, {}, ops::GatherNd(scope, grad, Output(node.input(1)))};
}

absl::StatusOr<Gradients> TensorScatterSubGrad(const Scope& scope,
                                               const Node& node,
                                               const Gradients& grad_outputs) {
  const Output& grad = grad_outputs[0].dense;
  const Output rows = ops::GatherNd(scope, grad, Output(node.input(1)));
  return Gradients{grad, {}, ops::Neg(scope, rows)};
}

// The elements equal to the extremum share the gradient equally.
absl::StatusOr<Gradients> TensorScatterExtremumGrad(
    const Scope& scope, const Node& node, const Gradients& grad_outputs) {
  const Output& grad = grad_outputs[0].dense;
  const Output x(node.input(0)), indices(node.input(1)), y(node.input(2));
  const Output result(&node, 0);
  const auto is_extremum = [&](const Output& a, const Output& b) {
    return ops::Cast(scope, ops::Equal(scope, a, b), grad.dtype());
  };
  const Output of_x = is_extremum(x, result);
  const Output of_y = is_extremum(y, ops::GatherNd(scope, result, indices));
  const Output parts = ops::Add(
      scope, of_x,
      ops::ScatterNd(scope, indices, of_y, SizesLike(scope, x, indices)));
  const Output share = ops::RealDiv(scope, grad, parts);
  return Gradients{ops::RealDiv(scope, ops::Mul(scope, grad, of_x), parts),
                   {},
                   ops::Mul(scope, ops::GatherNd(scope, share, indices), of_y)};
}

}  // namespace

void RegisterArraySliceGradients(GradientRegistry& registry) {
  registry.Register("Slice", SliceGrad);
  registry.Register("StridedSlice", StridedSliceGradient);
  registry.Register("StridedSliceGrad", StridedSliceGradGrad);
  registry.Register("Gather", GatherGrad);
  registry.Register("GatherV2", GatherV2Grad);
  registry.Register("GatherNd", GatherNdGrad);
  registry.Register("ScatterNd", ScatterNdGrad);
  registry.Register("TensorScatterUpdate", TensorScatterUpdateGrad);
  registry.Register("TensorScatterAdd", TensorScatterAddGrad);
  registry.Register("ScatterNdNonAliasingAdd", TensorScatterAddGrad);
  registry.Register("TensorScatterSub", TensorScatterSubGrad);
  registry.Register("TensorScatterMin", TensorScatterExtremumGrad);
  registry.Register("TensorScatterMax", TensorScatterExtremumGrad);
}

}  // namespace weft
