// CudaStreams is the DeviceContext of a CudaDevice. Kernels run on one stream;
// copies to the host, and from it, on one each, so that they run concurrently
// with kernels and each other. Events define their order:
//
//   to the device: after the work launched before the target's memory was freed
//     by its previous owner (LaunchMarks); later launches come after the copy;
//   to the host: after the work launched before it; only `done` waits for it,
//     and the memory that it reads is kept until then.
//
// Small copies go on the kernels' stream, either way, which costs less than
// events.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_STREAMS_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_STREAMS_H_

#include <cuda_runtime_api.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/device/cuda/completion_queue.h"
#include "libs/device/cuda/cuda_events.h"
#include "libs/device/cuda/launch_marks.h"
#include "libs/device/cuda/region_pool.h"
#include "libs/device/device_context.h"

namespace weft {

// Thread-safe.
class CudaStreams : public DeviceContext {
 public:
  // `clock`: of the pool of the GPU's memory. `pinned` and `scheduler` must
  // outlive it.
  static absl::StatusOr<std::unique_ptr<CudaStreams>> Create(
      int ordinal, absl::string_view device_name,
      std::shared_ptr<LaunchClock> clock, Allocator& pinned,
      Scheduler& scheduler);
  // Drains.
  ~CudaStreams() override;

  // Waits until the streams' work has ended and every `done` has returned,
  // including work that these launch. REQUIRES: not called by one of them.
  void Drain();
  // Returns whether the calling thread runs a `done` callback, in which it must
  // not call Drain.
  bool IsCalledBack() const;
  Scheduler& scheduler() const { return scheduler_; }

  // Makes the GPU the calling thread's current device.
  void Enter() const { cudaSetDevice(ordinal_); }
  cudaStream_t compute() const { return compute_; }

  Allocator& pinned_allocator() override { return pinned_; }
  absl::Status CopyToDevice(const Tensor& from, const Tensor& to) override;
  void CopyToHost(const Tensor& from, const Tensor& to, Done done) override;
  absl::Status CopyOnDevice(const Tensor& from, const Tensor& to) override;
  void WhenDone(Done done) override;
  absl::Status Failure() override;

 private:
  // An event on the compute stream, and its number.
  struct Mark {
    uint64_t number = 0;
    std::shared_ptr<const CudaEvents::Recorded> event;
  };
  // The sources of small copies until their mark has ended.
  using Kept = std::vector<BufferPtr>;

  CudaStreams(int ordinal, absl::string_view device_name,
              std::shared_ptr<LaunchClock> clock, Allocator& pinned,
              Scheduler& scheduler);

  absl::Status Start();
  absl::StatusOr<Mark> MarkCompute();
  // Calls `done` when all current work of the compute stream has ended.
  absl::Status FollowCompute(Done& done);
  // The same for another stream, which waited for the mark `number`.
  absl::Status Follow(cudaStream_t stream, uint64_t number,
                      CompletionQueue& queue, Done& done);
  // Blocks the thread until the event, and with it the mark, has ended.
  absl::Status WaitFor(const CudaEvents::Recorded& event, uint64_t number);
  // If no event is available, the thread itself waits for the stream: the
  // memory kept for it must not be freed earlier. Returns `why`.
  absl::Status WaitHere(cudaStream_t stream, const absl::Status& why);

  absl::Status CopyFew(const Tensor& from, const Tensor& to);
  absl::Status CopyMuch(const Tensor& from, const Tensor& to);
  // Keeps memory that the compute stream reads.
  void Keep(BufferPtr buffer);
  Kept TakeKept();

  // Makes the stream to the device wait for the previous user of `to`. Returns
  // the awaited mark; 0 if there was nothing to wait for.
  absl::StatusOr<uint64_t> HoldBackForReuse(const Tensor& to);
  // Returns whether all work that the stream to the device waits for has ended.
  bool IsFlowing() const;
  // Makes kernels wait for the current work of the stream to the device, and
  // calls `keep` after that. `number` as in Follow.
  absl::Status OrderBeforeKernels(uint64_t number, Done keep);
  absl::Status LaunchCopyToHost(const Tensor& from, void* to, uint64_t& number);
  // Adds the device's name; for an operation that was tried.
  absl::Status Named(const absl::Status& status);
  // The same, for the GPU's work: after an error it is lost.
  absl::Status Outcome(const absl::Status& status);
  absl::Status failure() const;

  const int ordinal_;
  const std::string device_name_;
  Allocator& pinned_;
  Scheduler& scheduler_;
  cudaStream_t compute_ = nullptr;
  cudaStream_t to_device_ = nullptr;
  cudaStream_t to_host_ = nullptr;
  const std::shared_ptr<CudaEvents> events_;
  LaunchMarks<CudaEvents::Recorded> marks_;

  mutable absl::Mutex mutex_;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  Kept kept_ ABSL_GUARDED_BY(mutex_);
  // The last mark that the stream to the device waits for, or waited for.
  uint64_t held_back_for_ ABSL_GUARDED_BY(mutex_) = 0;

  // One per stream, in its order.
  CompletionQueue computed_;
  CompletionQueue on_device_;
  CompletionQueue on_host_;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_STREAMS_H_
