// Ops on sparse tensors: indices [n, rank], values [n], dense shape [rank].
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/array/array_shapes.h"
#include "libs/ops/sparse/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

int64_t RowsOf(const PartialShape& shape) {
  return shape.has_rank() && shape.rank() > 0 ? shape.dim(0)
                                              : PartialShape::kUnknown;
}
int64_t ColumnsOf(const PartialShape& shape) {
  return shape.has_rank() && shape.rank() > 1 ? shape.dim(1)
                                              : PartialShape::kUnknown;
}

// Inputs 0 to 2 are indices, values and shape.
absl::Status CheckSparse(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  RETURN_IF_ERROR(
      InferenceContext::MergeDims(RowsOf(c.input(0)), RowsOf(c.input(1)))
          .status());
  return InferenceContext::MergeDims(ColumnsOf(c.input(0)), RowsOf(c.input(2)))
      .status();
}

void SetSparse(InferenceContext& c, int64_t rank) {
  c.set_output(0, PartialShape::Matrix(PartialShape::kUnknown, rank));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(2, PartialShape::Vector(rank));
}

absl::Status SparseConcatShape(InferenceContext& c) {
  SetSparse(c, ColumnsOf(c.input(0)));
  return absl::OkStatus();
}

absl::Status CrossShape(InferenceContext& c) {
  SetSparse(c, 2);
  return absl::OkStatus();
}

absl::Status FillEmptyRowsShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckSparse(c));
  RETURN_IF_ERROR(c.InputWithRank(3, 0).status());
  c.set_output(
      0, PartialShape::Matrix(PartialShape::kUnknown, ColumnsOf(c.input(0))));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  const PartialShape dense = c.input_as_shape(2);
  c.set_output(2, PartialShape::Vector(RowsOf(dense)));
  c.set_output(3, PartialShape::Vector(RowsOf(c.input(0))));
  return absl::OkStatus();
}

absl::Status FillEmptyRowsGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape reverse, c.InputWithRank(0, 1));
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  c.set_output(0, std::move(reverse));
  c.set_output(1, PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status ReorderShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckSparse(c));
  c.set_output(0, c.input(0));
  c.set_output(1, c.input(1));
  return absl::OkStatus();
}

absl::Status ReshapeShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  ASSIGN_OR_RETURN(PartialShape wanted, c.InputWithRank(2, 1));
  c.set_output(0, PartialShape::Matrix(RowsOf(c.input(0)), RowsOf(wanted)));
  c.set_output(1, std::move(wanted));
  return absl::OkStatus();
}

absl::Status SliceShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckSparse(c));
  SetSparse(c, ColumnsOf(c.input(0)));
  return absl::OkStatus();
}

absl::Status SliceGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape indices, c.InputWithRank(1, 2));
  c.set_output(0, PartialShape::Vector(RowsOf(indices)));
  return absl::OkStatus();
}

absl::Status MatMulShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckSparse(c));
  ASSIGN_OR_RETURN(const PartialShape b, c.InputWithRank(3, 2));
  ASSIGN_OR_RETURN(const bool adjoint_a, c.GetAttr<bool>("adjoint_a"));
  ASSIGN_OR_RETURN(const bool adjoint_b, c.GetAttr<bool>("adjoint_b"));
  const PartialShape a = c.input_as_shape(2);
  const int64_t rows = adjoint_a ? ColumnsOf(a) : RowsOf(a);
  const int64_t columns = adjoint_b ? RowsOf(b) : ColumnsOf(b);
  RETURN_IF_ERROR(
      InferenceContext::MergeDims(adjoint_a ? RowsOf(a) : ColumnsOf(a),
                                  adjoint_b ? ColumnsOf(b) : RowsOf(b))
          .status());
  c.set_output(0, PartialShape::Matrix(rows, columns));
  return absl::OkStatus();
}

absl::Status ToDenseShape(InferenceContext& c) {
  c.set_output(0, c.input_as_shape(1));
  return absl::OkStatus();
}

