#include "libs/gradients/array/array_gradients.h"

#include <limits>

#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/variable.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

absl::StatusOr<Gradients> PassOn(const Scope&, const Node&,
                                 const Gradients& grad_outputs) {
  return grad_outputs;
}

absl::StatusOr<Gradients> PreventGradientGrad(const Scope&, const Node& node,
                                              const Gradients&) {
  const std::string* message = node.attr<std::string>("message");
  return absl::NotFoundError(
      absl::StrCat("Gradient explicitly disabled at node '", node.name(),
                   "'. Reason: ", message == nullptr ? "" : *message));
}

absl::StatusOr<Gradients> CheckNumericsGrad(const Scope& scope,
                                            const Node& node,
                                            const Gradients& grad_outputs) {
  const std::string* message = node.attr<std::string>("message");
  return Gradients{ops::CheckNumerics(
      scope, grad_outputs[0].dense,
      absl::StrCat("Not a number (NaN) or infinity (Inf) values detected in "
                   "gradient. ",
                   message == nullptr ? "" : *message))};
}

// Reshape, ExpandDims, Squeeze: restores the shape of the first input. The
// other inputs have no gradient.
absl::StatusOr<Gradients> ReshapeGrad(const Scope& scope, const Node& node,
                                      const Gradients& grad_outputs) {
  Gradients result(node.num_inputs());
  result[0] = ops::Reshape(scope, grad_outputs[0].dense,
                           SizesOf(scope, Output(node.input(0))));
  return result;
}

absl::StatusOr<Gradients> BroadcastToGrad(const Scope& scope, const Node& node,
                                          const Gradients& grad_outputs) {
  const Output shape(node.input(1));
  const Output sizes = SizesOf(scope, Output(node.input(0)), shape.dtype());
  const Output axes = ops::BroadcastGradientArgs(scope, sizes, shape).first;
  const Output sum = ops::Sum(scope, grad_outputs[0].dense, axes);
  return Gradients{ops::Reshape(scope, sum, sizes), {}};
}

// All axes of `x`, for reductions.
Output AllAxes(const Scope& scope, const Output& x) {
  return ops::Range(scope, 0, ops::Rank(scope, x), 1);
}

absl::StatusOr<Gradients> FillGrad(const Scope& scope, const Node&,
                                   const Gradients& grad_outputs) {
  const Output& grad = grad_outputs[0].dense;
  return Gradients{{}, ops::Sum(scope, grad, AllAxes(scope, grad))};
}

absl::StatusOr<Gradients> TransposeGrad(const Scope& scope, const Node& node,
                                        const Gradients& grad_outputs) {
  const Output inverse = ops::InvertPermutation(scope, Output(node.input(1)));
  return Gradients{ops::Transpose(scope, grad_outputs[0].dense, inverse), {}};
}

// Reverse and ReverseV2: the same op again.
absl::StatusOr<Gradients> ReverseGrad(const Scope& scope, const Node& node,
                                      const Gradients& grad_outputs) {
  return Gradients{scope.AddOutput(node.type(), {grad_outputs[0].dense,
                                                 Output(node.input(1))}),
                   {}};
}

absl::StatusOr<Gradients> RollGrad(const Scope& scope, const Node& node,
                                   const Gradients& grad_outputs) {
  const Output back = ops::Neg(scope, Output(node.input(1)));
  return Gradients{
      ops::Roll(scope, grad_outputs[0].dense, back, Output(node.input(2))),
      {},
      {}};
}

absl::StatusOr<Gradients> ReverseSequenceGrad(const Scope& scope,
                                              const Node& node,
                                              const Gradients& grad_outputs) {
  return Gradients{
      ops::ReverseSequence(scope, grad_outputs[0].dense, Output(node.input(1)),
                           IntAttr(node, "seq_dim"),
                           {.batch_dim = IntAttr(node, "batch_dim")}),
      {}};
}

}  // namespace

