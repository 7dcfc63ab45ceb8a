#include "libs/device/cuda/cuda_status.h"

#include <cuda_runtime_api.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {

absl::Status CudaStatus(int code, absl::string_view what) {
  const auto error = static_cast<cudaError_t>(code);
  if (error == cudaSuccess) return absl::OkStatus();
  cudaGetLastError();  // so that the next launch does not report it
  const std::string text =
      absl::StrCat("CUDA: ", what, ": ", cudaGetErrorName(error), ": ",
                   cudaGetErrorString(error));
  if (error == cudaErrorMemoryAllocation ||
      error == cudaErrorLaunchOutOfResources) {
    return absl::ResourceExhaustedError(text);
  }
  return absl::InternalError(text);
}

absl::Status CudaLaunchStatus() {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return absl::OkStatus();
  if (!CudaDeviceIsLost()) return CudaStatus(error, "launch");
  return CudaLost(
      CudaStatus(error, "this kernel, or one that was launched before"));
}

absl::Status CudaLost(const absl::Status& status) {
  return Append(status,
                "(the device is lost until the task is started again; with "
                "CUDA_LAUNCH_BLOCKING=1 in its environment the error would be "
                "that of the node whose kernel failed)");
}

// No work runs on that stream, so the result is the device's.
bool CudaDeviceIsLost() {
  const cudaError_t error = cudaStreamQuery(cudaStreamLegacy);
  if (error == cudaSuccess) return false;
  cudaGetLastError();
  return error != cudaErrorNotReady;
}

}  // namespace weft
