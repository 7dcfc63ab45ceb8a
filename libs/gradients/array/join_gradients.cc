// Gradients of the ops that join, split, repeat and pad tensors.
#include "libs/base/status.h"
#include "libs/gradients/array/array_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

Output AsInt32(const Scope& scope, const Output& x) {
  return x.dtype() == DT_INT32 ? x : ops::Cast(scope, x, DT_INT32);
}

// The pieces of `grad` that belong to `values`, which were joined along `axis`.
std::vector<Output> Unjoin(const Scope& scope,
                           const std::vector<Output>& values,
                           const Output& axis, const Output& grad) {
  InputList inputs(values.begin(), values.end());
  const std::vector<Output> sizes = ops::ShapeN(scope, inputs);
  const std::vector<Output> begins = ops::ConcatOffset(
      scope, AsInt32(scope, axis), InputList(sizes.begin(), sizes.end()));
  std::vector<Output> pieces;
  for (size_t i = 0; i < values.size(); ++i) {
    pieces.push_back(ops::Slice(scope, grad, begins[i], sizes[i]));
  }
  return pieces;
}

// Values are inputs [begin, end); the axis is input `axis_input`.
Gradients ConcatGradOf(const Scope& scope, const Node& node, int begin, int end,
                       int axis_input, const Output& grad) {
  std::vector<Output> values;
  for (int i = begin; i < end; ++i) values.emplace_back(node.input(i));
  const std::vector<Output> pieces =
      Unjoin(scope, values, Output(node.input(axis_input)), grad);
  Gradients result(node.num_inputs());
  for (int i = begin; i < end; ++i) result[i] = pieces[i - begin];
  return result;
}

absl::StatusOr<Gradients> ConcatGrad(const Scope& scope, const Node& node,
                                     const Gradients& grad_outputs) {
  return ConcatGradOf(scope, node, 1, node.num_inputs(), 0,
                      grad_outputs[0].dense);
}

absl::StatusOr<Gradients> ConcatV2Grad(const Scope& scope, const Node& node,
                                       const Gradients& grad_outputs) {
  const int count = node.num_inputs() - 1;
  return ConcatGradOf(scope, node, 0, count, count, grad_outputs[0].dense);
}

// The gradients of all outputs, zeros for None.
InputList AllOutputs(const Scope& scope, const Node& node,
                     const Gradients& grad_outputs) {
  InputList result;
  for (int i = 0; i < node.num_outputs(); ++i) {
    result.push_back(DenseOrZeros(scope, node, grad_outputs, i));
  }
  return result;
}

// Concat needs two tensors at least.
Output Join(const Scope& scope, const InputList& values, const Output& axis) {
  if (values.size() == 1) return values[0].output();
  return ops::Concat(scope, values, axis);
}

absl::StatusOr<Gradients> SplitGrad(const Scope& scope, const Node& node,
                                    const Gradients& grad_outputs) {
  return Gradients{{},
                   Join(scope, AllOutputs(scope, node, grad_outputs),
                        Output(node.input(0)))};
}

absl::StatusOr<Gradients> SplitVGrad(const Scope& scope, const Node& node,
                                     const Gradients& grad_outputs) {
  return Gradients{
      Join(scope, AllOutputs(scope, node, grad_outputs), Output(node.input(2))),
      {},
      {}};
}

absl::StatusOr<Gradients> PackGrad(const Scope& scope, const Node& node,
                                   const Gradients& grad_outputs) {
  Gradients result;
  for (const Output& piece :
       ops::Unstack(scope, grad_outputs[0].dense, node.num_inputs(),
                    {.axis = IntAttr(node, "axis")})) {
    result.push_back(piece);
  }
  return result;
}

absl::StatusOr<Gradients> UnpackGrad(const Scope& scope, const Node& node,
                                     const Gradients& grad_outputs) {
  if (node.num_outputs() == 0) return Gradients(1);
  return Gradients{ops::Stack(scope, AllOutputs(scope, node, grad_outputs),
                              {.axis = IntAttr(node, "axis")})};
}

// The gradient as [m0, d0, m1, d1, ...], summed over the multiples.
absl::StatusOr<Gradients> TileGrad(const Scope& scope, const Node& node,
                                   const Gradients& grad_outputs) {
  const Output input(node.input(0)), multiples(node.input(1));
  const Output sizes = SizesOf(scope, input, multiples.dtype());
  const Output pairs = ops::Stack(scope, {multiples, sizes}, {.axis = 1});
  const Output shape = ops::Reshape(scope, pairs, {-1});
  const Output axes = ops::Range(scope, 0, ops::Size(scope, shape), 2);
  const Output grad = ops::Reshape(scope, grad_outputs[0].dense, shape);
  return Gradients{ops::Sum(scope, grad, axes), {}};
}

