// CudaStreams: the DeviceContext of a CudaDevice. Kernels run on one stream;
// copies to the host, and from it, on one each, so that they run beside kernels
// and each other. Events say who waits for whom:
//
//   to the device: after what was launched before it, for the memory may have
//     been somebody else's; what is launched later comes after it;
//   to the host: after what was launched before it; nothing waits for it but
//     `done`, and the memory that it reads is kept until then.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_STREAMS_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_STREAMS_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/device/cuda/completion_queue.h"
#include "libs/device/cuda/cuda_events.h"
#include "libs/device/cuda/region_pool.h"
#include "libs/device/device_context.h"

namespace weft {

// Thread-safe.
class CudaStreams : public DeviceContext {
 public:
  // `pinned` and `scheduler` outlive it.
  static absl::StatusOr<std::unique_ptr<CudaStreams>> Create(
      int ordinal, absl::string_view device_name, Allocator& pinned,
      Scheduler& scheduler);
  // Drains.
  ~CudaStreams() override;

  // Waits until the streams' work has ended and every `done` has returned, also
  // of what these ask for. REQUIRES: it isn't called by one of them.
  void Drain();

  // Makes the GPU the calling thread's.
  void Enter() const { cudaSetDevice(ordinal_); }
  cudaStream_t compute() const { return compute_; }

  Allocator& pinned_allocator() override { return pinned_; }
  absl::Status CopyToDevice(const Tensor& from, const Tensor& to) override;
  void CopyToHost(const Tensor& from, const Tensor& to, Done done) override;
  absl::Status CopyOnDevice(const Tensor& from, const Tensor& to) override;
  void WhenDone(Done done) override;

 private:
  CudaStreams(int ordinal, absl::string_view device_name, Allocator& pinned,
              Scheduler& scheduler);

  absl::Status Start();
  // What is on `stream` by now, to be waited for by `queue`, then `done`.
  absl::Status Follow(cudaStream_t stream, CompletionQueue& queue, Done& done);
  absl::Status LaunchCopyToHost(const Tensor& from, void* to);
  absl::Status LaunchCopyToDevice(const void* from, const Tensor& to);
  // With the device's name; of what was tried.
  absl::Status Named(const absl::Status& status) const;
  // The same, of what the GPU did: after an error it is lost.
  absl::Status Outcome(const absl::Status& status);
  absl::Status failure() const;

  const int ordinal_;
  const std::string device_name_;
  Allocator& pinned_;
  cudaStream_t compute_ = nullptr;
  cudaStream_t to_device_ = nullptr;
  cudaStream_t to_host_ = nullptr;
  const std::shared_ptr<CudaEvents> events_;

  mutable absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);

  // Of each stream, in its order.
  CompletionQueue computed_;
  CompletionQueue on_device_;
  CompletionQueue on_host_;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_STREAMS_H_