// The dimensions that are not reduced; empty axes reduce nothing.
absl::Status ReduceShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const bool keep_dims, c.GetAttr<bool>("keep_dims"));
  const auto sizes = array_shapes::Integers(c, 2);
  const auto axes = array_shapes::Integers(c, 3);
  if (!sizes || !axes) return absl::OkStatus();
  if (sizes->empty()) {
    return absl::InvalidArgumentError(
        "Number of dims in shape tensor must not be 0");
  }
  const auto rank = static_cast<int64_t>(sizes->size());
  std::vector<bool> is_reduced(sizes->size(), false);
  for (int64_t axis : *axes) {
    // The kernel rejects other axes.
    if (axis < -rank || axis >= rank) return absl::OkStatus();
    is_reduced[axis < 0 ? axis + rank : axis] = true;
  }
  Dims dims;
  for (size_t d = 0; d < sizes->size(); ++d) {
    if (!is_reduced[d])
      dims.push_back(std::max((*sizes)[d], PartialShape::kUnknown));
    if (is_reduced[d] && keep_dims) dims.push_back(1);
  }
  c.set_output(0, PartialShape(std::move(dims)));
  return absl::OkStatus();
}

absl::Status ReduceSparseShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckSparse(c));
  SetSparse(c, PartialShape::kUnknown);
  return absl::OkStatus();
}

OpDefBuilder SparseReduction(absl::string_view name, absl::string_view types,
                             absl::string_view doc) {
  return OpDefBuilder(name)
      .Input("input_indices: int64")
      .Input("input_values: T")
      .Input("input_shape: int64")
      .Input("reduction_axes: int32")
      .Attr("keep_dims: bool = false")
      .Attr(types)
      .Doc(doc);
}

void RegisterReductions(OpRegistry& registry) {
  const auto dense = [&](absl::string_view name, absl::string_view types,
                         absl::string_view doc) {
    registry.Add(SparseReduction(name, types, doc)
                     .Output("output: T")
                     .Shape(ReduceShape));
  };
  const auto sparse = [&](absl::string_view name, absl::string_view types,
                          absl::string_view doc) {
    registry.Add(SparseReduction(name, types, doc)
                     .Output("output_indices: int64")
                     .Output("output_values: T")
                     .Output("output_shape: int64")
                     .Shape(ReduceSparseShape));
  };
  dense("SparseReduceSum", "T: numbertype",
        "Sums a sparse tensor along some axes.");
  dense("SparseReduceMax", "T: realnumbertype",
        "The maximum of the existing elements of a sparse tensor along some "
        "axes.");
  sparse("SparseReduceSumSparse", "T: numbertype",
         "SparseReduceSum with a sparse result.");
  sparse("SparseReduceMaxSparse", "T: realnumbertype",
         "SparseReduceMax with a sparse result.");
}

absl::Status SparseSplitShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(3, 1));
  const int parts = c.num_outputs() / 3;
  const int64_t rank = RowsOf(shape);
  for (int i = 0; i < parts; ++i) {
    c.set_output(i, PartialShape::Matrix(PartialShape::kUnknown, rank));
    c.set_output(parts + i, PartialShape::Vector(PartialShape::kUnknown));
    c.set_output(2 * parts + i, PartialShape::Vector(rank));
  }
  return absl::OkStatus();
}

// The kernel checks whether the three parts match.
absl::Status CheckRanks(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 2).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  return c.InputWithRank(2, 1).status();
}

absl::Status SerializeShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckRanks(c));
  c.set_output(0, PartialShape::Vector(3));
  return absl::OkStatus();
}

absl::Status SerializeManyShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckRanks(c));
  c.set_output(0, PartialShape::Matrix(PartialShape::kUnknown, 3));
  return absl::OkStatus();
}