// The inner part of `x`, without its paddings.
Output Unpadded(const Scope& scope, const Output& grad, const Output& input,
                const Output& paddings) {
  const Output rank = ops::Rank(scope, input);
  const Output column = ops::Stack(scope, {rank, 1});
  // begin and size have one type; the paddings' may be int64.
  const Output begin = ops::Reshape(
      scope, ops::Slice(scope, AsInt32(scope, paddings), {0, 0}, column), {-1});
  return ops::Slice(scope, grad, begin, SizesOf(scope, input));
}

Output SumOfAll(const Scope& scope, const Output& x) {
  return ops::Sum(scope, x, ops::Range(scope, 0, ops::Rank(scope, x), 1));
}

// Pad and PadV2. The padding value gets the gradients of the padding.
absl::StatusOr<Gradients> PadGrad(const Scope& scope, const Node& node,
                                  const Gradients& grad_outputs) {
  const Output& grad = grad_outputs[0].dense;
  Gradients result(node.num_inputs());
  const Output inner =
      Unpadded(scope, grad, Output(node.input(0)), Output(node.input(1)));
  result[0] = inner;
  if (result.size() == 3) {
    result[2] = ops::Sub(scope, SumOfAll(scope, grad), SumOfAll(scope, inner));
  }
  return result;
}

// MirrorPad and MirrorPadGrad are each other's gradient.
absl::StatusOr<Gradients> MirrorGrad(const Scope& scope, const Node& node,
                                     const Gradients& grad_outputs) {
  const std::string mode = *node.attr<std::string>("mode");
  const Output& grad = grad_outputs[0].dense;
  const Output paddings(node.input(1));
  return Gradients{node.type() == "MirrorPad"
                       ? ops::MirrorPadGrad(scope, grad, paddings, mode)
                       : ops::MirrorPad(scope, grad, paddings, mode),
                   {}};
}

// Returns each row of the gradient to its source, found by partitioning the row
// numbers in the same way.
absl::StatusOr<Gradients> DynamicPartitionGrad(const Scope& scope,
                                               const Node& node,
                                               const Gradients& grad_outputs) {
  const Output data(node.input(0)), partitions(node.input(1));
  const Output prefix = SizesOf(scope, partitions);
  const Output count = ops::Prod(scope, prefix, 0);
  const Output positions =
      ops::Reshape(scope, ops::Range(scope, 0, count, 1), prefix);
  const std::vector<Output> places =
      ops::DynamicPartition(scope, positions, partitions, node.num_outputs());
  const Output rows =
      ops::ParallelDynamicStitch(scope, InputList(places.begin(), places.end()),
                                 AllOutputs(scope, node, grad_outputs));
  return Gradients{ops::Reshape(scope, rows, SizesOf(scope, data)), {}};
}

// DynamicStitch and ParallelDynamicStitch.
absl::StatusOr<Gradients> DynamicStitchGrad(const Scope& scope,
                                            const Node& node,
                                            const Gradients& grad_outputs) {
  const int count = node.num_inputs() / 2;
  Gradients result(node.num_inputs());
  for (int i = 0; i < count; ++i) {
    result[count + i] =
        ops::GatherV2(scope, grad_outputs[0].dense, Output(node.input(i)), 0);
  }
  return result;
}

}  // namespace

void RegisterArrayJoinGradients(GradientRegistry& registry) {
  registry.Register("Concat", ConcatGrad);
  registry.Register("ConcatV2", ConcatV2Grad);
  registry.Register("Split", SplitGrad);
  registry.Register("SplitV", SplitVGrad);
  registry.Register("Pack", PackGrad);
  registry.Register("Unpack", UnpackGrad);
  registry.Register("Tile", TileGrad);
  registry.Register("Pad", PadGrad);
  registry.Register("PadV2", PadGrad);
  registry.Register("MirrorPad", MirrorGrad);
  registry.Register("MirrorPadGrad", MirrorGrad);
  registry.Register("DynamicPartition", DynamicPartitionGrad);
  registry.Register("DynamicStitch", DynamicStitchGrad);
  registry.Register("ParallelDynamicStitch", DynamicStitchGrad);
}

}  // namespace weft
