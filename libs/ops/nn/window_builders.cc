#include "libs/ops/nn/window_ops.h"

namespace weft::ops {
namespace {

AttrMap ConvAttrs(const FourInts& strides, const std::string& padding,
                  const Conv2DAttrs& attrs) {
  return {{"strides", strides},
          {"padding", padding},
          {"explicit_paddings", attrs.explicit_paddings},
          {"data_format", attrs.data_format},
          {"dilations", attrs.dilations}};
}

AttrMap PoolAttrs(const FourInts& ksize, const FourInts& strides,
                  const std::string& padding, const std::string& data_format) {
  return {{"ksize", ksize},
          {"strides", strides},
          {"padding", padding},
          {"data_format", data_format}};
}

AttrMap AttrsOf(const LRNAttrs& attrs) {
  return {{"depth_radius", attrs.depth_radius},
          {"bias", attrs.bias},
          {"alpha", attrs.alpha},
          {"beta", attrs.beta}};
}

}  // namespace

Output Conv2D(const Scope& scope, const Input& input, const Input& filter,
              const FourInts& strides, const std::string& padding,
              const Conv2DAttrs& attrs) {
  return scope.AddOutput("Conv2D", {input, filter},
                         ConvAttrs(strides, padding, attrs));
}

Output Conv2DBackpropFilter(const Scope& scope, const Input& input,
                            const Input& filter_sizes,
                            const Input& out_backprop, const FourInts& strides,
                            const std::string& padding,
                            const Conv2DAttrs& attrs) {
  return scope.AddOutput("Conv2DBackpropFilter",
                         {input, filter_sizes, out_backprop},
                         ConvAttrs(strides, padding, attrs));
}

Output Conv2DBackpropInput(const Scope& scope, const Input& input_sizes,
                           const Input& filter, const Input& out_backprop,
                           const FourInts& strides, const std::string& padding,
                           const Conv2DAttrs& attrs) {
  return scope.AddOutput("Conv2DBackpropInput",
                         {input_sizes, filter, out_backprop},
                         ConvAttrs(strides, padding, attrs));
}

Output DepthwiseConv2dNative(const Scope& scope, const Input& input,
                             const Input& filter, const FourInts& strides,
                             const std::string& padding,
                             const Conv2DAttrs& attrs) {
  return scope.AddOutput("DepthwiseConv2dNative", {input, filter},
                         ConvAttrs(strides, padding, attrs));
}

Output DepthwiseConv2dNativeBackpropFilter(
    const Scope& scope, const Input& input, const Input& filter_sizes,
    const Input& out_backprop, const FourInts& strides,
    const std::string& padding, const Conv2DAttrs& attrs) {
  return scope.AddOutput("DepthwiseConv2dNativeBackpropFilter",
                         {input, filter_sizes, out_backprop},
                         ConvAttrs(strides, padding, attrs));
}

Output DepthwiseConv2dNativeBackpropInput(
    const Scope& scope, const Input& input_sizes, const Input& filter,
    const Input& out_backprop, const FourInts& strides,
    const std::string& padding, const Conv2DAttrs& attrs) {
  return scope.AddOutput("DepthwiseConv2dNativeBackpropInput",
                         {input_sizes, filter, out_backprop},
                         ConvAttrs(strides, padding, attrs));
}

Output AvgPool(const Scope& scope, const Input& value, const FourInts& ksize,
               const FourInts& strides, const std::string& padding,
               const std::string& data_format) {
  return scope.AddOutput("AvgPool", {value},
                         PoolAttrs(ksize, strides, padding, data_format));
}

Output AvgPoolGrad(const Scope& scope, const Input& orig_input_shape,
                   const Input& grad, const FourInts& ksize,
                   const FourInts& strides, const std::string& padding,
                   const std::string& data_format) {
  return scope.AddOutput("AvgPoolGrad", {orig_input_shape, grad},
                         PoolAttrs(ksize, strides, padding, data_format));
}

Output MaxPool(const Scope& scope, const Input& input, const FourInts& ksize,
               const FourInts& strides, const std::string& padding,
               const std::string& data_format) {
  return scope.AddOutput("MaxPool", {input},
                         PoolAttrs(ksize, strides, padding, data_format));
}

Output MaxPoolGrad(const Scope& scope, const Input& orig_input,
                   const Input& orig_output, const Input& grad,
                   const FourInts& ksize, const FourInts& strides,
                   const std::string& padding, const std::string& data_format) {
  return scope.AddOutput("MaxPoolGrad", {orig_input, orig_output, grad},
                         PoolAttrs(ksize, strides, padding, data_format));
}

Output MaxPoolGradGrad(const Scope& scope, const Input& orig_input,
                       const Input& orig_output, const Input& grad,
                       const FourInts& ksize, const FourInts& strides,
                       const std::string& padding,
                       const std::string& data_format) {
  return scope.AddOutput("MaxPoolGradGrad", {orig_input, orig_output, grad},
                         PoolAttrs(ksize, strides, padding, data_format));
}

Output LRN(const Scope& scope, const Input& input, const LRNAttrs& attrs) {
  return scope.AddOutput("LRN", {input}, AttrsOf(attrs));
}

Output LRNGrad(const Scope& scope, const Input& input_grads,
               const Input& input_image, const Input& output_image,
               const LRNAttrs& attrs) {
  return scope.AddOutput("LRNGrad", {input_grads, input_image, output_image},
                         AttrsOf(attrs));
}

FusedBatchNormOutputs FusedBatchNormV3(const Scope& scope, const Input& x,
                                       const Input& scale, const Input& offset,
                                       const Input& mean, const Input& variance,
                                       const FusedBatchNormAttrs& attrs) {
  const Node* node =
      scope.AddNode("FusedBatchNormV3", {x, scale, offset, mean, variance},
                    {{"epsilon", attrs.epsilon},
                     {"exponential_avg_factor", attrs.exponential_avg_factor},
                     {"data_format", attrs.data_format},
                     {"is_training", attrs.is_training}});
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1), Output(node, 2)};
}

}  // namespace weft::ops
