// Ops that read and write files: those of Savers, and for whole files. Ops on
// readers are in reader_ops.cc.
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/io/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

// Checks the prefix, and that there are as many names as slices.
absl::StatusOr<int64_t> CheckNames(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0));
  ASSIGN_OR_RETURN(const PartialShape names, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(const PartialShape slices, c.InputWithRank(2, 1));
  return InferenceContext::MergeDims(names.dim(0), slices.dim(0));
}

absl::Status CheckCount(int64_t names, int tensors) {
  if (names == PartialShape::kUnknown || names == tensors) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Got ", names, " tensor names but ", tensors, " tensors."));
}

absl::Status SaveV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int64_t names, CheckNames(c));
  return CheckCount(names, c.num_inputs() - 3);
}

absl::Status SaveShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0));
  ASSIGN_OR_RETURN(const PartialShape names, c.InputWithRank(1, 1));
  return CheckCount(names.dim(0), c.num_inputs() - 2);
}

// The marked variables are not among the inputs.
absl::Status SaveVariablesShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const std::string mark, c.GetAttr<std::string>("mark"));
  return mark.empty() ? SaveV2Shape(c) : CheckNames(c).status();
}

// A whole tensor may have any shape; a slice specification states its shape.
absl::Status RestoreV2Shape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int64_t names, CheckNames(c));
  RETURN_IF_ERROR(CheckCount(names, c.num_outputs()));
  const std::optional<Tensor>& slices = c.input_tensor(2);
  if (!slices.has_value()) return absl::OkStatus();
  for (int i = 0; i < c.num_outputs(); ++i) {
    const std::string& text = slices->flat<std::string>()[i];
    if (text.empty()) continue;
    ASSIGN_OR_RETURN(const auto parsed, checkpoint::ParseShapeAndSlice(text));
    c.set_output(i, parsed.slice_shape);
  }
  return absl::OkStatus();
}

absl::Status CheckScalarInputs(InferenceContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 0));
  }
  return absl::OkStatus();
}

absl::Status RestoreShape(InferenceContext& c) { return CheckScalarInputs(c); }

absl::Status RestoreSliceShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckScalarInputs(c));
  const std::optional<Tensor>& text = c.input_tensor(2);
  if (!text.has_value() || text->scalar<std::string>().empty()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto parsed,
                   checkpoint::ParseShapeAndSlice(text->scalar<std::string>()));
  c.set_output(0, parsed.slice_shape);
  return absl::OkStatus();
}

absl::Status MarkVariablesShape(InferenceContext&) { return absl::OkStatus(); }

absl::Status MergeV2CheckpointsShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1));
  return c.InputWithRank(1, 0).status();
}

absl::Status ReadFileShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return shapes::Scalar(c);
}

absl::Status WriteFileShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  return c.InputWithRank(1, 0).status();
}

absl::Status MatchingFilesShape(InferenceContext& c) {
  const PartialShape& pattern = c.input(0);
  if (pattern.has_rank() && pattern.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a scalar or a vector of patterns is wanted, not ",
                     pattern.ToString()));
  }
  c.set_output(0, PartialShape({PartialShape::kUnknown}));
  return absl::OkStatus();
}

absl::Status VocabRemappingShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  ASSIGN_OR_RETURN(const auto size, c.GetAttr<int64_t>("num_new_vocab"));
  c.set_output(0, PartialShape({size}));
  c.set_output(1, PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status RemappedMatrixShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(3, 1).status());
  ASSIGN_OR_RETURN(const auto rows, c.GetAttr<int64_t>("num_rows"));
  ASSIGN_OR_RETURN(const auto columns, c.GetAttr<int64_t>("num_cols"));
  c.set_output(0, PartialShape({rows, columns}));
  return absl::OkStatus();
}

absl::Status ShardedFilenameShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckScalarInputs(c));
  return shapes::Scalar(c);
}

}  // namespace

void RegisterIoOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("SaveV2")
                   .Input("prefix: string")
                   .Input("tensor_names: string")
                   .Input("shape_and_slices: string")
                   .Input("tensors: dtypes")
                   .Attr("dtypes: list(type) >= 1")
                   .Stateful()
                   .Doc("Writes tensors to a V2 checkpoint with one data file.")
                   .Shape(SaveV2Shape));
  registry.Add(
      OpDefBuilder("_SaveVariables")
          .Input("prefix: string")
          .Input("tensor_names: string")
          .Input("shape_and_slices: string")
          .Input("tensors: dtypes")
          .Input("references: Ref(reference_dtypes)")
          .Input("handles: N * resource")
          .Attr("dtypes: list(type) >= 0")
          .Attr("reference_dtypes: list(type) >= 0")
          .Attr("N: int >= 0")
          .Attr("handle_dtypes: list(type) >= 0")
          .Attr("order: list(int)")
          .Attr("snapshot_groups: list(int)")
          .Attr("max_bytes_per_second: int = 0")
          .Attr("mark: string = ''")
          .Stateful()
          .Doc("SaveV2 of values and variables that holds no lock and no copy "
               "of variables while it writes. With a mark, saves what "
               "_MarkVariables has marked. Created only by the runtime.")
          .Shape(SaveVariablesShape));
  registry.Add(OpDefBuilder("_MarkVariables")
                   .Input("tensors: dtypes")
                   .Input("references: Ref(reference_dtypes)")
                   .Input("handles: N * resource")
                   .Attr("dtypes: list(type) >= 0")
                   .Attr("reference_dtypes: list(type) >= 0")
                   .Attr("N: int >= 0")
                   .Attr("handle_dtypes: list(type) >= 0")
                   .Attr("order: list(int)")
                   .Attr("snapshot_groups: list(int)")
                   .Attr("mark: string")
                   .Attr("max_hold_micros: int >= 0")
                   .Stateful()
                   .Doc("Keeps values and snapshots of variables for the "
                        "_SaveVariables with this mark; runs while no step "
                        "writes the variables. Created only by the runtime.")
                   .Shape(MarkVariablesShape));
  registry.Add(OpDefBuilder("RestoreV2")
                   .Input("prefix: string")
                   .Input("tensor_names: string")
                   .Input("shape_and_slices: string")
                   .Output("tensors: dtypes")
                   .Attr("dtypes: list(type) >= 1")
                   .Stateful()
                   .Doc("Reads tensors, or slices of them, from a checkpoint.")
                   .Shape(RestoreV2Shape));
  registry.Add(OpDefBuilder("Save")
                   .Input("filename: string")
                   .Input("tensor_names: string")
                   .Input("data: T")
                   .Attr("T: list(type) >= 1")
                   .Stateful()
                   .Doc("Writes tensors to a V1 checkpoint; for graphs from "
                        "before TensorFlow 1.0.")
                   .Shape(SaveShape));
  registry.Add(OpDefBuilder("SaveSlices")
                   .Input("filename: string")
                   .Input("tensor_names: string")
                   .Input("shapes_and_slices: string")
                   .Input("data: T")
                   .Attr("T: list(type) >= 1")
                   .Stateful()
                   .Doc("Writes tensors, or slices of them, to a V1 "
                        "checkpoint; for graphs from before TensorFlow 1.0.")
                   .Shape(SaveV2Shape));
  registry.Add(OpDefBuilder("Restore")
                   .Input("file_pattern: string")
                   .Input("tensor_name: string")
                   .Output("tensor: dt")
                   .Attr("dt: type")
                   .Attr("preferred_shard: int = -1")
                   .Stateful()
                   .Doc("Reads a tensor from a checkpoint; for graphs from "
                        "before TensorFlow 1.0.")
                   .Shape(RestoreShape));
  registry.Add(OpDefBuilder("RestoreSlice")
                   .Input("file_pattern: string")
                   .Input("tensor_name: string")
                   .Input("shape_and_slice: string")
                   .Output("tensor: dt")
                   .Attr("dt: type")
                   .Attr("preferred_shard: int = -1")
                   .Stateful()
                   .Doc("Reads a tensor, or a slice of one, from a checkpoint; "
                        "for graphs from before TensorFlow 1.0.")
                   .Shape(RestoreSliceShape));
  registry.Add(OpDefBuilder("MergeV2Checkpoints")
                   .Input("checkpoint_prefixes: string")
                   .Input("destination_prefix: string")
                   .Attr("delete_old_dirs: bool = true")
                   .Attr("allow_missing_files: bool = false")
                   .Stateful()
                   .Doc("Merges the shards of a save into one checkpoint.")
                   .Shape(MergeV2CheckpointsShape));
  registry.Add(OpDefBuilder("GenerateVocabRemapping")
                   .Input("new_vocab_file: string")
                   .Input("old_vocab_file: string")
                   .Output("remapping: int64")
                   .Output("num_present: int32")
                   .Attr("new_vocab_offset: int >= 0")
                   .Attr("num_new_vocab: int >= 0")
                   .Attr("old_vocab_size: int >= -1 = -1")
                   .Doc("Returns the line number in an old vocabulary file of "
                        "each line of a new one, or -1.")
                   .Shape(VocabRemappingShape));
  registry.Add(OpDefBuilder("LoadAndRemapMatrix")
                   .Input("ckpt_path: string")
                   .Input("old_tensor_name: string")
                   .Input("row_remapping: int64")
                   .Input("col_remapping: int64")
                   .Input("initializing_values: float")
                   .Output("output_matrix: float")
                   .Attr("num_rows: int >= 0")
                   .Attr("num_cols: int >= 1")
                   .Attr("max_rows_in_memory: int = -1")
                   .Stateful()
                   .Doc("Reads a matrix from a checkpoint, reorders its rows "
                        "and columns, and initializes new ones.")
                   .Shape(RemappedMatrixShape));
  registry.Add(OpDefBuilder("ReadFile")
                   .Input("filename: string")
                   .Output("contents: string")
                   .Doc("Returns the contents of a file.")
                   .Shape(ReadFileShape));
  registry.Add(
      OpDefBuilder("WriteFile")
          .Input("filename: string")
          .Input("contents: string")
          .Stateful()
          .Doc("Writes a string to a file, and creates missing directories.")
          .Shape(WriteFileShape));
  registry.Add(OpDefBuilder("MatchingFiles")
                   .Input("pattern: string")
                   .Output("filenames: string")
                   .Doc("Returns the paths that match any of the patterns, "
                        "sorted; '*', '?' and '[a-z]' match parts of a name.")
                   .Shape(MatchingFilesShape));
  registry.Add(OpDefBuilder("ShardedFilename")
                   .Input("basename: string")
                   .Input("shard: int32")
                   .Input("num_shards: int32")
                   .Output("filename: string")
                   .Doc("Returns the name of one shard of a save.")
                   .Shape(ShardedFilenameShape));
  registry.Add(
      OpDefBuilder("ShardedFilespec")
          .Input("basename: string")
          .Input("num_shards: int32")
          .Output("filename: string")
          .Doc("Returns the pattern of the names of all shards of a save.")
          .Shape(ShardedFilenameShape));
  RegisterReaderOps(registry);
}

}  // namespace weft
