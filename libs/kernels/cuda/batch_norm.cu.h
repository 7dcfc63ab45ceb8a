// Launches of FusedBatchNorm and its gradient for floats. Per-channel sums are
// double and have one order, so the bits are always the same.
#ifndef WEFT_LIBS_KERNELS_CUDA_BATCH_NORM_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_BATCH_NORM_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"

namespace weft::cuda {

// Elements are [outer, channels, inner]: NHWC with inner 1, or NCHW.
struct BatchNormArgs {
  int64_t outer = 0, channels = 0, inner = 1;
  float epsilon = 0;
  float average_factor = 1;  // weight of the new value in the running ones
  bool is_training = true;
};

// `running` are inputs: used in inference, and averaged with the new values if
// the factor is not 1. `mean` and `variance` are saved for the gradient;
// `new_mean` and `new_variance` are the updated running values.
struct BatchNormTensors {
  const float *x, *scale, *offset, *running_mean, *running_variance;
  float *y, *new_mean, *new_variance, *mean, *variance;
};
void LaunchBatchNorm(const BatchNormArgs& args, const BatchNormTensors& tensors,
                     cudaStream_t stream);

// `sums` has room for 2 doubles per channel.
struct BatchNormGradTensors {
  const float *dy, *x, *scale, *mean, *variance;
  float *dx, *dscale, *doffset;
  double* sums;
};
void LaunchBatchNormGrad(const BatchNormArgs& args,
                         const BatchNormGradTensors& tensors,
                         cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_BATCH_NORM_CU_H_
