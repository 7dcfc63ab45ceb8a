// What kernels for GPUs ask of the context that they run in.
#ifndef WEFT_LIBS_KERNELS_CUDA_CUDA_CONTEXT_H_
#define WEFT_LIBS_KERNELS_CUDA_CUDA_CONTEXT_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/device/cuda/cuda_device.h"
#include "libs/kernels/cuda/element_type.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// REQUIRES: the kernel runs on a CudaDevice. Kernels that are registered by
// RegisterCudaKernels run on no other.
CudaDevice& CudaDeviceOf(const OpKernelContext& context);

// The stream to launch on; makes its device the calling thread's.
cudaStream_t StreamOf(const OpKernelContext& context);

// Of the launches that the calling thread just made: RESOURCE_EXHAUSTED or
// INTERNAL with CUDA's text when one was refused.
absl::Status LaunchStatus();

// Bytes of each element.
int64_t ElementSize(const Tensor& tensor);

// Numbers of the host in memory of the GPU's, which may be dropped when what
// uses it is launched.
absl::StatusOr<Tensor> Upload(OpKernelContext& context,
                              absl::Span<const int64_t> numbers);

// kOther for types that no launch knows.
cuda::ElementType ElementTypeOf(DataType dtype);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_CUDA_CONTEXT_H_
