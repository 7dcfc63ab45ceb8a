// Conversion of CUDA's errors to absl::Status.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_STATUS_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

// `code` is a cudaError_t. OK for success; RESOURCE_EXHAUSTED if memory is
// short, otherwise INTERNAL, with `what` was tried and CUDA's name and text of
// the error.
absl::Status CudaStatus(int code, absl::string_view what);

// The status of the launch that the calling thread just made. Clears the
// thread's error, unless it is permanent for the device: then the text says
// that it may be from an earlier launch, and adds CudaLost's.
absl::Status CudaLaunchStatus();

// Adds to `status`, an error after which the device can no longer be used, what
// that means and how to find its cause.
absl::Status CudaLost(const absl::Status& status);

// Whether the calling thread's device can no longer be used: a kernel has
// failed, and each call returns that error.
bool CudaDeviceIsLost();

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_STATUS_H_
