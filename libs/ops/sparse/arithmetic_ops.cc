// Arithmetic on sparse tensors.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/sparse/op_groups.h"

namespace weft {
namespace {

int64_t FirstDim(const PartialShape& shape) {
  return shape.has_rank() && shape.rank() > 0 ? shape.dim(0)
                                              : PartialShape::kUnknown;
}

// Inputs `first` to `first` + 2 are indices, values and shape.
absl::Status CheckOperand(InferenceContext& c, int first) {
  RETURN_IF_ERROR(c.InputWithRank(first, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(first + 1, 1).status());
  return c.InputWithRank(first + 2, 1).status();
}

// The union: a matrix of indices, as wide as those of input 0, and values.
void SetUnion(InferenceContext& c) {
  const PartialShape& indices = c.input(0);
  const int64_t rank =
      indices.has_rank() ? indices.dim(1) : PartialShape::kUnknown;
  c.set_output(0, PartialShape::Matrix(PartialShape::kUnknown, rank));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
}

absl::Status ExtremumShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckOperand(c, 0));
  RETURN_IF_ERROR(CheckOperand(c, 3));
  SetUnion(c);
  return absl::OkStatus();
}

absl::Status SumShape(InferenceContext& c) {
  RETURN_IF_ERROR(ExtremumShape(c));
  RETURN_IF_ERROR(c.InputWithRank(6, 0).status());
  c.set_output(2, c.input(2));
  return absl::OkStatus();
}

absl::Status SumGradShape(InferenceContext& c) {
  for (int i = 1; i < 4; ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 2).status());
  }
  c.set_output(0, PartialShape::Vector(FirstDim(c.input(1))));
  c.set_output(1, PartialShape::Vector(FirstDim(c.input(2))));
  return absl::OkStatus();
}

absl::Status DenseSumShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckOperand(c, 0));
  c.set_output(0, c.input(3));
  return absl::OkStatus();
}

// The result has as many values as the sparse operand.
absl::Status ValuesShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckOperand(c, 0));
  c.set_output(0, PartialShape::Vector(FirstDim(c.input(0))));
  return absl::OkStatus();
}

absl::Status SoftmaxShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckOperand(c, 0));
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

void AddWithDense(OpRegistry& registry, const char* name, const char* doc) {
  registry.Add(OpDefBuilder(name)
                   .Input("sp_indices: int64")
                   .Input("sp_values: T")
                   .Input("sp_shape: int64")
                   .Input("dense: T")
                   .Output("output: T")
                   .Attr("T: numbertype")
                   .Doc(doc)
                   .Shape(ValuesShape));
}

void AddExtremum(OpRegistry& registry, const char* name, const char* types,
                 const char* doc) {
  registry.Add(OpDefBuilder(name)
                   .Input("a_indices: int64")
                   .Input("a_values: T")
                   .Input("a_shape: int64")
                   .Input("b_indices: int64")
                   .Input("b_values: T")
                   .Input("b_shape: int64")
                   .Output("output_indices: int64")
                   .Output("output_values: T")
                   .Attr(types)
                   .Doc(doc)
                   .Shape(ExtremumShape));
}

}  // namespace

void RegisterSparseArithmeticOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("SparseAdd")
                   .Input("a_indices: int64")
                   .Input("a_values: T")
                   .Input("a_shape: int64")
                   .Input("b_indices: int64")
                   .Input("b_values: T")
                   .Input("b_shape: int64")
                   .Input("thresh: Treal")
                   .Output("sum_indices: int64")
                   .Output("sum_values: T")
                   .Output("sum_shape: int64")
                   .Attr("T: numbertype")
                   .Attr("Treal: realnumbertype")
                   .Doc("Adds two sparse tensors, and drops results smaller "
                        "than a threshold.")
                   .Shape(SumShape));
  registry.Add(
      OpDefBuilder("SparseAddGrad")
          .Input("backprop_val_grad: T")
          .Input("a_indices: int64")
          .Input("b_indices: int64")
          .Input("sum_indices: int64")
          .Output("a_val_grad: T")
          .Output("b_val_grad: T")
          .Attr("T: numbertype")
          .Doc("The gradients of SparseAdd with respect to the values.")
          .Shape(SumGradShape));
  registry.Add(OpDefBuilder("SparseTensorDenseAdd")
                   .Input("a_indices: Tindices")
                   .Input("a_values: T")
                   .Input("a_shape: Tindices")
                   .Input("b: T")
                   .Output("output: T")
                   .Attr("T: numbertype")
                   .Attr("Tindices: {int32, int64}")
                   .Doc("The sum of a sparse and a dense tensor.")
                   .Shape(DenseSumShape));
  AddWithDense(
      registry, "SparseDenseCwiseAdd",
      "Adds the elements of a dense tensor to the values of a sparse one.");
  AddWithDense(registry, "SparseDenseCwiseMul",
               "Multiplies the values of a sparse tensor by the elements of a "
               "dense one.");
  AddWithDense(
      registry, "SparseDenseCwiseDiv",
      "Divides the values of a sparse tensor by the elements of a dense one.");
  // The types are TensorFlow's.
  AddExtremum(registry, "SparseSparseMaximum", "T: realnumbertype",
              "The element-wise maximum of two sparse tensors.");
  AddExtremum(registry, "SparseSparseMinimum", "T: numbertype",
              "The element-wise minimum of two sparse tensors.");
  registry.Add(OpDefBuilder("SparseSoftmax")
                   .Input("sp_indices: int64")
                   .Input("sp_values: T")
                   .Input("sp_shape: int64")
                   .Output("output: T")
                   .Attr("T: {half, float, double}")
                   .Doc("Softmax of each row, over the existing elements.")
                   .Shape(SoftmaxShape));
}

}  // namespace weft
