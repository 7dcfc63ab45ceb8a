#include "libs/kernels/nn/operand_checks.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace weft {

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

}  // namespace weft
