// Access of GPU kernels to their device and stream.
#ifndef WEFT_LIBS_KERNELS_CUDA_CUDA_CONTEXT_H_
#define WEFT_LIBS_KERNELS_CUDA_CUDA_CONTEXT_H_

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/device/cuda/cuda_device.h"
#include "libs/kernels/cuda/element_type.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// REQUIRES: the kernel runs on a CudaDevice, as all kernels registered by
// RegisterCudaKernels do.
CudaDevice& CudaDeviceOf(const OpKernelContext& context);

// The stream for launches; makes its device current on the calling thread.
cudaStream_t StreamOf(const OpKernelContext& context);

// The status of the calling thread's last launches: RESOURCE_EXHAUSTED or
// INTERNAL with CUDA's text if a launch failed.
absl::Status LaunchStatus();

// Bytes of each element.
int64_t ElementSize(const Tensor& tensor);

// Copies host data to GPU memory. The result may be dropped once its users are
// launched.
absl::StatusOr<Tensor> Upload(OpKernelContext& context,
                              absl::Span<const int64_t> numbers);

// kOther for types that launches do not support.
cuda::ElementType ElementTypeOf(DataType dtype);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CUDA_CUDA_CONTEXT_H_
