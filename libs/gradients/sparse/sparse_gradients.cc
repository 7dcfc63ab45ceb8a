// Gradients with respect to the values of sparse tensors; their indices and
// shapes have no gradients. The formulas are TensorFlow's
// (tensorflow/python/ops/sparse_grad.py, sparse_ops.py).
#include "libs/gradients/sparse/sparse_gradients.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/math/math_gradients.h"
#include "libs/gradients/registry/gradient_registry.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/sparse/sparse_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;

Output Column(const Scope& scope, const Output& matrix, int column) {
  const Output part = ops::Slice(scope, matrix, Tensor::Vector({0, column}),
                                 Tensor::Vector({-1, 1}));
  return ops::Squeeze(scope, part, {.axis = {1}});
}

Output Adjoint(const Scope& scope, const Output& matrix) {
  return Conjugate(scope,
                   ops::Transpose(scope, matrix, Tensor::Vector({1, 0})));
}

// The gradient of a: for each of its values, the product of a row of one
// operand and a column of the other. The gradient of b: the product with a
// transposed.
absl::StatusOr<Gradients> MatMulGrad(const Scope& scope, const Node& node,
                                     const Gradients& grads) {
  const Output indices = node.input(0), values = node.input(1);
  const Output shape = node.input(2), b = node.input(3);
  const Output grad = grads[0].dense;
  const bool adjoint_a = *node.attr<bool>("adjoint_a");
  const bool adjoint_b = *node.attr<bool>("adjoint_b");
  Output b_grad = ops::SparseTensorDenseMatMul(scope, indices, values, shape,
                                               grad, {.adjoint_a = !adjoint_a});
  if (adjoint_b) b_grad = Adjoint(scope, b_grad);
  const Output rows = Column(scope, indices, 0);
  const Output columns = Column(scope, indices, 1);
  const Output from_grad = ops::Gather(scope, grad, adjoint_a ? columns : rows);
  const Output from_b = ops::Gather(scope, adjoint_b ? Adjoint(scope, b) : b,
                                    adjoint_a ? rows : columns);
  const Output product = ops::Mul(scope, from_grad, Conjugate(scope, from_b));
  const Output a_grad = ops::Sum(scope, product, 1);
  return Gradients{Gradient(), adjoint_a ? Conjugate(scope, a_grad) : a_grad,
                   Gradient(), b_grad};
}

// The default value gets the gradients of the unset elements.
absl::StatusOr<Gradients> ToDenseGrad(const Scope& scope, const Node& node,
                                      const Gradients& grads) {
  const Output grad = grads[0].dense;
  const Output indices = node.input(0);
  const Output values = node.input(2);
  if (!indices.shape().has_rank() || !values.shape().has_rank() ||
      values.shape().rank() != 1 || indices.shape().rank() == 0) {
    return absl::UnimplementedError(
        "the gradient of SparseToDense needs indices and values of known rank, "
        "and more than one value");
  }
  const Output rows = indices.shape().rank() == 1
                          ? ops::ExpandDims(scope, indices, 1)
                          : indices;
  const Output values_grad = ops::GatherNd(scope, grad, rows);
  const Output flat = ops::Reshape(scope, grad, Tensor::Vector({-1}));
  const Output default_grad = ops::Sub(scope, ops::Sum(scope, flat, 0),
                                       ops::Sum(scope, values_grad, 0));
  return Gradients{Gradient(), Gradient(), values_grad, default_grad};
}

// Numbers in place of the values show how Reorder permutes them.
absl::StatusOr<Gradients> ReorderGrad(const Scope& scope, const Node& node,
                                      const Gradients& grads) {
  if (grads[1].IsNone()) return Gradients(3);
  const Output values = node.input(1);
  const Output numbers = ops::Range(scope, 0, ops::Size(scope, values), 1);
  const Output moved = ops::SparseReorder(scope, Output(node.input(0)), numbers,
                                          Output(node.input(2)))
                           .output_values;
  const Output back = ops::InvertPermutation(scope, moved);
  return Gradients{Gradient(), ops::Gather(scope, grads[1].dense, back),
                   Gradient()};
}

