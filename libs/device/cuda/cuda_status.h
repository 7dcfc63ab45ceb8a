// What CUDA's calls say, as absl::Status.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_STATUS_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

// `code` is a cudaError_t. OK for success; RESOURCE_EXHAUSTED when memory is
// short, INTERNAL else, with `what` was tried and CUDA's own name and text.
absl::Status CudaStatus(int code, absl::string_view what);

// Of the launch that the calling thread just made. Takes the error off the
// thread, unless it is one that the device never gets over: then the text says
// that it may be of an earlier launch, and what CudaLost says.
absl::Status CudaLaunchStatus();

// `status`, an error after which the device does nothing more, with what that
// means and what helps to find its cause.
absl::Status CudaLost(const absl::Status& status);

// Whether the calling thread's device does nothing more: a kernel of it has
// failed, and each call gives that one's error.
bool CudaDeviceIsLost();

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_STATUS_H_
