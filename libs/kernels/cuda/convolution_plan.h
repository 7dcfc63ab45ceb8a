// ConvolutionPlan selects how a GPU computes a convolution. It depends on the
// sizes alone, so that sums have the same order in all runs.
#ifndef WEFT_LIBS_KERNELS_CUDA_CONVOLUTION_PLAN_H_
#define WEFT_LIBS_KERNELS_CUDA_CONVOLUTION_PLAN_H_

#include <cstdint>

#include "libs/kernels/cuda/windows.cu.h"
#include "libs/kernels/nn/convolution.h"

namespace weft {

enum class ConvolutionWay {
  kDirect,   // each thread computes one result
  kProduct,  // product of the images: windows are pixels
  kColumns,  // windows are laid out for a matrix product
};

struct ConvolutionPlan {
  ConvolutionWay way = ConvolutionWay::kDirect;
  // The number of images laid out or transposed at a time.
  int64_t images_at_a_time = 0;
};

// Returns the plan of Conv2D or of one of its gradients. `element_size` is the
// size of a laid-out element.
ConvolutionPlan PlanConvolution(ConvolutionPass pass,
                                const cuda::WindowArgs& args,
                                int64_t element_size);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_CONVOLUTION_PLAN_H_
