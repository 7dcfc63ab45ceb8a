// CudaStreams: the DeviceContext of a CudaDevice. Kernels run on one stream;
// copies to the host, and from it, on one each, so that they run beside kernels
// and each other. Events say who waits for whom:
//
//   to the device: after what was launched before its memory was given back by
//     who had it last (LaunchMarks); what is launched later comes after it;
//   to the host: after what was launched before it; nothing waits for it but
//     `done`, and the memory that it reads is kept until then.
//
// Few bytes go with the kernels, either way, which costs less than events.
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
  // `clock`: that of the pool of the GPU's memory. `pinned` and `scheduler`
  // outlive it.
  static absl::StatusOr<std::unique_ptr<CudaStreams>> Create(
      int ordinal, absl::string_view device_name,
      std::shared_ptr<LaunchClock> clock, Allocator& pinned,
      Scheduler& scheduler);
  // Drains.
  ~CudaStreams() override;

  // Waits until the streams' work has ended and every `done` has returned, also
  // of what these ask for. REQUIRES: it isn't called by one of them.
  void Drain();
  // Whether the calling thread is in a `done`, and so may not drain.
  bool IsCalledBack() const;
  Scheduler& scheduler() const { return scheduler_; }

  // Makes the GPU the calling thread's.
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
  // What small copies read until their mark has ended.
  using Kept = std::vector<BufferPtr>;

  CudaStreams(int ordinal, absl::string_view device_name,
              std::shared_ptr<LaunchClock> clock, Allocator& pinned,
              Scheduler& scheduler);

  absl::Status Start();
  absl::StatusOr<Mark> MarkCompute();
  // Calls `done` when all is over that is on the compute stream by now.
  absl::Status FollowCompute(Done& done);
  // The same of another stream, which waited for the mark `number`.
  absl::Status Follow(cudaStream_t stream, uint64_t number,
                      CompletionQueue& queue, Done& done);
  // Blocks the thread until the event has come, and with it the mark.
  absl::Status WaitFor(const CudaEvents::Recorded& event, uint64_t number);
  // Where there is no event to be had the thread itself waits for the stream:
  // what is kept for it must not go earlier. Returns `why`.
  absl::Status WaitHere(cudaStream_t stream, const absl::Status& why);

  absl::Status CopyFew(const Tensor& from, const Tensor& to);
  absl::Status CopyMuch(const Tensor& from, const Tensor& to);
  // Keeps what the compute stream reads.
  void Keep(BufferPtr buffer);
  Kept TakeKept();

  // Has the stream to the device wait for what used `to` before. The mark that
  // was waited for; 0 where there was nothing to wait for.
  absl::StatusOr<uint64_t> HoldBackForReuse(const Tensor& to);
  // Whether what the stream to the device waits for, for any copy, is over.
  bool IsFlowing() const;
  // Has kernels wait for what is on the stream to the device by now, and calls
  // `keep` then. `number` as in Follow.
  absl::Status OrderBeforeKernels(uint64_t number, Done keep);
  absl::Status LaunchCopyToHost(const Tensor& from, void* to, uint64_t& number);
  // With the device's name; of what was tried.
  absl::Status Named(const absl::Status& status);
  // The same, of what the GPU did: after an error it is lost.
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
  // The last mark that the stream to the device waits for, or did.
  uint64_t held_back_for_ ABSL_GUARDED_BY(mutex_) = 0;

  // Of each stream, in its order.
  CompletionQueue computed_;
  CompletionQueue on_device_;
  CompletionQueue on_host_;
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_STREAMS_H_