absl::StatusOr<Gradients> FillEmptyRowsGrad(const Scope& scope,
                                            const Node& node,
                                            const Gradients& grads) {
  if (grads[1].IsNone()) return Gradients(4);
  const auto result =
      ops::SparseFillEmptyRowsGrad(scope, Output(&node, 3), grads[1].dense);
  return Gradients{Gradient(), result.d_values, Gradient(),
                   result.d_default_value};
}

absl::StatusOr<Gradients> SliceGrad(const Scope& scope, const Node& node,
                                    const Gradients& grads) {
  if (grads[1].IsNone()) return Gradients(5);
  const Output grad =
      ops::SparseSliceGrad(scope, grads[1].dense, Output(node.input(0)),
                           Output(node.input(3)), Output(&node, 0));
  return Gradients{Gradient(), grad, Gradient(), Gradient(), Gradient()};
}

// Each value gets the gradient of its sum.
absl::StatusOr<Gradients> ReduceSumGrad(const Scope& scope, const Node& node,
                                        const Gradients& grads) {
  const Output indices = node.input(0);
  const Output shape = ops::Cast(scope, Output(node.input(2)), DT_INT32);
  const Output rank = ops::Size(scope, shape);
  const Output all = ops::Range(scope, 0, rank, 1);
  const Output axes = ops::FloorMod(scope, Output(node.input(3)), rank);
  const Output ones = ops::OnesLike(scope, axes);
  // The shape with a 1 for each reduced axis.
  const Output kept = ops::DynamicStitch(
      scope, {all, ops::Reshape(scope, axes, Tensor::Vector({-1}))},
      {shape, ops::Reshape(scope, ones, Tensor::Vector({-1}))});
  const Output grad = ops::Reshape(scope, grads[0].dense, kept);
  const Output scale =
      ops::Cast(scope, ops::FloorDiv(scope, shape, kept), DT_INT64);
  const Output rows = ops::FloorDiv(scope, indices, scale);
  return Gradients{Gradient(), ops::GatherNd(scope, grad, rows), Gradient(),
                   Gradient()};
}

// Inputs: indices, values and shape of both, and the threshold.
absl::StatusOr<Gradients> AddGrad(const Scope& scope, const Node& node,
                                  const Gradients& grads) {
  Gradients result(7);
  if (grads[1].IsNone()) return result;
  const Node* grad =
      scope.AddNode("SparseAddGrad", {grads[1].dense, Output(node.input(0)),
                                      Output(node.input(3)), Output(&node, 0)});
  if (grad == nullptr) return result;
  result[1] = Output(grad, 0);
  result[4] = Output(grad, 1);
  return result;
}

absl::StatusOr<Gradients> TensorDenseAddGrad(const Scope& scope,
                                             const Node& node,
                                             const Gradients& grads) {
  const Output grad = grads[0].dense;
  return Gradients{Gradient(),
                   ops::GatherNd(scope, grad, Output(node.input(0))),
                   Gradient(), grad};
}

// A dense operand, possibly broadcast, reshaped to the rank of the sparse
// operand, and its elements at the indices of that.
struct DenseOperand {
  Output dense, own_shape, padded_shape, rows, values;
};
DenseOperand ReadDense(const Scope& scope, const Node& node) {
  DenseOperand result;
  result.dense = Output(node.input(3));
  const Output whole(node.input(2));
  result.own_shape = ops::Shape(scope, result.dense, {.out_type = DT_INT64});
  const Output missing = ops::Sub(scope, ops::Size(scope, whole),
                                  ops::Size(scope, result.own_shape));
  const Output ones = ops::Fill(scope, ops::ExpandDims(scope, missing, 0),
                                Tensor::Scalar<int64_t>(1));
  result.padded_shape = ops::Concat(scope, {ones, result.own_shape}, 0);
  result.rows = ops::FloorDiv(scope, Output(node.input(0)),
                              ops::FloorDiv(scope, whole, result.padded_shape));
  result.values = ops::GatherNd(
      scope, ops::Reshape(scope, result.dense, result.padded_shape),
      result.rows);
  return result;
}

