// Ops of neural networks: activations, biases, softmax and its losses, top-k.
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/nn/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

// Inputs 0 and 1 and output 0 have the same shape.
absl::Status SameShapes(InferenceContext& c) {
  absl::StatusOr<PartialShape> merged = c.input(0).MergeWith(c.input(1));
  if (!merged.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shapes must be equal, but are ", c.input(0).ToString(),
                     " and ", c.input(1).ToString()));
  }
  c.set_output(0, *std::move(merged));
  return absl::OkStatus();
}

absl::StatusOr<bool> ChannelsFirst(const InferenceContext& c) {
  ASSIGN_OR_RETURN(std::string format, c.GetAttr<std::string>("data_format"));
  return format == "NCHW";
}

absl::Status BiasAddShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(bool channels_first, ChannelsFirst(c));
  ASSIGN_OR_RETURN(PartialShape value,
                   c.InputWithRankAtLeast(0, channels_first ? 3 : 2));
  ASSIGN_OR_RETURN(PartialShape bias, c.InputWithRank(1, 1));
  if (!value.has_rank()) return absl::OkStatus();
  const int channel = channels_first ? 1 : value.rank() - 1;
  ASSIGN_OR_RETURN(int64_t size, InferenceContext::MergeDims(value.dim(channel),
                                                             bias.dim(0)));
  value.set_dim(channel, size);
  c.set_output(0, std::move(value));
  return absl::OkStatus();
}

absl::Status BiasAddGradShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(bool channels_first, ChannelsFirst(c));
  ASSIGN_OR_RETURN(PartialShape value,
                   c.InputWithRankAtLeast(0, channels_first ? 3 : 2));
  int64_t channels = PartialShape::kUnknown;
  if (value.has_rank()) {
    channels = value.dim(channels_first ? 1 : value.rank() - 1);
  }
  c.set_output(0, PartialShape::Vector(channels));
  return absl::OkStatus();
}

absl::Status SoftmaxShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape logits, c.InputWithRankAtLeast(0, 1));
  c.set_output(0, std::move(logits));
  return absl::OkStatus();
}

absl::Status CrossEntropyShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape,
                   shapes::Broadcast(c.input(0), c.input(1)));
  if (shape.has_rank() && shape.rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Shape must be rank 2 but is rank ", shape.rank(), " for input 0"));
  }
  if (!shape.has_rank()) shape = PartialShape::OfRank(2);
  c.set_output(0, PartialShape::Vector(shape.dim(0)));
  c.set_output(1, std::move(shape));
  return absl::OkStatus();
}

absl::Status SparseCrossEntropyShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape features, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(PartialShape labels, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(int64_t batch,
                   InferenceContext::MergeDims(features.dim(0), labels.dim(0)));
  features.set_dim(0, batch);
  c.set_output(0, PartialShape::Vector(batch));
  c.set_output(1, std::move(features));
  return absl::OkStatus();
}

absl::Status InTopKShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape predictions, c.InputWithRank(0, 2));
  ASSIGN_OR_RETURN(PartialShape targets, c.InputWithRank(1, 1));
  ASSIGN_OR_RETURN(int64_t batch, InferenceContext::MergeDims(
                                      predictions.dim(0), targets.dim(0)));
  c.set_output(0, PartialShape::Vector(batch));
  return absl::OkStatus();
}

// k is -1 if it is unknown.
absl::Status TopKShape(InferenceContext& c, int64_t k) {
  ASSIGN_OR_RETURN(PartialShape input, c.InputWithRankAtLeast(0, 1));
  if (input.has_rank()) {
    const int64_t columns = input.dim(input.rank() - 1);
    if (k >= 0 && columns >= 0 && columns < k) {
      return absl::InvalidArgumentError(absl::StrCat(
          "input must have last dimension >= k = ", k, " but is ", columns));
    }
    input.set_dim(input.rank() - 1, k < 0 ? PartialShape::kUnknown : k);
  }
  c.set_output(0, input);
  c.set_output(1, std::move(input));
  return absl::OkStatus();
}

absl::Status TopKAttrShape(InferenceContext& c) {
  ASSIGN_OR_RETURN(const int64_t k, c.GetAttr<int64_t>("k"));
  return TopKShape(c, k);
}

absl::Status TopKInputShape(InferenceContext& c) {
  RETURN_IF_ERROR(c.InputWithRank(1, 0).status());
  return TopKShape(c, c.input_scalar(1).value_or(PartialShape::kUnknown));
}

constexpr char kFloatingT[] = "T: {half, bfloat16, float, double}";

// An activation, and its gradient in terms of its input or its output.
void AddActivation(OpRegistry& registry, const char* name, const char* gradient,
                   const char* types, const char* grad_input) {
  registry.Add(OpDefBuilder(name)
                   .Input("features: T")
                   .Output("activations: T")
                   .Attr(types)
                   .Doc("An element-wise activation.")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder(gradient)
                   .Input("gradients: T")
                   .Input(absl::StrCat(grad_input, ": T"))
                   .Output("backprops: T")
                   .Attr(types)
                   .Doc("The gradient of an activation.")
                   .Shape(SameShapes));
}

