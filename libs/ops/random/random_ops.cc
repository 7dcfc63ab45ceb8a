// Random ops: streams of numbers determined by the attributes seed and seed2,
// or different in each session if both are 0.
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/random/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

absl::Status ShapeFromInput(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  c.set_output(0, c.input_as_shape(0));
  return absl::OkStatus();
}

absl::Status UniformIntShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  RETURN_IF_ERROR(c.InputWithRank(2, 0).status());
  return ShapeFromInput(c);
}

absl::Status MultinomialShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape logits, c.InputWithRank(0, 2));
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  const int64_t samples = c.input_scalar(1).value_or(PartialShape::kUnknown);
  c.set_output(0,
               PartialShape::Matrix(
                   logits.has_rank() ? logits.dim(0) : PartialShape::kUnknown,
                   samples < 0 ? PartialShape::kUnknown : samples));
  return absl::OkStatus();
}

absl::Status StatelessMultinomialShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const PartialShape seed, c.InputWithRank(2, 1));
  if (seed.has_rank() && seed.dim(0) >= 0 && seed.dim(0) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("seed must have shape [2], not ", seed.ToString()));
  }
  return MultinomialShape(c);
}

absl::Status CandidateShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape classes, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(const int64_t num_true, c.GetAttr<int64_t>("num_true"));
  ASSIGN_OR_RETURN(const int64_t samples, c.GetAttr<int64_t>("num_sampled"));
  c.set_output(0, PartialShape::Vector(samples));
  c.set_output(1,
               PartialShape::Matrix(
                   classes.has_rank() ? classes.dim(0) : PartialShape::kUnknown,
                   num_true));
  c.set_output(2, PartialShape::Vector(samples));
  return absl::OkStatus();
}

OpDefBuilder Seeded(absl::string_view name) {
  OpDefBuilder builder(name);
  builder.Attr("seed: int = 0").Attr("seed2: int = 0").Stateful();
  return builder;
}

}  // namespace

void RegisterRandomOps(OpRegistry& registry) {
  RegisterStatelessRandomOps(registry);
  for (const char* op :
       {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    registry.Add(Seeded(op)
                     .Input("shape: T")
                     .Output("output: dtype")
                     .Attr("dtype: {half, bfloat16, float, double}")
                     .Attr("T: {int32, int64}")
                     .Doc("Random numbers from a distribution.")
                     .Shape(ShapeFromInput));
  }
  registry.Add(Seeded("RandomUniformInt")
                   .Input("shape: T")
                   .Input("minval: Tout")
                   .Input("maxval: Tout")
                   .Output("output: Tout")
                   .Attr("Tout: {int32, int64}")
                   .Attr("T: {int32, int64}")
                   .Doc("Uniform random integers in [minval, maxval).")
                   .Shape(UniformIntShape));
  registry.Add(Seeded("RandomShuffle")
                   .Input("value: T")
                   .Output("output: T")
                   .Attr("T: type")
                   .Doc("Shuffles the rows.")
                   .Shape(shapes::Unchanged));
  registry.Add(Seeded("Multinomial")
                   .Input("logits: T")
                   .Input("num_samples: int32")
                   .Output("output: output_dtype")
                   .Attr("T: realnumbertype")
                   .Attr("output_dtype: {int32, int64} = DT_INT64")
                   .Doc("Samples classes from the distribution of each row.")
                   .Shape(MultinomialShape));
  registry.Add(OpDefBuilder("StatelessMultinomial")
                   .Input("logits: T")
                   .Input("num_samples: int32")
                   .Input("seed: Tseed")
                   .Output("output: output_dtype")
                   .Attr("T: realnumbertype")
                   .Attr("Tseed: {int32, int64} = DT_INT64")
                   .Attr("output_dtype: {int32, int64} = DT_INT64")
                   .Doc("Samples classes from the distribution of each row, "
                        "determined by the seed.")
                   .Shape(StatelessMultinomialShape));
  registry.Add(Seeded("LogUniformCandidateSampler")
                   .Input("true_classes: int64")
                   .Output("sampled_candidates: int64")
                   .Output("true_expected_count: float")
                   .Output("sampled_expected_count: float")
                   .Attr("num_true: int >= 1")
                   .Attr("num_sampled: int >= 1")
                   .Attr("unique: bool")
                   .Attr("range_max: int >= 1")
                   .Doc("Samples classes, favoring low numbers, and returns "
                        "their expected counts.")
                   .Shape(CandidateShape));
}

}  // namespace weft
