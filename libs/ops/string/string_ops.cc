// Ops on strings.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/math/math_shapes.h"
#include "libs/ops/standard_ops.h"
#include "libs/ops/state/variable_shapes.h"

namespace weft {
namespace {

absl::Status DecodeRawShape(InferenceContext& c) {
  PartialShape shape = c.input(0);
  if (!shape.has_rank()) return absl::OkStatus();
  shape.AddDim(PartialShape::kUnknown);
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// All inputs other than scalars have the same shape; an input of unknown rank
// may be a scalar.
absl::Status JoinShape(InferenceContext& c) {
  PartialShape shape = PartialShape::Scalar();
  int first = -1;
  bool is_sure = true;
  for (int i = 0; i < c.num_inputs(); ++i) {
    const PartialShape& input = c.input(i);
    if (!input.has_rank()) is_sure = false;
    if (!input.has_rank() || input.rank() == 0) continue;
    if (first < 0) {
      first = i;
      shape = input;
      continue;
    }
    ASSIGN_OR_RETURN(shape, MergeInputShapes(shape, first, input, i));
  }
  if (is_sure || first >= 0) c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

absl::Status SplitShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape::Matrix(PartialShape::kUnknown, 2));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(2, PartialShape::Vector(2));
  return absl::OkStatus();
}

absl::Status SubstrShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape part,
                   MergeInputShapes(c.input(1), 1, c.input(2), 2));
  ASSIGN_OR_RETURN(PartialShape shape, shapes::Broadcast(c.input(0), part));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

// Rows for the segments, of unknown number.
absl::Status SegmentJoinShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  const std::optional<int64_t> segments = c.input_scalar(2);
  const PartialShape& ids = c.input(1);
  if (!ids.has_rank() || !c.input(0).has_rank()) return absl::OkStatus();
  if (ids.rank() > c.input(0).rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "segment_ids of shape ", ids.ToString(),
        " have more dimensions than inputs of shape ", c.input(0).ToString()));
  }
  c.set_output(
      0, ConcatenateShapes(PartialShape::Vector(segments && *segments >= 0
                                                    ? *segments
                                                    : PartialShape::kUnknown),
                           c.input(0), ids.rank()));
  return absl::OkStatus();
}

absl::Status NGramsShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  ASSIGN_OR_RETURN(const PartialShape splits, c.InputWithRank(1, 1));
  c.set_output(0, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(1, splits.has_rank()
                      ? splits
                      : PartialShape::Vector(PartialShape::kUnknown));
  return absl::OkStatus();
}

// All inputs after the first are scalars.
absl::Status PatternShape(InferenceContext& c) {
  for (int i = 1; i < c.num_inputs(); ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  }
  return shapes::Unchanged(c);
}

void RegisterRegexOps(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("RegexFullMatch")
          .Input("input: string")
          .Input("pattern: string")
          .Output("output: bool")
          .Doc("Returns whether the pattern matches each whole string.")
          .Shape(PatternShape));
  registry.Add(OpDefBuilder("RegexReplace")
                   .Input("input: string")
                   .Input("pattern: string")
                   .Input("rewrite: string")
                   .Output("output: string")
                   .Attr("replace_global: bool = true")
                   .Doc("Replaces matches of the pattern in each string.")
                   .Shape(PatternShape));
  registry.Add(OpDefBuilder("StaticRegexFullMatch")
                   .Input("input: string")
                   .Output("output: bool")
                   .Attr("pattern: string")
                   .Doc("RegexFullMatch with a pattern that is an attribute.")
                   .Shape(PatternShape));
  registry.Add(OpDefBuilder("StaticRegexReplace")
                   .Input("input: string")
                   .Output("output: string")
                   .Attr("pattern: string")
                   .Attr("rewrite: string")
                   .Attr("replace_global: bool = true")
                   .Doc("RegexReplace with a pattern that is an attribute.")
                   .Shape(PatternShape));
}

}  // namespace

