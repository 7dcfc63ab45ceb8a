// Ops that parse sequences (tf.SequenceExample).
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/parsing/example_shapes.h"
#include "libs/ops/parsing/op_groups.h"

namespace weft {
namespace {

absl::StatusOr<size_t> ListLength(const InferenceContext& c,
                                  absl::string_view types) {
  ASSIGN_OR_RETURN(const auto list, c.GetAttr<DataTypeVector>(types));
  return list.size();
}

absl::Status CheckListLength(absl::string_view list, size_t length,
                             absl::string_view number, int64_t count) {
  if (static_cast<int64_t>(length) == count) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "len(", list, ") (", length, ") must match ", number, " (", count, ")"));
}

// The length of list `types`, which must equal attr `number`.
absl::StatusOr<int64_t> CountOf(const InferenceContext& c,
                                absl::string_view types,
                                absl::string_view number) {
  ASSIGN_OR_RETURN(const size_t length, ListLength(c, types));
  ASSIGN_OR_RETURN(const int64_t count, c.GetAttr<int64_t>(number));
  RETURN_IF_ERROR(CheckListLength(types, length, number, count));
  return count;
}

// The number of features of each kind in one part. Attrs with numbers,
// including those of dense features if the op has one, must agree with the
// types.
struct Counts {
  int64_t sparse = 0;
  int64_t dense = 0;
  int64_t ragged = 0;
};

absl::StatusOr<Counts> CountPart(const InferenceContext& c,
                                 const std::string& prefix,
                                 const std::string& dense_types,
                                 const std::string& dense_number,
                                 bool has_ragged) {
  Counts counts;
  ASSIGN_OR_RETURN(counts.sparse,
                   CountOf(c, absl::StrCat(prefix, "sparse_types"),
                           absl::StrCat("N", prefix, "sparse")));
  ASSIGN_OR_RETURN(const size_t dense, ListLength(c, dense_types));
  counts.dense = static_cast<int64_t>(dense);
  if (!dense_number.empty()) {
    RETURN_IF_ERROR(CountOf(c, dense_types, dense_number).status());
  }
  if (!has_ragged) return counts;
  const std::string values = absl::StrCat(prefix, "ragged_value_types");
  const std::string splits = absl::StrCat(prefix, "ragged_split_types");
  ASSIGN_OR_RETURN(const size_t ragged, ListLength(c, values));
  ASSIGN_OR_RETURN(const size_t split_types, ListLength(c, splits));
  counts.ragged = static_cast<int64_t>(ragged);
  RETURN_IF_ERROR(CheckListLength(values, ragged,
                                  absl::StrCat("len(", splits, ")"),
                                  static_cast<int64_t>(split_types)));
  return counts;
}

// Sets the output shapes of all three ops; `batch` is the shape of the input.
absl::Status SetSequenceShapes(InferenceContext& c, const PartialShape& batch,
                               const Counts& context, const Counts& lists,
                               bool has_lengths) {
  ExampleShapes outputs(c, batch);
  outputs.SetSparse(context.sparse, 1);
  RETURN_IF_ERROR(
      outputs.SetDense("context_dense_shapes", context.dense, batch));
  outputs.SetVectors(context.ragged);
  outputs.SetSplits(context.ragged);
  outputs.SetSparse(lists.sparse, 2);
  PartialShape steps = batch;
  if (steps.has_rank()) steps.AddDim(PartialShape::kUnknown);
  RETURN_IF_ERROR(
      outputs.SetDense("feature_list_dense_shapes", lists.dense, steps));
  if (has_lengths) outputs.SetAll(lists.dense, batch);
  outputs.SetVectors(lists.ragged);
  outputs.SetSplits(lists.ragged);
  outputs.SetVectors(lists.ragged);
  return absl::OkStatus();
}

constexpr char kContext[] = "context_";
constexpr char kLists[] = "feature_list_";
constexpr char kListTypes[] = "feature_list_dense_types";

absl::Status ParseSequenceExampleShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape batch, c.InputWithRank(0, 1));
  if (!batch.has_rank()) batch = PartialShape::OfRank(1);
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  ASSIGN_OR_RETURN(
      const Counts context,
      CountPart(c, kContext, "Tcontext_dense", "Ncontext_dense", false));
  ASSIGN_OR_RETURN(const Counts lists, CountPart(c, kLists, kListTypes,
                                                 "Nfeature_list_dense", false));
  return SetSequenceShapes(c, batch, context, lists, /*has_lengths=*/true);
}

absl::Status ParseSequenceExampleV2Shape(InferenceContext& c) {
  const PartialShape& batch = c.input(0);
  if (batch.has_rank() && batch.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shape must be at most rank 1 but is rank ", batch.rank(),
                     " for input 0"));
  }
  ASSIGN_OR_RETURN(const Counts context,
                   CountPart(c, kContext, "Tcontext_dense", "", true));
  ASSIGN_OR_RETURN(const Counts lists, CountPart(c, kLists, kListTypes,
                                                 "Nfeature_list_dense", true));
  return SetSequenceShapes(c, batch, context, lists, /*has_lengths=*/true);
}

absl::Status ParseSingleSequenceExampleShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 1).status());
  ASSIGN_OR_RETURN(
      const Counts context,
      CountPart(c, kContext, "Tcontext_dense", "Ncontext_dense", false));
  ASSIGN_OR_RETURN(const Counts lists, CountPart(c, kLists, kListTypes,
                                                 "Nfeature_list_dense", false));
  return SetSequenceShapes(c, PartialShape::Scalar(), context, lists,
                           /*has_lengths=*/false);
}