// Each row of `serialized` is one sparse tensor of any rank.
absl::Status SetDeserialized(InferenceContext& c,
                             const PartialShape& serialized) {
  if (serialized.has_rank()) {
    const int64_t parts = serialized.dim(serialized.rank() - 1);
    if (parts != PartialShape::kUnknown && parts != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("Dimension must be 3 but is ", parts));
    }
  }
  SetSparse(c, PartialShape::kUnknown);
  return absl::OkStatus();
}

absl::Status DeserializeShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape serialized, c.InputWithRankAtLeast(0, 1));
  return SetDeserialized(c, serialized);
}

absl::Status DeserializeManyShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape serialized, c.InputWithRank(0, 2));
  return SetDeserialized(c, serialized);
}

void RegisterSerializeOps(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("SerializeSparse")
          .Input("sparse_indices: int64")
          .Input("sparse_values: T")
          .Input("sparse_shape: int64")
          .Output("serialized_sparse: out_type")
          .Attr("T: type")
          .Attr("out_type: {string, variant} = DT_STRING")
          .Doc("Encodes a sparse tensor as a vector of its three components.")
          .Shape(SerializeShape));
  registry.Add(
      OpDefBuilder("SerializeManySparse")
          .Input("sparse_indices: int64")
          .Input("sparse_values: T")
          .Input("sparse_shape: int64")
          .Output("serialized_sparse: out_type")
          .Attr("T: type")
          .Attr("out_type: {string, variant} = DT_STRING")
          .Doc("Encodes each row of a sparse tensor as its three components.")
          .Shape(SerializeManyShape));
  registry.Add(OpDefBuilder("DeserializeSparse")
                   .Input("serialized_sparse: Tserialized")
                   .Output("sparse_indices: int64")
                   .Output("sparse_values: dtype")
                   .Output("sparse_shape: int64")
                   .Attr("dtype: type")
                   .Attr("Tserialized: {string, variant} = DT_STRING")
                   .Doc("Decodes and stacks the results of SerializeSparse.")
                   .Shape(DeserializeShape));
  registry.Add(
      OpDefBuilder("DeserializeManySparse")
          .Input("serialized_sparse: string")
          .Output("sparse_indices: int64")
          .Output("sparse_values: dtype")
          .Output("sparse_shape: int64")
          .Attr("dtype: type")
          .Doc("Decodes rows of SerializeManySparse as a sparse tensor.")
          .Shape(DeserializeManyShape));
}

}  // namespace

