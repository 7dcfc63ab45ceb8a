// Gradients with respect to the values of ragged tensors; their row splits have
// no gradients. The formulas are TensorFlow's (tensorflow/python/ops/ragged).
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/gradients/sparse/sparse_gradients.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

// Inputs: row splits, values, indices. The values of a row of the result are
// those of a row of the input.
absl::StatusOr<Gradients> GatherRowsGrad(const Scope& scope, const Node& node,
                                         const Gradients& grads) {
  const int values = node.num_inputs() - 2;
  Gradients result(node.num_inputs());
  const Gradient& grad = grads[node.num_outputs() - 1];
  if (grad.IsNone()) return result;
  // The start of each row of the outermost dimension in the values.
  Output splits(node.input(0));
  for (int i = 1; i < values; ++i) {
    splits = ops::Gather(scope, Output(node.input(i)), splits);
  }
  const Output rows =
      ops::Reshape(scope, Output(node.input(values + 1)), Tensor::Vector({-1}));
  const Output begins = ops::Gather(scope, splits, rows);
  const Output ends = ops::Gather(scope, splits, ops::Add(scope, rows, 1));
  const Node* ranges =
      scope.AddNode("RaggedRange", {begins, ends, ops::OnesLike(scope, begins)},
                    {{"Tsplits", splits.dtype()}});
  if (ranges == nullptr) return result;
  result[values].values = grad.dense;
  result[values].indices = Output(ranges, 1);
  result[values].dense_shape = ops::Shape(scope, Output(node.input(values)));
  return result;
}

absl::StatusOr<Gradients> ToSparseGrad(const Scope& scope, const Node& node,
                                       const Gradients& grads) {
  const int values = node.num_inputs() - 1;
  Gradients result(node.num_inputs());
  if (grads[1].IsNone()) return result;
  result[values] = ops::Reshape(scope, grads[1].dense,
                                ops::Shape(scope, Output(node.input(values))));
  return result;
}

// For RaggedTensorToTensor: the number of the value at each position of the
// result, or -1 for the default value.
Output NumbersOfValues(const Scope& scope, const Node& node, const Output& grad,
                       const Output& count) {
  const auto& types =
      *node.attr<std::vector<std::string>>("row_partition_types");
  const int rank =
      static_cast<int>(types.size()) + (types[0] == "FIRST_DIM_SIZE" ? 0 : 1);
  InputList inputs = {ops::Slice(scope, ops::Shape(scope, grad),
                                 Tensor::Vector({0}), Tensor::Vector({rank})),
                      ops::Range(scope, 0, count, 1), Tensor::Scalar(-1)};
  for (int i = 3; i < node.num_inputs(); ++i) {
    inputs.emplace_back(Output(node.input(i)));
  }
  return scope.AddOutput("RaggedTensorToTensor", inputs,
                         {{"row_partition_types", types}});
}

// Inputs: shape, values, default value, and the row partitions.
absl::StatusOr<Gradients> ToTensorGrad(const Scope& scope, const Node& node,
                                       const Gradients& grads) {
  Gradients result(node.num_inputs());
  const Output& grad = grads[0].dense;
  const Output values(node.input(1)), fallback(node.input(2));
  const Output sizes = ops::Shape(scope, values);
  const Output count =
      ops::StridedSlice(scope, sizes, {0}, {1}, {1}, {.shrink_axis_mask = 1});
  const Output numbers = NumbersOfValues(scope, node, grad, count);
  const Output from_values =
      scope.AddOutput("Where", {ops::NotEqual(scope, numbers, -1)});
  result[1].values = ops::GatherNd(scope, grad, from_values);
  result[1].indices = ops::GatherNd(scope, numbers, from_values);
  result[1].dense_shape = sizes;
  const Output from_default =
      scope.AddOutput("Where", {ops::Equal(scope, numbers, -1)});
  const Output rest = ops::GatherNd(scope, grad, from_default);
  const Output own = ops::Shape(scope, fallback);
  const Node* axes =
      scope.AddNode("BroadcastGradientArgs", {own, ops::Shape(scope, rest)});
  if (axes == nullptr) return result;
  result[2] = ops::Reshape(scope, ops::Sum(scope, rest, Output(axes, 0)), own);
  return result;
}

absl::StatusOr<Gradients> FilledRowsGrad(const Scope& scope, const Node& node,
                                         const Gradients& grads) {
  Gradients result(4);
  if (grads[1].IsNone()) return result;
  const Node* grad = scope.AddNode("RaggedFillEmptyRowsGrad",
                                   {Output(&node, 3), grads[1].dense});
  if (grad == nullptr) return result;
  result[1] = Output(grad, 0);
  result[3] = Output(grad, 1);
  return result;
}

absl::StatusOr<Gradients> ToVariantGrad(const Scope& scope, const Node& node,
                                        const Gradients& grads) {
  const int values = node.num_inputs() - 1;
  Gradients result(node.num_inputs());
  const Output own(node.input(values));
  const Input splits = values == 0 ? Input(Tensor::Scalar<int64_t>(0))
                                   : Input(Output(node.input(0)));
  result[values] =
      scope.AddOutput("RaggedTensorToVariantGradient",
                      {grads[0].dense, splits, ops::Shape(scope, own)},
                      {{"Tvalues", own.dtype()}});
  return result;
}

absl::StatusOr<Gradients> FromVariantGrad(const Scope& scope, const Node& node,
                                          const Gradients& grads) {
  Gradients result(1);
  const int values = node.num_outputs() - 1;
  const PartialShape& encoded = Output(node.input(0)).shape();
  if (encoded.has_rank() && encoded.rank() > 1) {
    return absl::UnimplementedError(
        "the gradient of a ragged tensor that was decoded from a matrix of "
        "variants is not supported");
  }
  if (grads[values].IsNone()) return result;
  const bool is_batched = encoded.has_rank() ? encoded.rank() == 1 : values > 0;
  InputList inputs;
  for (int i = 0; i < values; ++i) inputs.emplace_back(Output(&node, i));
  inputs.emplace_back(grads[values].dense);
  result[0] = scope.AddOutput("RaggedTensorToVariant", inputs,
                              {{"batched_input", is_batched}});
  return result;
}

}  // namespace

void RegisterRaggedGradients(GradientRegistry& registry) {
  registry.Register("RaggedGather", GatherRowsGrad);
  registry.Register("RaggedTensorToSparse", ToSparseGrad);
  registry.Register("RaggedTensorToTensor", ToTensorGrad);
  registry.Register("RaggedFillEmptyRows", FilledRowsGrad);
  registry.Register("RaggedTensorToVariant", ToVariantGrad);
  registry.Register("RaggedTensorFromVariant", FromVariantGrad);
  for (const char* op : {"RaggedRange", "RaggedFillEmptyRowsGrad",
                         "RaggedTensorToVariantGradient"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
