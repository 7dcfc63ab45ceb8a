// Ops on gradient accumulators, for both kinds of handles: references to two
// strings (ConditionalAccumulator, ...) and resources.
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/resource/handle_family.h"
#include "libs/ops/resource/op_groups.h"

namespace weft {
namespace {

absl::Status ApplyShape(InferenceContext& c) {
  return c.InputWithRank(1, 0).status();
}

// The average has the shape with which its accumulator was declared.
absl::Status TakeShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  const Node* maker = c.input_source(0).node;
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

OpDefBuilder Accumulator(const HandleFamily& family,
                         const HandleOpNames& names) {
  OpDefBuilder builder = family.Maker(names);
  builder.Attr("dtype: numbertype")
      .Attr("shape: shape")
      .Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Attr("reduction_type: {'MEAN', 'SUM'} = 'MEAN'")
      .Doc("An accumulator of gradients, for synchronous training.");
  return builder;
}

void AddDense(const HandleFamily& family) {
  family.Add(Accumulator(
      family, {"ConditionalAccumulator", "ResourceConditionalAccumulator"}));
  family.Add(family
                 .User({"AccumulatorApplyGradient",
                        "ResourceAccumulatorApplyGradient"})
                 .Input("local_step: int64")
                 .Input("gradient: dtype")
                 .Attr("dtype: numbertype")
                 .Doc("Adds a gradient, unless it is from an earlier step.")
                 .Shape(ApplyShape));
  family.Add(
      family
          .User({"AccumulatorTakeGradient", "ResourceAccumulatorTakeGradient"})
          .Input("num_required: int32")
          .Output("average: dtype")
          .Attr("dtype: numbertype")
          .Doc("Waits for enough gradients and takes their average.")
          .Shape(TakeShape));
  family.Add(family
                 .User({"AccumulatorNumAccumulated",
                        "ResourceAccumulatorNumAccumulated"})
                 .Output("num_accumulated: int32")
                 .Doc("Returns the number of gradients in this step.")
                 .Shape(shapes::Scalar));
  family.Add(family
                 .User({"AccumulatorSetGlobalStep",
                        "ResourceAccumulatorSetGlobalStep"})
                 .Input("new_global_step: int64")
                 .Doc("Sets the step whose gradients are accepted.")
                 .Shape(ApplyShape));
}

void AddSparse(const HandleFamily& family) {
  family.Add(Accumulator(family, {"SparseConditionalAccumulator"}));
  family.Add(family.User({"SparseAccumulatorApplyGradient"})
                 .Input("local_step: int64")
                 .Input("gradient_indices: int64")
                 .Input("gradient_values: dtype")
                 .Input("gradient_shape: int64")
                 .Attr("dtype: numbertype")
                 .Attr("has_known_shape: bool")
                 .Doc("Adds a gradient for some rows.")
                 .Shape(ApplyShape));
  family.Add(family.User({"SparseAccumulatorTakeGradient"})
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
  const HandleFamily references(registry, HandleKind::kReference);
  AddDense(references);
  AddDense(HandleFamily(registry, HandleKind::kResource));
  // There are no sparse ones for resources.
  AddSparse(references);
}

}  // namespace weft
