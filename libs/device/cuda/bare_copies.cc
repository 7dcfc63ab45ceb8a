#include "libs/device/cuda/bare_copies.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include "libs/base/status.h"
#include "libs/device/cuda/cuda_status.h"

namespace weft {
namespace {

class Copies : public BareCopies {
 public:
  explicit Copies(size_t bytes) : bytes_(bytes) {}
  ~Copies() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    cudaFree(device_);
    cudaFreeHost(host_);
  }

  absl::Status Start(int ordinal) {
    RETURN_IF_ERROR(CudaStatus(cudaSetDevice(ordinal), "use of the GPU"));
    RETURN_IF_ERROR(CudaStatus(
        cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"));
    RETURN_IF_ERROR(CudaStatus(cudaMalloc(&device_, bytes_), "memory"));
    RETURN_IF_ERROR(CudaStatus(
        cudaHostAlloc(&host_, bytes_, cudaHostAllocPortable), "pinned memory"));
    std::memset(host_, 1, bytes_);
    return absl::OkStatus();
  }

  absl::Status ToDevice() override {
    return Copy(device_, host_, cudaMemcpyHostToDevice);
  }
  absl::Status ToHost() override {
    return Copy(host_, device_, cudaMemcpyDeviceToHost);
  }

 private:
  absl::Status Copy(void* to, const void* from, cudaMemcpyKind kind) {
    RETURN_IF_ERROR(CudaStatus(cudaMemcpyAsync(to, from, bytes_, kind, stream_),
                               "a bare copy"));
    return CudaStatus(cudaStreamSynchronize(stream_), "a bare copy");
  }

  const size_t bytes_;
  cudaStream_t stream_ = nullptr;
  void* device_ = nullptr;
  void* host_ = nullptr;
};

}  // namespace

absl::StatusOr<std::unique_ptr<BareCopies>> BareCopies::Create(int ordinal,
                                                               size_t bytes) {
  auto copies = std::make_unique<Copies>(bytes);
  RETURN_IF_ERROR(copies->Start(ordinal));
  return copies;
}

}  // namespace weft
