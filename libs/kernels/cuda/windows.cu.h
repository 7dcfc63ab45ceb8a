// Launches of convolutions and pools. All take pointers to GPU memory. Sums
// have one order, so that a step always gives the same bits. If the result is
// empty, they do nothing.
#ifndef WEFT_LIBS_KERNELS_CUDA_WINDOWS_CU_H_
#define WEFT_LIBS_KERNELS_CUDA_WINDOWS_CU_H_

#include <cstdint>

#include "libs/device/cuda/cuda_types.h"
#include "libs/kernels/cuda/element_type.h"

namespace weft::cuda {

// Like WindowDim of libs/kernels/nn/windows.h.
struct Window {
  int64_t in, size, stride, dilation, pad, out;
};

// The sizes of a convolution or a pool. For a pool, `filters` is `channels`,
// and `depth` and `filters_of_group` are 1.
struct WindowArgs {
  ElementType type = ElementType::kOther;  // a float
  bool channels_first = false;             // in memory: NCHW, else NHWC
  int64_t batch = 0, channels = 0, filters = 0;
  int64_t depth = 1, filters_of_group = 1;
  Window rows, columns;
};

// Filters are [rows, columns, depth, filters] in both layouts.
void LaunchConvolution(const WindowArgs& args, const void* images,
                       const void* filter, void* out, cudaStream_t stream);
void LaunchConvolutionInputGradient(const WindowArgs& args, const void* filter,
                                    const void* gradient, void* out,
                                    cudaStream_t stream);
void LaunchConvolutionFilterGradient(const WindowArgs& args, const void* images,
                                     const void* gradient, void* out,
                                     cudaStream_t stream);

void LaunchMaxPool(const WindowArgs& args, const void* images, void* out,
                   cudaStream_t stream);
// Adds to the first maximum of each window.
void LaunchMaxPoolGradient(const WindowArgs& args, const void* images,
                           const void* gradient, void* out,
                           cudaStream_t stream);
// Padding is not counted.
void LaunchAvgPool(const WindowArgs& args, const void* images, void* out,
                   cudaStream_t stream);
void LaunchAvgPoolGradient(const WindowArgs& args, const void* gradient,
                           void* out, cudaStream_t stream);

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_WINDOWS_CU_H_