// Sums the gradients of each element of the dense operand.
Output SumToDense(const Scope& scope, const DenseOperand& operand,
                  const Output& grads) {
  const Output zeros = ops::Reshape(scope, ops::ZerosLike(scope, operand.dense),
                                    operand.padded_shape);
  const Output sums =
      scope.AddOutput("SparseTensorDenseAdd",
                      {operand.rows, grads, operand.padded_shape, zeros});
  return ops::Reshape(scope, sums, operand.own_shape);
}

absl::StatusOr<Gradients> CwiseMulGrad(const Scope& scope, const Node& node,
                                       const Gradients& grads) {
  const DenseOperand operand = ReadDense(scope, node);
  const Output& grad = grads[0].dense;
  const Output slope = ops::Mul(scope, grad, Output(node.input(1)));
  return Gradients{Gradient(), ops::Mul(scope, grad, operand.values),
                   Gradient(), SumToDense(scope, operand, slope)};
}
absl::StatusOr<Gradients> CwiseDivGrad(const Scope& scope, const Node& node,
                                       const Gradients& grads) {
  const DenseOperand operand = ReadDense(scope, node);
  const Output& grad = grads[0].dense;
  const Output quotient =
      ops::Div(scope, ops::Neg(scope, Output(node.input(1))),
               ops::Square(scope, operand.values));
  const Output slope = ops::Mul(scope, grad, quotient);
  return Gradients{Gradient(), ops::Div(scope, grad, operand.values),
                   Gradient(), SumToDense(scope, operand, slope)};
}

// Like a dense softmax, with sums over the present elements.
absl::StatusOr<Gradients> SoftmaxGrad(const Scope& scope, const Node& node,
                                      const Gradients& grads) {
  const Output indices(node.input(0)), shape(node.input(2));
  const Output y(&node, 0);
  const Output product = ops::Mul(scope, y, grads[0].dense);
  const Output sums = scope.AddOutput(
      "SparseReduceSum", {indices, product, shape, Tensor::Vector({-1})},
      {{"keep_dims", true}});
  const Output negated = ops::Neg(scope, sums);
  const Output shifted = scope.AddOutput(
      "SparseDenseCwiseAdd", {indices, grads[0].dense, shape, negated});
  return Gradients{Gradient(), ops::Mul(scope, shifted, y), Gradient()};
}

// TensorFlow has no gradient either, and returns the same error.
absl::StatusOr<Gradients> NoSuchGradient(const Scope&, const Node& node,
                                         const Gradients&) {
  return absl::UnimplementedError(
      absl::StrCat("Gradient for ", node.type(), " is not implemented."));
}

}  // namespace

void RegisterSparseGradients(GradientRegistry& registry) {
  RegisterRaggedGradients(registry);
  registry.Register("SparseTensorDenseMatMul", MatMulGrad);
  registry.Register("SparseToDense", ToDenseGrad);
  registry.Register("SparseReorder", ReorderGrad);
  registry.Register("SparseFillEmptyRows", FillEmptyRowsGrad);
  registry.Register("SparseSlice", SliceGrad);
  registry.Register("SparseReduceSum", ReduceSumGrad);
  registry.Register("SparseAdd", AddGrad);
  registry.Register("SparseTensorDenseAdd", TensorDenseAddGrad);
  registry.Register("SparseDenseCwiseAdd", NoSuchGradient);
  registry.Register("SparseDenseCwiseMul", CwiseMulGrad);
  registry.Register("SparseDenseCwiseDiv", CwiseDivGrad);
  registry.Register("SparseSoftmax", SoftmaxGrad);
  registry.Register("SparseSparseMaximum", NoSuchGradient);
  registry.Register("SparseSparseMinimum", NoSuchGradient);
  for (const char* op :
       {"SparseAddGrad", "SparseReduceMax", "SparseReduceMaxSparse",
        "SparseReduceSumSparse", "SparseSplit", "_CombineRows",
        "_CombineRowsGrad", "_CountIds", "_UniqueRowIds", "_WhereHashed",
        "DeserializeManySparse", "DeserializeSparse", "SerializeManySparse",
        "SerializeSparse", "SparseConcat", "SparseCross",
        "SparseFillEmptyRowsGrad", "SparseReshape", "SparseSliceGrad"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