void AddActivations(OpRegistry& registry) {
  AddActivation(registry, "Relu", "ReluGrad", "T: realnumbertype", "features");
  AddActivation(registry, "Relu6", "Relu6Grad", "T: realnumbertype",
                "features");
  AddActivation(registry, "Elu", "EluGrad", kFloatingT, "outputs");
  AddActivation(registry, "Selu", "SeluGrad", kFloatingT, "outputs");
  AddActivation(registry, "Softplus", "SoftplusGrad", kFloatingT, "features");
  AddActivation(registry, "Softsign", "SoftsignGrad", kFloatingT, "features");
  constexpr char kDefaulted[] = "T: {half, bfloat16, float, double} = DT_FLOAT";
  registry.Add(OpDefBuilder("LeakyRelu")
                   .Input("features: T")
                   .Output("activations: T")
                   .Attr("alpha: float = 0.2")
                   .Attr(kDefaulted)
                   .Doc("max(features, features * alpha).")
                   .Shape(shapes::Unchanged));
  registry.Add(OpDefBuilder("LeakyReluGrad")
                   .Input("gradients: T")
                   .Input("features: T")
                   .Output("backprops: T")
                   .Attr("alpha: float = 0.2")
                   .Attr(kDefaulted)
                   .Doc("The gradient of LeakyRelu.")
                   .Shape(SameShapes));
}

void AddBiases(OpRegistry& registry) {
  registry.Add(OpDefBuilder("BiasAdd")
                   .Input("value: T")
                   .Input("bias: T")
                   .Output("output: T")
                   .Attr("T: numbertype")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Doc("Adds one number to each channel.")
                   .Shape(BiasAddShape));
  registry.Add(OpDefBuilder("BiasAddGrad")
                   .Input("out_backprop: T")
                   .Output("output: T")
                   .Attr("T: numbertype")
                   .Attr("data_format: {'NHWC', 'NCHW'} = 'NHWC'")
                   .Doc("Sums each channel.")
                   .Shape(BiasAddGradShape));
}

void AddSoftmax(OpRegistry& registry) {
  registry.Add(OpDefBuilder("Softmax")
                   .Input("logits: T")
                   .Output("softmax: T")
                   .Attr(kFloatingT)
                   .Doc("exp(logits) / sum(exp(logits)) for each row.")
                   .Shape(SoftmaxShape));
  registry.Add(OpDefBuilder("LogSoftmax")
                   .Input("logits: T")
                   .Output("logsoftmax: T")
                   .Attr(kFloatingT)
                   .Doc("The logarithm of Softmax.")
                   .Shape(SoftmaxShape));
  registry.Add(
      OpDefBuilder("SoftmaxCrossEntropyWithLogits")
          .Input("features: T")
          .Input("labels: T")
          .Output("loss: T")
          .Output("backprop: T")
          .Attr(kFloatingT)
          .Doc("Cross entropy of softmax and a distribution, for each row.")
          .Shape(CrossEntropyShape));
  registry.Add(OpDefBuilder("SparseSoftmaxCrossEntropyWithLogits")
                   .Input("features: T")
                   .Input("labels: Tlabels")
                   .Output("loss: T")
                   .Output("backprop: T")
                   .Attr(kFloatingT)
                   .Attr("Tlabels: {int32, int64} = DT_INT64")
                   .Doc("Cross entropy of softmax and a class, for each row.")
                   .Shape(SparseCrossEntropyShape));
}

void AddTopK(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("InTopK")
          .Input("predictions: float")
          .Input("targets: T")
          .Output("precision: bool")
          .Attr("k: int")
          .Attr("T: {int32, int64} = DT_INT32")
          .Doc(
              "Returns whether each target is among the k largest predictions.")
          .Shape(InTopKShape));
  registry.Add(
      OpDefBuilder("InTopKV2")
          .Input("predictions: float")
          .Input("targets: T")
          .Input("k: T")
          .Output("precision: bool")
          .Attr("T: {int32, int64} = DT_INT32")
          .Doc(
              "Returns whether each target is among the k largest predictions.")
          .Shape(InTopKShape));
  registry.Add(OpDefBuilder("TopK")
                   .Input("input: T")
                   .Output("values: T")
                   .Output("indices: int32")
                   .Attr("k: int >= 0")
                   .Attr("sorted: bool = true")
                   .Attr("T: realnumbertype")
                   .Doc("The k largest numbers of each row (old form).")
                   .Shape(TopKAttrShape));
  registry.Add(OpDefBuilder("TopKV2")
                   .Input("input: T")
                   .Input("k: Tk")
                   .Output("values: T")
                   .Output("indices: index_type")
                   .Attr("sorted: bool = true")
                   .Attr("T: realnumbertype")
                   .Attr("Tk: {int16, int32, int64} = DT_INT32")
                   .Attr("index_type: {int16, int32, int64} = DT_INT32")
                   .Doc("The k largest numbers of each row, and their indices.")
                   .Shape(TopKInputShape));
}

}  // namespace

void RegisterNnOps(OpRegistry& registry) {
  AddActivations(registry);
  AddBiases(registry);
  AddSoftmax(registry);
  AddTopK(registry);
  RegisterNnWindowOps(registry);
}

}  // namespace weft