constexpr char kTypes[] = ": list({float, int64, string}) >= 0 = []";
constexpr char kSplitTypes[] = ": list({int32, int64}) >= 0 = []";

// Adds the outputs, and the attrs for their numbers and types. The versions
// differ in whether an attr has the number of dense context features, and
// whether there are lengths and ragged features.
struct Version {
  bool has_context_number;
  bool has_lengths;
  bool has_ragged;
};

void AddNumbers(OpDefBuilder& builder, const Version& version) {
  builder.Attr("Ncontext_sparse: int >= 0 = 0")
      .Attr("Nfeature_list_sparse: int >= 0 = 0")
      .Attr("Nfeature_list_dense: int >= 0 = 0");
  if (version.has_context_number) {
    builder.Attr("Ncontext_dense: int >= 0 = 0");
  }
}

void AddTypes(OpDefBuilder& builder, const Version& version) {
  builder.Attr(absl::StrCat("context_sparse_types", kTypes))
      .Attr(absl::StrCat("Tcontext_dense", kTypes))
      .Attr(absl::StrCat("feature_list_dense_types", kTypes))
      .Attr("context_dense_shapes: list(shape) >= 0 = []")
      .Attr(absl::StrCat("feature_list_sparse_types", kTypes))
      .Attr("feature_list_dense_shapes: list(shape) >= 0 = []");
  if (!version.has_ragged) return;
  builder.Attr(absl::StrCat("context_ragged_value_types", kTypes))
      .Attr(absl::StrCat("context_ragged_split_types", kSplitTypes))
      .Attr(absl::StrCat("feature_list_ragged_value_types", kTypes))
      .Attr(absl::StrCat("feature_list_ragged_split_types", kSplitTypes));
}

OpDefBuilder& WithOutputs(OpDefBuilder& builder, const Version& version) {
  AddNumbers(builder, version);
  AddTypes(builder, version);
  builder.Output("context_sparse_indices: Ncontext_sparse * int64")
      .Output("context_sparse_values: context_sparse_types")
      .Output("context_sparse_shapes: Ncontext_sparse * int64")
      .Output("context_dense_values: Tcontext_dense");
  if (version.has_ragged) {
    builder.Output("context_ragged_values: context_ragged_value_types")
        .Output("context_ragged_row_splits: context_ragged_split_types");
  }
  builder.Output("feature_list_sparse_indices: Nfeature_list_sparse * int64")
      .Output("feature_list_sparse_values: feature_list_sparse_types")
      .Output("feature_list_sparse_shapes: Nfeature_list_sparse * int64")
      .Output("feature_list_dense_values: feature_list_dense_types");
  if (version.has_lengths) {
    builder.Output("feature_list_dense_lengths: Nfeature_list_dense * int64");
  }
  if (!version.has_ragged) return builder;
  return builder
      .Output("feature_list_ragged_values: feature_list_ragged_value_types")
      .Output(
          "feature_list_ragged_outer_splits: feature_list_ragged_split_types")
      .Output(
          "feature_list_ragged_inner_splits: feature_list_ragged_split_types");
}

}  // namespace

void RegisterSequenceParsingOps(OpRegistry& registry) {
  registry.Add(
      WithOutputs(
          OpDefBuilder("ParseSequenceExample")
              .Input("serialized: string")
              .Input("debug_name: string")
              .Input("context_dense_defaults: Tcontext_dense")
              .Attr("feature_list_dense_missing_assumed_empty: list(string) >= "
                    "0")
              .Attr("context_sparse_keys: list(string) >= 0")
              .Attr("context_dense_keys: list(string) >= 0")
              .Attr("feature_list_sparse_keys: list(string) >= 0")
              .Attr("feature_list_dense_keys: list(string) >= 0"),
          {.has_context_number = true,
           .has_lengths = true,
           .has_ragged = false})
          .Doc("Parses the features of a batch of serialized SequenceExamples.")
          .Shape(ParseSequenceExampleShape));
  registry.Add(
      WithOutputs(OpDefBuilder("ParseSequenceExampleV2")
                      .Input("serialized: string")
                      .Input("debug_name: string")
                      .Input("context_sparse_keys: string")
                      .Input("context_dense_keys: string")
                      .Input("context_ragged_keys: string")
                      .Input("feature_list_sparse_keys: string")
                      .Input("feature_list_dense_keys: string")
                      .Input("feature_list_ragged_keys: string")
                      .Input("feature_list_dense_missing_assumed_empty: bool")
                      .Input("context_dense_defaults: Tcontext_dense"),
                  {.has_context_number = false,
                   .has_lengths = true,
                   .has_ragged = true})
          .Doc("Parses the features of one or a batch of serialized "
               "SequenceExamples.")
          .Shape(ParseSequenceExampleV2Shape));
  registry.Add(
      WithOutputs(
          OpDefBuilder("ParseSingleSequenceExample")
              .Input("serialized: string")
              .Input("feature_list_dense_missing_assumed_empty: string")
              .Input("context_sparse_keys: Ncontext_sparse * string")
              .Input("context_dense_keys: Ncontext_dense * string")
              .Input("feature_list_sparse_keys: Nfeature_list_sparse * string")
              .Input("feature_list_dense_keys: Nfeature_list_dense * string")
              .Input("context_dense_defaults: Tcontext_dense")
              .Input("debug_name: string"),
          {.has_context_number = true,
           .has_lengths = false,
           .has_ragged = false})
          .Doc("Parses the features of one serialized SequenceExample.")
          .Shape(ParseSingleSequenceExampleShape));
}

}  // namespace weft
