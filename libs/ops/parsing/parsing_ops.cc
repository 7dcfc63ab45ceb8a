// Ops that parse records: comma-separated values, and examples.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/parsing/example_shapes.h"
#include "libs/ops/parsing/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

absl::Status DecodeCsvShape(InferenceContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    const PartialShape& shape = c.input(i);
    if (shape.has_rank() && shape.rank() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape must be at most rank 1 but is rank ",
                       shape.rank(), " for input ", i));
    }
    if (shape.has_rank() && shape.rank() == 1 && shape.dim(0) > 1) {
      return absl::InvalidArgumentError(
          "Shape of a default must be a length-0 or length-1 vector, or a "
          "scalar.");
    }
  }
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, c.input(0));
  return absl::OkStatus();
}

absl::StatusOr<size_t> Length(const InferenceContext& c,
                              absl::string_view types) {
  ASSIGN_OR_RETURN(const auto list, c.GetAttr<DataTypeVector>(types));
  return list.size();
}

// The length of list `types`, which must equal attr `number`.
absl::StatusOr<int64_t> SparseCount(const InferenceContext& c,
                                    absl::string_view number) {
  ASSIGN_OR_RETURN(const size_t types, Length(c, "sparse_types"));
  ASSIGN_OR_RETURN(const int64_t count, c.GetAttr<int64_t>(number));
  if (count == static_cast<int64_t>(types)) return count;
  return absl::InvalidArgumentError("len(sparse_keys) != len(sparse_types)");
}

// A vector, even if nothing is known.
absl::StatusOr<PartialShape> BatchOf(const InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape batch, c.InputWithRank(0, 1));
  return batch.has_rank() ? batch : PartialShape::OfRank(1);
}

constexpr char kShapes[] = "dense_shapes";

absl::Status SetExampleShapes(InferenceContext& c, const PartialShape& batch,
                              int64_t sparse, size_t dense) {
  ExampleShapes outputs(c, batch);
  outputs.SetSparse(sparse, 1);
  return outputs.SetDense(kShapes, static_cast<int64_t>(dense), batch);
}

absl::Status ParseExampleShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape batch, BatchOf(c));
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  ASSIGN_OR_RETURN(const int64_t sparse, SparseCount(c, "Nsparse"));
  ASSIGN_OR_RETURN(const size_t dense, Length(c, "Tdense"));
  ASSIGN_OR_RETURN(const int64_t dense_keys, c.GetAttr<int64_t>("Ndense"));
  if (dense_keys != static_cast<int64_t>(dense)) {
    return absl::InvalidArgumentError("len(dense_keys) != len(dense_types)");
  }
  return SetExampleShapes(c, batch, sparse, dense);
}

absl::Status ParseExampleV2Shape(InferenceContext& c) {
  const PartialShape& batch = c.input(0);
  if (batch.has_rank() && batch.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shape must be at most rank 1 but is rank ", batch.rank(),
                     " for input 0"));
  }
  ASSIGN_OR_RETURN(const int64_t sparse, SparseCount(c, "num_sparse"));
  ASSIGN_OR_RETURN(const size_t dense, Length(c, "Tdense"));
  ASSIGN_OR_RETURN(const size_t ragged, Length(c, "ragged_value_types"));
  ASSIGN_OR_RETURN(const size_t splits, Length(c, "ragged_split_types"));
  if (ragged != splits) {
    return absl::InvalidArgumentError(
        "len(ragged_keys) != len(ragged_split_types)");
  }
  ExampleShapes outputs(c, batch);
  outputs.SetSparse(sparse, 1);
  RETURN_IF_ERROR(
      outputs.SetDense(kShapes, static_cast<int64_t>(dense), batch));
  const auto count = static_cast<int64_t>(ragged);
  outputs.SetVectors(count);
  if (batch.has_rank() && batch.rank() == 1) {
    outputs.SetSplits(count);
  } else {
    outputs.SetVectors(count);  // none for a single example
  }
  return absl::OkStatus();
}

absl::Status ParseSingleExampleShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  ASSIGN_OR_RETURN(const int64_t sparse, c.GetAttr<int64_t>("num_sparse"));
  ASSIGN_OR_RETURN(const auto sparse_keys,
                   c.GetAttr<std::vector<std::string>>("sparse_keys"));
  ASSIGN_OR_RETURN(const size_t types, Length(c, "sparse_types"));
  if (static_cast<size_t>(sparse) != types || sparse_keys.size() != types) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_sparse (", sparse, ") must match the size of sparse_keys (",
        sparse_keys.size(), ") and sparse_types (", types, ")"));
  }
  ASSIGN_OR_RETURN(const auto dense_keys,
                   c.GetAttr<std::vector<std::string>>("dense_keys"));
  ASSIGN_OR_RETURN(const size_t dense, Length(c, "Tdense"));
  if (dense_keys.size() != dense) {
    return absl::InvalidArgumentError("len(dense_keys) != len(dense_types)");
  }
  return SetExampleShapes(c, PartialShape::Scalar(), sparse, dense);
}

