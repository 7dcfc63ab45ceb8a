// Ops on accumulators of gradients, with handles of both kinds: references to
// two strings (ConditionalAccumulator, ...) and resources.
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

absl::Status HandleShape(InferenceContext& c) {
  const bool is_reference = IsRefType(c.output_type(0));
  c.set_output(0,
               is_reference ? PartialShape::Vector(2) : PartialShape::Scalar());
  return absl::OkStatus();
}

absl::Status ApplyShape(InferenceContext& c) {
  return c.InputWithRank(1, 0).status();
}

// The average has the shape that its accumulator was declared with.
absl::Status TakeShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  const Node* maker = c.input_endpoint(0).node;
  if (maker == nullptr || c.num_outputs() != 1) return absl::OkStatus();
  const auto* shape = maker->attr<PartialShape>("shape");
  if (shape != nullptr) c.set_output(0, *shape);
  return absl::OkStatus();
}

absl::Status SparseTakeShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  c.set_output(0, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(2, PartialShape::Vector(PartialShape::kUnknown));
  return absl::OkStatus();
}

OpDefBuilder Accumulator(const std::string& name, const char* output) {
  OpDefBuilder builder(name);
  builder.Output(output)
      .Attr("dtype: numbertype")
      .Attr("shape: shape")
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Attr("reduction_type: {'MEAN', 'SUM'} = 'MEAN'")
      .Stateful()
      .Doc("An accumulator of gradients, for synchronous training.")
      .Shape(HandleShape);
  return builder;
}

// With handles of one kind.
void AddDense(OpRegistry& registry, bool is_resource) {
  const char* const prefix = is_resource ? "Resource" : "";
  const auto use = [&](const char* name) {
    OpDefBuilder builder(absl::StrCat(prefix, "Accumulator", name));
    builder.Input(is_resource ? "handle: resource" : "handle: Ref(string)");
    if (is_resource) builder.Stateful();
    return builder;
  };
  registry.Add(
      Accumulator(absl::StrCat(prefix, "ConditionalAccumulator"),
                  is_resource ? "handle: resource" : "handle: Ref(string)"));
  registry.Add(use("ApplyGradient")
                   .Input("local_step: int64")
                   .Input("gradient: dtype")
                   .Attr("dtype: numbertype")
                   .Doc("Adds a gradient, unless it is of an old step.")
                   .Shape(ApplyShape));
  registry.Add(use("TakeGradient")
                   .Input("num_required: int32")
                   .Output("average: dtype")
                   .Attr("dtype: numbertype")
                   .Doc("Waits for enough gradients and takes their average.")
                   .Shape(TakeShape));
  registry.Add(use("NumAccumulated")
                   .Output("num_accumulated: int32")
                   .Doc("How many gradients have come in this step.")
                   .Shape(shapes::Scalar));
  registry.Add(use("SetGlobalStep")
                   .Input("new_global_step: int64")
                   .Doc("Sets the step whose gradients are taken.")
                   .Shape(ApplyShape));
}

void AddSparse(OpRegistry& registry) {
  registry.Add(
      Accumulator("SparseConditionalAccumulator", "handle: Ref(string)"));
  registry.Add(OpDefBuilder("SparseAccumulatorApplyGradient")
                   .Input("handle: Ref(string)")
                   .Input("local_step: int64")
                   .Input("gradient_indices: int64")
                   .Input("gradient_values: dtype")
                   .Input("gradient_shape: int64")
                   .Attr("dtype: numbertype")
                   .Attr("has_known_shape: bool")
                   .Doc("Adds a gradient of some rows.")
                   .Shape(ApplyShape));
  registry.Add(OpDefBuilder("SparseAccumulatorTakeGradient")
                   .Input("handle: Ref(string)")
                   .Input("num_required: int32")
                   .Output("indices: int64")
                   .Output("values: dtype")
                   .Output("shape: int64")
                   .Attr("dtype: numbertype")
                   .Doc("Waits for enough gradients and takes their average.")
                   .Shape(SparseTakeShape));
}

}  // namespace

void RegisterAccumulatorOps(OpRegistry& registry) {
  AddDense(registry, /*is_resource=*/false);
  AddDense(registry, /*is_resource=*/true);
  AddSparse(registry);
}

}  // namespace weft