Output DenseOrZeros(const Scope& scope, const Node& node,
                    const std::vector<Gradient>& grad_outputs, int i) {
  if (grad_outputs[i].dense) return grad_outputs[i].dense;
  return ops::ZerosLike(scope, Output(&node, i));
}

Output SizesOf(const Scope& scope, const Output& x, DataType type) {
  const PartialShape& shape = x.shape();
  if (!shape.IsFullyDefined()) {
    return ops::Shape(scope, x, {.out_type = type});
  }
  Tensor sizes(type, {shape.rank()});
  for (int i = 0; i < shape.rank(); ++i) {
    if (type == DT_INT64) {
      sizes.mutable_flat<int64_t>()[i] = shape.dim(i);
    } else if (shape.dim(i) <= std::numeric_limits<int32_t>::max()) {
      sizes.mutable_flat<int32_t>()[i] = static_cast<int32_t>(shape.dim(i));
    } else {
      return ops::Shape(scope, x, {.out_type = type});
    }
  }
  return ops::Const(scope, sizes);
}

Gradient GatheredRows(const Scope& scope, const Node& gather,
                      const Output& grad, const Output& sizes) {
  Gradient result;
  result.dense_shape = sizes;
  result.values = grad;
  result.indices = Output(gather.input(1));
  const bool* distinct = gather.attr<bool>(ops::kDistinctIndices);
  result.is_distinct = distinct != nullptr && *distinct;
  const PartialShape& indices = result.indices.shape();
  // One row for each index already.
  if (indices.has_rank() && indices.rank() == 1) return result;
  const Output row =
      ops::StridedSlice(scope, sizes, {1}, {0}, {1}, {.end_mask = 1});
  const Output count = ops::ExpandDims(
      scope, ops::Size(scope, result.indices, {.out_type = sizes.dtype()}), 0);
  result.values =
      ops::Reshape(scope, grad, ops::Concat(scope, {count, row}, 0));
  result.indices = ops::Reshape(scope, result.indices, {-1});
  return result;
}

int64_t IntAttr(const Node& node, absl::string_view name) {
  const int64_t* value = node.attr<int64_t>(name);
  return value == nullptr ? 0 : *value;
}

void RegisterArrayGradients(GradientRegistry& registry) {
  for (const char* op : {"Identity", "IdentityN", "Snapshot", "EnsureShape",
                         "PlaceholderWithDefault"}) {
    registry.Register(op, PassOn, /*takes_sparse=*/true);
  }
  registry.Register("PreventGradient", PreventGradientGrad,
                    /*takes_sparse=*/true);
  registry.Register("CheckNumerics", CheckNumericsGrad);
  for (const char* op : {"Reshape", "ExpandDims", "Squeeze"}) {
    registry.Register(op, ReshapeGrad);
  }
  registry.Register("BroadcastTo", BroadcastToGrad);
  registry.Register("Fill", FillGrad);
  registry.Register("Transpose", TransposeGrad);
  registry.Register("Reverse", ReverseGrad);
  registry.Register("ReverseV2", ReverseGrad);
  registry.Register("Roll", RollGrad);
  registry.Register("ReverseSequence", ReverseSequenceGrad);
  for (const char* op : {"Const",
                         "Placeholder",
                         "PlaceholderV2",
                         "StopGradient",
                         "Shape",
                         "ShapeN",
                         "Size",
                         "Rank",
                         "ZerosLike",
                         "OnesLike",
                         "OneHot",
                         "ConcatOffset",
                         "InvertPermutation",
                         "Where",
                         "Unique",
                         "UniqueV2",
                         "UniqueWithCounts",
                         "ListDiff",
                         "Bitcast",
                         "_GatherStitched",
                         "_SumToParts",
                         "_UniquePartition"}) {
    registry.RegisterNone(op);
  }
  RegisterArrayJoinGradients(registry);
  RegisterArraySliceGradients(registry);
  RegisterArrayDiagonalGradients(registry);
  RegisterArraySegmentGradients(registry);
  RegisterArraySpaceGradients(registry);
}

}  // namespace weft