absl::Status DecodeCsvAndPackShape(InferenceContext& c) {
  RETURN_IF_ERROR(DecodeCsvShape(c));
  const PartialShape rows = c.input(0);
  if (!rows.has_rank()) {
    c.set_output(0, PartialShape());
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const int64_t axis, c.GetAttr<int64_t>("axis"));
  Dims dims(rows.dims().begin(), rows.dims().end());
  dims.insert(axis == 0 ? dims.begin() : dims.end(), c.num_inputs() - 1);
  c.set_output(0, PartialShape(dims));
  return absl::OkStatus();
}

void AddParseExample(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("ParseExample")
          .Input("serialized: string")
          .Input("names: string")
          .Input("sparse_keys: Nsparse * string")
          .Input("dense_keys: Ndense * string")
          .Input("dense_defaults: Tdense")
          .Output("sparse_indices: Nsparse * int64")
          .Output("sparse_values: sparse_types")
          .Output("sparse_shapes: Nsparse * int64")
          .Output("dense_values: Tdense")
          .Attr("Nsparse: int >= 0")
          .Attr("Ndense: int >= 0")
          .Attr("sparse_types: list({float, int64, string}) >= 0")
          .Attr("Tdense: list({float, int64, string}) >= 0")
          .Attr("dense_shapes: list(shape) >= 0")
          .Doc("Parses the features of a batch of serialized Examples.")
          .Shape(ParseExampleShape));
  registry.Add(
      OpDefBuilder("ParseExampleV2")
          .Input("serialized: string")
          .Input("names: string")
          .Input("sparse_keys: string")
          .Input("dense_keys: string")
          .Input("ragged_keys: string")
          .Input("dense_defaults: Tdense")
          .Output("sparse_indices: num_sparse * int64")
          .Output("sparse_values: sparse_types")
          .Output("sparse_shapes: num_sparse * int64")
          .Output("dense_values: Tdense")
          .Output("ragged_values: ragged_value_types")
          .Output("ragged_row_splits: ragged_split_types")
          .Attr("Tdense: list({float, int64, string}) >= 0")
          .Attr("num_sparse: int >= 0")
          .Attr("sparse_types: list({float, int64, string}) >= 0")
          .Attr("ragged_value_types: list({float, int64, string}) >= 0")
          .Attr("ragged_split_types: list({int32, int64}) >= 0")
          .Attr("dense_shapes: list(shape) >= 0")
          .Doc("Parses the features of one or a batch of serialized Examples.")
          .Shape(ParseExampleV2Shape));
  registry.Add(OpDefBuilder("ParseSingleExample")
                   .Input("serialized: string")
                   .Input("dense_defaults: Tdense")
                   .Output("sparse_indices: num_sparse * int64")
                   .Output("sparse_values: sparse_types")
                   .Output("sparse_shapes: num_sparse * int64")
                   .Output("dense_values: Tdense")
                   .Attr("num_sparse: int >= 0")
                   .Attr("sparse_keys: list(string) >= 0")
                   .Attr("dense_keys: list(string) >= 0")
                   .Attr("sparse_types: list({float, int64, string}) >= 0")
                   .Attr("Tdense: list({float, int64, string}) >= 0")
                   .Attr("dense_shapes: list(shape) >= 0")
                   .Doc("Parses the features of one serialized Example.")
                   .Shape(ParseSingleExampleShape));
}

}  // namespace

void RegisterParsingOps(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("DecodeCSV")
          .Input("records: string")
          .Input("record_defaults: OUT_TYPE")
          .Output("output: OUT_TYPE")
          .Attr("OUT_TYPE: list({float, double, int32, int64, string}) >= 1")
          .Attr("field_delim: string = ','")
          .Attr("use_quote_delim: bool = true")
          .Attr("na_value: string = ''")
          .Attr("select_cols: list(int) = []")
          .Doc("Parses comma-separated values into one tensor per column.")
          .Shape(DecodeCsvShape));
  registry.Add(
      OpDefBuilder("_DecodeCSVAndPack")
          .Input("records: string")
          .Input("record_defaults: OUT_TYPE")
          .Output("packed: T")
          .Attr("OUT_TYPE: list({float, double, int32, int64, string}) >= 1")
          .Attr("field_delim: string = ','")
          .Attr("use_quote_delim: bool = true")
          .Attr("na_value: string = ''")
          .Attr("select_cols: list(int) = []")
          .Attr("T: {float, double, int32, int64, string}")
          .Attr("axis: int")
          .Doc("DecodeCSV, with the columns packed into one tensor along the "
               "first or the last axis.")
          .Shape(DecodeCsvAndPackShape));
  registry.Add(OpDefBuilder("ParseTensor")
                   .Input("serialized: string")
                   .Output("output: out_type")
                   .Attr("out_type: type")
                   .Doc("Parses a serialized TensorProto.")
                   .Shape(shapes::Unknown));
  registry.Add(OpDefBuilder("SerializeTensor")
                   .Input("tensor: T")
                   .Output("serialized: string")
                   .Attr("T: type")
                   .Doc("Serializes a tensor as a TensorProto.")
                   .Shape(shapes::Scalar));
  AddParseExample(registry);
  RegisterSequenceParsingOps(registry);
}

}  // namespace weft
