#include "libs/kernels/nn/operand_checks.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/nn/windows.h"

namespace weft {

namespace {

absl::StatusOr<int64_t> ReadK(const Tensor& tensor) {
  if (!tensor.shape().IsScalar()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "k must be scalar, got shape ", tensor.shape().ToString()));
  }
  int64_t k = 0;
  RETURN_IF_ERROR(DispatchType(SmallIndexTypes{}, tensor.dtype(),
                               [&]<typename K>(TypeTag<K>) {
                                 k = tensor.scalar<K>();
                                 return absl::OkStatus();
                               }));
  if (k < 0) {
    return absl::InvalidArgumentError(absl::StrCat("Need k >= 0, got ", k));
  }
  return k;
}

}  // namespace

absl::StatusOr<ChannelView> ViewChannels(const TensorShape& shape,
                                         bool channels_first) {
  if (shape.rank() < (channels_first ? 3 : 2)) {
    return absl::InvalidArgumentError(
        absl::StrCat("Input tensor must be at least ", channels_first ? 3 : 2,
                     "D: ", shape.ToString()));
  }
  const int channel = channels_first ? 1 : shape.rank() - 1;
  ChannelView view;
  for (int i = 0; i < channel; ++i) view.outer *= shape.dim(i);
  view.channels = shape.dim(channel);
  for (int i = channel + 1; i < shape.rank(); ++i) view.inner *= shape.dim(i);
  return view;
}

bool AreChannelsFirst(const OpKernelConstruction& construction) {
  return construction.GetAttr<std::string>("data_format").value_or("NHWC") ==
         "NCHW";
}

absl::Status CheckBias(const TensorShape& value, const TensorShape& bias,
                       int64_t channels, bool channels_first) {
  if (bias.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Biases must be 1D: ", bias.ToString()));
  }
  if (bias.dim(0) == channels) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Must provide as many biases as the ",
      channels_first ? "channel dimension" : "last dimension",
      " of the input tensor: ", bias.ToString(), " vs. ", value.ToString()));
}

absl::Status CheckChannels(const TensorShape& vector, int64_t channels,
                           absl::string_view what) {
  if (vector.IsVector() && vector.dim(0) == channels) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what, " must have the same number of elements as the channels of x, [",
      channels, "], got ", vector.ToString()));
}

absl::Status CheckBackprop(const TensorShape& x,
                           const TensorShape& y_backprop) {
  if (x == y_backprop) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "x and y_backprop must have same shape, but x has shape ", x.ToString(),
      " and y_backprop has shape ", y_backprop.ToString()));
}

absl::Status CheckGradientShapes(const TensorShape& gradient,
                                 const TensorShape& other) {
  if (gradient == other) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("g and a must be the same size: ", gradient.ToString(),
                   " vs. ", other.ToString()));
}

absl::StatusOr<TensorShape> CrossEntropyShape(const TensorShape& logits,
                                              const TensorShape& labels) {
  const absl::Status error = absl::InvalidArgumentError(
      absl::StrCat("logits and labels must be broadcastable: logits_size=",
                   logits.ToString(), " labels_size=", labels.ToString()));
  if (logits.rank() != 2 || labels.rank() != 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "logits and labels must be either 2-dimensional, or broadcasted to be "
        "2-dimensional: logits_size=",
        logits.ToString(), " labels_size=", labels.ToString()));
  }
  TensorShape shape = logits;
  for (int i = 0; i < 2; ++i) {
    if (logits.dim(i) == labels.dim(i) || labels.dim(i) == 1) continue;
    if (logits.dim(i) != 1) return error;
    shape.set_dim(i, labels.dim(i));
  }
  return shape;
}

absl::Status CheckSparseShapes(const TensorShape& logits,
                               const TensorShape& labels) {
  if (logits.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("logits must be 2-D, but got shape ", logits.ToString()));
  }
  if (labels.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("labels must be 1-D, but got shape ", labels.ToString()));
  }
  if (logits.dim(0) != labels.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "logits and labels must have the same first dimension, got logits "
        "shape ",
        logits.ToString(), " and labels shape ", labels.ToString()));
  }
  if (logits.dim(1) > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Must have at least one class, but got logits shape ",
                   logits.ToString()));
}

absl::StatusOr<TensorShape> TopKShape(const OpKernelContext& context,
                                      int64_t attr) {
  const Tensor& input = context.input(0);
  int64_t k = attr;
  if (context.num_inputs() == 2) {
    ASSIGN_OR_RETURN(k, ReadK(context.input(1)));
  }
  if (input.rank() < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input must be >= 1-D, got shape ", input.shape().ToString()));
  }
  TensorShape shape = input.shape();
  const int64_t columns = shape.dim(shape.rank() - 1);
  if (columns < k) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input must have at least k columns. Had ", columns, ", needed ", k));
  }
  shape.set_dim(shape.rank() - 1, k);
  return shape;
}

absl::StatusOr<int64_t> InTopKOf(const OpKernelContext& context, int64_t attr) {
  const TensorShape& predictions = context.input(0).shape();
  const TensorShape& targets = context.input(1).shape();
  if (predictions.rank() != 2) {
    return absl::InvalidArgumentError("predictions must be 2-dimensional");
  }
  if (targets.rank() != 1) {
    return absl::InvalidArgumentError("targets must be 1-dimensional");
  }
  if (predictions.dim(0) != targets.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("First dimension of predictions ", predictions.dim(0),
                     " must match length of targets ", targets.dim(0)));
  }
  if (context.num_inputs() < 3) return attr;
  const Tensor& k = context.input(2);
  if (k.rank() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("k must be 0-D, got shape ", k.shape().ToString()));
  }
  return k.dtype() == DT_INT64 ? k.scalar<int64_t>()
                               : int64_t{k.scalar<int32_t>()};
}

absl::StatusOr<LrnAttrs> LrnAttrs::Read(
    const OpKernelConstruction& construction) {
  LrnAttrs attrs;
  ASSIGN_OR_RETURN(attrs.radius, construction.GetAttr<int64_t>("depth_radius"));
  ASSIGN_OR_RETURN(attrs.bias, construction.GetAttr<float>("bias"));
  ASSIGN_OR_RETURN(attrs.alpha, construction.GetAttr<float>("alpha"));
  ASSIGN_OR_RETURN(attrs.beta, construction.GetAttr<float>("beta"));
  if (attrs.radius >= 0) return attrs;
  return absl::InvalidArgumentError(
      absl::StrCat("depth_radius = ", attrs.radius, " must not be negative"));
}

absl::Status CheckLrnInputs(const OpKernelContext& context) {
  const int count = context.num_inputs();
  for (int i = 0; i < count; ++i) {
    RETURN_IF_ERROR(CheckImages(context.input(i), count > 1 ? "inputs" : "in"));
    if (context.input(i).shape() == context.input(0).shape()) continue;
    return absl::InvalidArgumentError(
        "input_grads, input_image, and out_image should have the same shape");
  }
  return absl::OkStatus();
}

}  // namespace weft
