// ConvolutionPlan: how a convolution is computed on a GPU. A function of its
// sizes alone, so that sums have one order in all runs.
#ifndef WEFT_LIBS_KERNELS_CUDA_CONVOLUTION_PLAN_H_
#define WEFT_LIBS_KERNELS_CUDA_CONVOLUTION_PLAN_H_

#include <cstdint>

#include "libs/kernels/cuda/windows.cu.h"
#include "libs/kernels/nn/convolution.h"

namespace weft {

enum class ConvolutionWay {
  kDirect,   // a thread goes through the window of each result
  kProduct,  // of the images themselves, whose windows are their pixels
  kColumns,  // windows are laid out, so that a product of matrices is left
};

struct ConvolutionPlan {
  ConvolutionWay way = ConvolutionWay::kDirect;
  // As many as are laid out, or turned round, at a time.
  int64_t images_at_a_time = 0;
};

// Of Conv2D and its gradients. `element_size`: bytes of a laid-out number.
ConvolutionPlan PlanConvolution(ConvolutionPass pass,
                                const cuda::WindowArgs& args,
                                int64_t element_size);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_CONVOLUTION_PLAN_H_
