// Stateless random ops: the seed alone determines the numbers. The first
// versions take the seed, the second the results of
// StatelessRandomGetKeyCounter.
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/random/op_groups.h"

namespace weft {
namespace {

// Input `i` is a vector of `size`.
absl::Status CheckVector(InferenceContext& c, int i, int64_t size) {
  ASSIGN_OR_RETURN(const PartialShape shape, c.InputWithRank(i, 1));
  if (!shape.has_rank()) return absl::OkStatus();
  return InferenceContext::MergeDims(shape.dim(0), size).status();
}

absl::Status BySeedShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  RETURN_IF_ERROR(CheckVector(c, 1, 2));
  for (int i = 2; i < c.num_inputs(); ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  }
  c.set_output(0, c.input_as_shape(0));
  return absl::OkStatus();
}

absl::Status ByKeyShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(0, 1).status());
  RETURN_IF_ERROR(CheckVector(c, 1, 1));
  RETURN_IF_ERROR(c.InputWithRank(2, 1).status());
  for (int i = 3; i < c.num_inputs(); ++i) {
    RETURN_IF_ERROR(c.InputWithRank(i, 0).status());
  }
  c.set_output(0, c.input_as_shape(0));
  return absl::OkStatus();
}

absl::Status KeyCounterShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckVector(c, 0, 2));
  c.set_output(0, PartialShape::Vector(1));
  c.set_output(1, PartialShape::Vector(2));
  if (c.num_outputs() > 2) c.set_output(2, PartialShape::Scalar());
  return absl::OkStatus();
}

void AddFloatsBySeed(OpRegistry& registry, const char* name, const char* doc) {
  registry.Add(OpDefBuilder(name)
                   .Input("shape: T")
                   .Input("seed: Tseed")
                   .Output("output: dtype")
                   .Attr("dtype: {half, bfloat16, float, double} = DT_FLOAT")
                   .Attr("T: {int32, int64} = DT_INT32")
                   .Attr("Tseed: {int32, int64} = DT_INT64")
                   .Doc(doc)
                   .Shape(BySeedShape));
}

void RegisterBySeed(OpRegistry& registry) {
  AddFloatsBySeed(registry, "StatelessRandomUniform",
                  "Uniform random numbers in [0, 1), determined by a seed.");
  AddFloatsBySeed(registry, "StatelessRandomNormal",
                  "Normal random numbers, determined by a seed.");
  AddFloatsBySeed(registry, "StatelessTruncatedNormal",
                  "Truncated normal random numbers with absolute values below "
                  "2, determined by a seed.");
  registry.Add(OpDefBuilder("StatelessRandomUniformInt")
                   .Input("shape: T")
                   .Input("seed: Tseed")
                   .Input("minval: dtype")
                   .Input("maxval: dtype")
                   .Output("output: dtype")
                   .Attr("dtype: {int32, int64}")
                   .Attr("T: {int32, int64}")
                   .Attr("Tseed: {int32, int64} = DT_INT64")
                   .Doc("Uniform random integers in [minval, maxval), "
                        "determined by a seed.")
                   .Shape(BySeedShape));
  registry.Add(OpDefBuilder("StatelessRandomUniformFullInt")
                   .Input("shape: T")
                   .Input("seed: Tseed")
                   .Output("output: dtype")
                   .Attr("dtype: {int32, int64, uint32, uint64} = DT_UINT64")
                   .Attr("T: {int32, int64} = DT_INT32")
                   .Attr("Tseed: {int32, int64, uint32, uint64} = DT_INT64")
                   .Doc("Uniform random integers over the whole type, "
                        "determined by a seed.")
                   .Shape(BySeedShape));
}

void AddFloatsByKey(OpRegistry& registry, const char* name, const char* doc) {
  registry.Add(OpDefBuilder(name)
                   .Input("shape: Tshape")
                   .Input("key: uint64")
                   .Input("counter: uint64")
                   .Input("alg: int32")
                   .Output("output: dtype")
                   .Attr("dtype: {half, bfloat16, float, double} = DT_FLOAT")
                   .Attr("Tshape: {int32, int64} = DT_INT32")
                   .Doc(doc)
                   .Shape(ByKeyShape));
}

void RegisterByKey(OpRegistry& registry) {
  AddFloatsByKey(
      registry, "StatelessRandomUniformV2",
      "Uniform random numbers in [0, 1), determined by a key and counter.");
  AddFloatsByKey(registry, "StatelessRandomNormalV2",
                 "Normal random numbers, determined by a key and counter.");
  AddFloatsByKey(registry, "StatelessTruncatedNormalV2",
                 "Truncated normal random numbers with absolute values below "
                 "2, determined by a key and counter.");
  registry.Add(OpDefBuilder("StatelessRandomUniformIntV2")
                   .Input("shape: Tshape")
                   .Input("key: uint64")
                   .Input("counter: uint64")
                   .Input("alg: int32")
                   .Input("minval: dtype")
                   .Input("maxval: dtype")
                   .Output("output: dtype")
                   .Attr("dtype: {int32, int64, uint32, uint64}")
                   .Attr("Tshape: {int32, int64} = DT_INT32")
                   .Doc("Uniform random integers in [minval, maxval), "
                        "determined by a key and counter.")
                   .Shape(ByKeyShape));
  registry.Add(OpDefBuilder("StatelessRandomUniformFullIntV2")
                   .Input("shape: Tshape")
                   .Input("key: uint64")
                   .Input("counter: uint64")
                   .Input("alg: int32")
                   .Output("output: dtype")
                   .Attr("dtype: {int32, int64, uint32, uint64} = DT_UINT64")
                   .Attr("Tshape: {int32, int64} = DT_INT32")
                   .Doc("Uniform random integers over the whole type, "
                        "determined by a key and counter.")
                   .Shape(ByKeyShape));
}

}  // namespace

void RegisterStatelessRandomOps(OpRegistry& registry) {
  RegisterBySeed(registry);
  RegisterByKey(registry);
  registry.Add(OpDefBuilder("StatelessRandomGetKeyCounter")
                   .Input("seed: Tseed")
                   .Output("key: uint64")
                   .Output("counter: uint64")
                   .Attr("Tseed: {int32, int64} = DT_INT64")
                   .Doc("Scrambles a seed to a key and counter.")
                   .Shape(KeyCounterShape));
  registry.Add(OpDefBuilder("StatelessRandomGetKeyCounterAlg")
                   .Input("seed: Tseed")
                   .Output("key: uint64")
                   .Output("counter: uint64")
                   .Output("alg: int32")
                   .Attr("Tseed: {int32, int64} = DT_INT64")
                   .Doc("Scrambles a seed to a key and counter, and returns "
                        "their algorithm.")
                   .Shape(KeyCounterShape));
  registry.Add(
      OpDefBuilder("StatelessRandomGetAlg")
          .Output("alg: int32")
          .Stateful()
          .Doc("Returns the device's algorithm for stateless random numbers.")
          .Shape(shapes::Scalar));
}

}  // namespace weft
