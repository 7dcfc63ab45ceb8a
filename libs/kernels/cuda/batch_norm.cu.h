// Launches of FusedBatchNorm and its gradient, of floats. What belongs to a
// channel is summed in double, in one order: the same bits each time.
#ifndef WEFT_LIBS_KERNELS_CUDA_BATCH_NORM_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_BATCH_NORM_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"

namespace weft::cuda {

// Numbers lie as [outer, channels, inner]: NHWC with inner 1, or NCHW.
struct BatchNormArgs {
  int64_t outer = 0, channels = 0, inner = 1;
  float epsilon = 0;
  float average_factor = 1;  // of the new in the running mean and variance
  bool is_training = true;
};

// `running` are inputs: what is used where it does not train, and averaged with
// where the factor is not 1. `mean` and `variance` are what the gradient needs;
// `new_mean` and `new_variance` the running ones from now on.
struct BatchNormTensors {
  const float *x, *scale, *offset, *running_mean, *running_variance;
  float *y, *new_mean, *new_variance, *mean, *variance;
};
void LaunchBatchNorm(const BatchNormArgs& args, const BatchNormTensors& tensors,
                     cudaStream_t stream);

// `sums`: room for 2 doubles a channel.
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
