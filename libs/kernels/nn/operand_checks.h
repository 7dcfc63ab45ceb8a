// Checks of operands for CPU and GPU kernels. Errors are INVALID_ARGUMENT, with
// TensorFlow's texts.
#ifndef WEFT_LIBS_KERNELS_NN_OPERAND_CHECKS_H_
#define WEFT_LIBS_KERNELS_NN_OPERAND_CHECKS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/shape.h"

namespace weft {

// A tensor viewed as [outer, channels, inner].
struct ChannelView {
  int64_t outer = 1;
  int64_t channels = 1;
  int64_t inner = 1;
};

// The view for BiasAdd; too few dimensions are an error.
absl::StatusOr<ChannelView> ViewChannels(const TensorShape& shape,
                                         bool channels_first);
bool AreChannelsFirst(const OpKernelConstruction& construction);
absl::Status CheckBias(const TensorShape& value, const TensorShape& bias,
                       int64_t channels, bool channels_first);

// Checks a vector of FusedBatchNorm with one element per channel.
absl::Status CheckChannels(const TensorShape& vector, int64_t channels,
                           absl::string_view what);
absl::Status CheckBackprop(const TensorShape& x, const TensorShape& y_backprop);

// Checks the gradient of an activation against the features.
absl::Status CheckGradientShapes(const TensorShape& gradient,
                                 const TensorShape& other);

// SoftmaxCrossEntropyWithLogits: the common shape after broadcasting.
absl::StatusOr<TensorShape> CrossEntropyShape(const TensorShape& logits,
                                              const TensorShape& labels);
// SparseSoftmaxCrossEntropyWithLogits.
absl::Status CheckSparseShapes(const TensorShape& logits,
                               const TensorShape& labels);

// The index types of TopKV2.
using SmallIndexTypes = TypeList<int16_t, int32_t, int64_t>;
// The output shape of TopK (k is `attr`) and TopKV2 (k is an input); its last
// dimension is k.
absl::StatusOr<TensorShape> TopKShape(const OpKernelContext& context,
                                      int64_t attr);

// Checks the operands of InTopK (k is `attr`) and InTopKV2 (k is an input in
// host memory), and returns k.
absl::StatusOr<int64_t> InTopKOf(const OpKernelContext& context, int64_t attr);

// LRN and LRNGrad.
struct LrnAttrs {
  int64_t radius = 5;
  float bias = 1, alpha = 1, beta = 0.5f;

  static absl::StatusOr<LrnAttrs> Read(
      const OpKernelConstruction& construction);
};
absl::Status CheckLrnInputs(const OpKernelContext& context);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_OPERAND_CHECKS_H_