void RegisterStringOps(OpRegistry& registry) {
  RegisterRegexOps(registry);
  registry.Add(OpDefBuilder("AsString")
                   .Input("input: T")
                   .Output("output: string")
                   .Attr("T: {float, double, int32, uint8, int16, int8, int64, "
                         "bfloat16, uint16, half, uint32, uint64, complex64, "
                         "complex128, bool, variant, string}")
                   .Attr("precision: int = -1")
                   .Attr("scientific: bool = false")
                   .Attr("shortest: bool = false")
                   .Attr("width: int = -1")
                   .Attr("fill: string = ''")
                   .Doc("Converts numbers, bools or strings to text.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("DecodeBase64")
                   .Input("input: string")
                   .Output("output: string")
                   .Doc("Decodes web-safe base64.")
                   .Shape(shapes::Unchanged));
  registry.Add(
      OpDefBuilder("DecodeRaw")
          .Input("bytes: string")
          .Output("output: out_type")
          .Attr("out_type: {half, float, double, int32, uint16, uint8, int16, "
                "int8, int64, complex64, complex128, bool, bfloat16}")
          .Attr("little_endian: bool = true")
          .Doc("Reinterprets the bytes of strings as numbers.")
          .Shape(DecodeRawShape));
  registry.Add(OpDefBuilder("EncodeBase64")
                   .Input("input: string")
                   .Output("output: string")
                   .Attr("pad: bool = false")
                   .Doc("Encodes bytes as web-safe base64.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("ReduceJoin")
                   .Input("inputs: string")
                   .Input("reduction_indices: int32")
                   .Output("output: string")
                   .Attr("keep_dims: bool = false")
                   .Attr("separator: string = ''")
                   .Doc("Joins the strings along some axes; the first axis "
                        "varies fastest.")
                   .Shape(math_shapes::Reduction));
  registry.Add(
      OpDefBuilder("StringJoin")
          .Input("inputs: N * string")
          .Output("output: string")
          .Attr("N: int >= 0")
          .Attr("separator: string = ''")
          .Doc("Joins strings element by element; scalars are broadcast.")
          .Shape(JoinShape));
  registry.Add(OpDefBuilder("StringLength")
                   .Input("input: string")
                   .Output("output: int32")
                   .Attr("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
                   .Doc("The number of bytes or characters of each string.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("StringNGrams")
                   .Input("data: string")
                   .Input("data_splits: Tsplits")
                   .Output("ngrams: string")
                   .Output("ngrams_splits: Tsplits")
                   .Attr("separator: string")
                   .Attr("ngram_widths: list(int) >= 0")
                   .Attr("left_pad: string")
                   .Attr("right_pad: string")
                   .Attr("pad_width: int")
                   .Attr("preserve_short_sequences: bool")
                   .Attr("Tsplits: {int32, int64} = DT_INT64")
                   .Doc("Joins adjacent strings of each row to n-grams.")
                   .Shape(NGramsShape));
  registry.Add(OpDefBuilder("StringLower")
                   .Input("input: string")
                   .Output("output: string")
                   .Attr("encoding: string = ''")
                   .Doc("Converts each string to lower case.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("StringUpper")
                   .Input("input: string")
                   .Output("output: string")
                   .Attr("encoding: string = ''")
                   .Doc("Converts each string to upper case.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("StringStrip")
                   .Input("input: string")
                   .Output("output: string")
                   .Doc("Strips whitespace from both ends of each string.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("StringSplit")
                   .Input("input: string")
                   .Input("delimiter: string")
                   .Output("indices: int64")
                   .Output("values: string")
                   .Output("shape: int64")
                   .Attr("skip_empty: bool = true")
                   .Doc("Splits each string into a sparse tensor.")
                   .Shape(SplitShape));
  registry.Add(OpDefBuilder("StringSplitV2")
                   .Input("input: string")
                   .Input("sep: string")
                   .Output("indices: int64")
                   .Output("values: string")
                   .Output("shape: int64")
                   .Attr("maxsplit: int = -1")
                   .Doc("Splits each string into a sparse tensor.")
                   .Shape(SplitShape));
  registry.Add(OpDefBuilder("StringToHashBucket")
                   .Input("string_tensor: string")
                   .Output("output: int64")
                   .Attr("num_buckets: int >= 1")
                   .Doc("Hashes each string to a bucket; the hash may change.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("StringToHashBucketFast")
                   .Input("input: string")
                   .Output("output: int64")
                   .Attr("num_buckets: int >= 1")
                   .Doc("Hashes each string to a bucket with a fixed hash.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("StringToHashBucketStrong")
                   .Input("input: string")
                   .Output("output: int64")
                   .Attr("num_buckets: int >= 1")
                   .Attr("key: list(int)")
                   .Doc("Hashes each string to a bucket with a keyed hash.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("StringToNumber")
                   .Input("string_tensor: string")
                   .Output("output: out_type")
                   .Attr("out_type: {float, double, int32, int64, uint32, "
                         "uint64} = DT_FLOAT")
                   .Doc("Converts each string to a number.")
                   .Shape(shapes::Unchanged));
  registry.Add(
      OpDefBuilder("Substr")
          .Input("input: string")
          .Input("pos: T")
          .Input("len: T")
          .Output("output: string")
          .Attr("T: {int32, int64}")
          .Attr("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
          .Doc("Returns a substring of each string; positions broadcast.")
          .Shape(SubstrShape));
  registry.Add(OpDefBuilder("UnsortedSegmentJoin")
                   .Input("inputs: string")
                   .Input("segment_ids: Tindices")
                   .Input("num_segments: Tnumsegments")
                   .Output("output: string")
                   .Attr("separator: string = ''")
                   .Attr("Tindices: {int32, int64}")
                   .Attr("Tnumsegments: {int32, int64} = DT_INT32")
                   .Doc("Joins the strings of each segment.")
                   .Shape(SegmentJoinShape));
}

}  // namespace weft
