// Builders of ops on images, one for each op, with TensorFlow's names. Lists of
// 4 numbers have one entry for each dimension of the images.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_NN_WINDOW_OPS_H_
#define WEFT_LIBS_OPS_NN_WINDOW_OPS_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

using FourInts = std::vector<int64_t>;

struct Conv2DAttrs {
  std::vector<int64_t> explicit_paddings;  // for padding "EXPLICIT": 8
  std::string data_format = "NHWC";
  FourInts dilations = {1, 1, 1, 1};
};
// `padding` is "SAME", "VALID" or "EXPLICIT".
Output Conv2D(const Scope& scope, const Input& input, const Input& filter,
              const FourInts& strides, const std::string& padding,
              const Conv2DAttrs& attrs = {});
Output Conv2DBackpropFilter(const Scope& scope, const Input& input,
                            const Input& filter_sizes,
                            const Input& out_backprop, const FourInts& strides,
                            const std::string& padding,
                            const Conv2DAttrs& attrs = {});
Output Conv2DBackpropInput(const Scope& scope, const Input& input_sizes,
                           const Input& filter, const Input& out_backprop,
                           const FourInts& strides, const std::string& padding,
                           const Conv2DAttrs& attrs = {});
Output DepthwiseConv2dNative(const Scope& scope, const Input& input,
                             const Input& filter, const FourInts& strides,
                             const std::string& padding,
                             const Conv2DAttrs& attrs = {});
Output DepthwiseConv2dNativeBackpropFilter(
    const Scope& scope, const Input& input, const Input& filter_sizes,
    const Input& out_backprop, const FourInts& strides,
    const std::string& padding, const Conv2DAttrs& attrs = {});
Output DepthwiseConv2dNativeBackpropInput(
    const Scope& scope, const Input& input_sizes, const Input& filter,
    const Input& out_backprop, const FourInts& strides,
    const std::string& padding, const Conv2DAttrs& attrs = {});

Output AvgPool(const Scope& scope, const Input& value, const FourInts& ksize,
               const FourInts& strides, const std::string& padding,
               const std::string& data_format = "NHWC");
Output AvgPoolGrad(const Scope& scope, const Input& orig_input_shape,
                   const Input& grad, const FourInts& ksize,
                   const FourInts& strides, const std::string& padding,
                   const std::string& data_format = "NHWC");
Output MaxPool(const Scope& scope, const Input& input, const FourInts& ksize,
               const FourInts& strides, const std::string& padding,
               const std::string& data_format = "NHWC");
Output MaxPoolGrad(const Scope& scope, const Input& orig_input,
                   const Input& orig_output, const Input& grad,
                   const FourInts& ksize, const FourInts& strides,
                   const std::string& padding,
                   const std::string& data_format = "NHWC");
Output MaxPoolGradGrad(const Scope& scope, const Input& orig_input,
                       const Input& orig_output, const Input& grad,
                       const FourInts& ksize, const FourInts& strides,
                       const std::string& padding,
                       const std::string& data_format = "NHWC");

// output = input / (bias + alpha * sum) ^ beta, where sum adds the squares of a
// pixel's channels from depth_radius before to depth_radius after.
struct LRNAttrs {
  int64_t depth_radius = 5;
  float bias = 1;
  float alpha = 1;
  float beta = 0.5f;
};
Output LRN(const Scope& scope, const Input& input, const LRNAttrs& attrs = {});
Output LRNGrad(const Scope& scope, const Input& input_grads,
               const Input& input_image, const Input& output_image,
               const LRNAttrs& attrs = {});

struct FusedBatchNormAttrs {
  float epsilon = 1e-4f;
  float exponential_avg_factor = 1;
  std::string data_format = "NHWC";
  bool is_training = true;
};
struct FusedBatchNormOutputs {
  Output y;
  Output batch_mean;
  Output batch_variance;
};
// The latest version: scale * (x - m) / sqrt(v + epsilon) + offset for each
// channel. In training, m and v are those of the batch (v divided by the number
// n of values), and batch_mean and batch_variance are f * m + (1 - f) * mean
// and f * v * n / (n - 1) + (1 - f) * variance, with f =
// exponential_avg_factor; so with f = 1 `mean` and `variance` may be empty. In
// inference, m, v and both outputs are `mean` and `variance`.
FusedBatchNormOutputs FusedBatchNormV3(const Scope& scope, const Input& x,
                                       const Input& scale, const Input& offset,
                                       const Input& mean, const Input& variance,
                                       const FusedBatchNormAttrs& attrs = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_NN_WINDOW_OPS_H_