void RegisterSparseOps(OpRegistry& registry) {
  RegisterRaggedOps(registry);
  RegisterReductions(registry);
  RegisterSparseArithmeticOps(registry);
  RegisterSparseLookupOps(registry);
  RegisterSerializeOps(registry);
  registry.Add(OpDefBuilder("SparseConcat")
                   .Input("indices: N * int64")
                   .Input("values: N * T")
                   .Input("shapes: N * int64")
                   .Output("output_indices: int64")
                   .Output("output_values: T")
                   .Output("output_shape: int64")
                   .Attr("concat_dim: int")
                   .Attr("N: int >= 2")
                   .Attr("T: type")
                   .Doc("Concatenates sparse tensors along one dimension.")
                   .Shape(SparseConcatShape));
  registry.Add(OpDefBuilder("SparseSplit")
                   .Input("split_dim: int64")
                   .Input("indices: int64")
                   .Input("values: T")
                   .Input("shape: int64")
                   .Output("output_indices: num_split * int64")
                   .Output("output_values: num_split * T")
                   .Output("output_shape: num_split * int64")
                   .Attr("num_split: int >= 1")
                   .Attr("T: type")
                   .Doc("Splits a sparse tensor along one dimension.")
                   .Shape(SparseSplitShape));
  registry.Add(OpDefBuilder("SparseCross")
                   .Input("indices: N * int64")
                   .Input("values: sparse_types")
                   .Input("shapes: N * int64")
                   .Input("dense_inputs: dense_types")
                   .Output("output_indices: int64")
                   .Output("output_values: out_type")
                   .Output("output_shape: int64")
                   .Attr("N: int >= 0")
                   .Attr("hashed_output: bool")
                   .Attr("num_buckets: int >= 0")
                   .Attr("hash_key: int")
                   .Attr("sparse_types: list({int64, string}) >= 0")
                   .Attr("dense_types: list({int64, string}) >= 0")
                   .Attr("out_type: {int64, string}")
                   .Attr("internal_type: {int64, string}")
                   .Doc("Returns all combinations of the features of each row.")
                   .Shape(CrossShape));
  registry.Add(OpDefBuilder("SparseFillEmptyRows")
                   .Input("indices: int64")
                   .Input("values: T")
                   .Input("dense_shape: int64")
                   .Input("default_value: T")
                   .Output("output_indices: int64")
                   .Output("output_values: T")
                   .Output("empty_row_indicator: bool")
                   .Output("reverse_index_map: int64")
                   .Attr("T: type")
                   .Doc("Adds a default value to each empty row.")
                   .Shape(FillEmptyRowsShape));
  registry.Add(OpDefBuilder("SparseFillEmptyRowsGrad")
                   .Input("reverse_index_map: int64")
                   .Input("grad_values: T")
                   .Output("d_values: T")
                   .Output("d_default_value: T")
                   .Attr("T: type")
                   .Doc("The gradient of SparseFillEmptyRows.")
                   .Shape(FillEmptyRowsGradShape));
  registry.Add(OpDefBuilder("SparseReorder")
                   .Input("input_indices: int64")
                   .Input("input_values: T")
                   .Input("input_shape: int64")
                   .Output("output_indices: int64")
                   .Output("output_values: T")
                   .Attr("T: type")
                   .Doc("Sorts a sparse tensor by its indices.")
                   .Shape(ReorderShape));
  registry.Add(OpDefBuilder("SparseReshape")
                   .Input("input_indices: int64")
                   .Input("input_shape: int64")
                   .Input("new_shape: int64")
                   .Output("output_indices: int64")
                   .Output("output_shape: int64")
                   .Doc("Reshapes a sparse tensor.")
                   .Shape(ReshapeShape));
  registry.Add(OpDefBuilder("SparseSlice")
                   .Input("indices: int64")
                   .Input("values: T")
                   .Input("shape: int64")
                   .Input("start: int64")
                   .Input("size: int64")
                   .Output("output_indices: int64")
                   .Output("output_values: T")
                   .Output("output_shape: int64")
                   .Attr("T: type")
                   .Doc("Extracts a slice of a sparse tensor.")
                   .Shape(SliceShape));
  registry.Add(
      OpDefBuilder("SparseSliceGrad")
          .Input("backprop_val_grad: T")
          .Input("input_indices: int64")
          .Input("input_start: int64")
          .Input("output_indices: int64")
          .Output("val_grad: T")
          .Attr("T: {float, double, int32, uint8, int16, int8, complex64, "
                "int64, bfloat16, uint16, complex128, half, uint32, uint64}")
          .Doc("The gradient of SparseSlice with respect to the values.")
          .Shape(SliceGradShape));
  registry.Add(OpDefBuilder("SparseTensorDenseMatMul")
                   .Input("a_indices: Tindices")
                   .Input("a_values: T")
                   .Input("a_shape: int64")
                   .Input("b: T")
                   .Output("product: T")
                   .Attr("T: type")
                   .Attr("Tindices: {int32, int64} = DT_INT64")
                   .Attr("adjoint_a: bool = false")
                   .Attr("adjoint_b: bool = false")
                   .Doc("The product of a sparse and a dense matrix.")
                   .Shape(MatMulShape));
  registry.Add(OpDefBuilder("SparseToDense")
                   .Input("sparse_indices: Tindices")
                   .Input("output_shape: Tindices")
                   .Input("sparse_values: T")
                   .Input("default_value: T")
                   .Output("dense: T")
                   .Attr("validate_indices: bool = true")
                   .Attr("T: type")
                   .Attr("Tindices: {int32, int64}")
                   .Doc("Converts a sparse tensor to a dense one.")
                   .Shape(ToDenseShape));
}

}  // namespace weft
