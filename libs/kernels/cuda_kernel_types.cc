#include "libs/kernels/cuda_kernel_types.h"

namespace weft {
namespace {

constexpr TensorFlowGpuKernels kKernels[] = {
    {"", "", "Relu"},
};

}  // namespace

absl::Span<const TensorFlowGpuKernels> AllCudaKernels() { return kKernels; }

}  // namespace weft
