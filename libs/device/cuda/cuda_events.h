// CudaEvents holds events of one GPU and reuses them, which costs a tenth of
// creating them.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_EVENTS_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_EVENTS_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace weft {

// Thread-safe. REQUIRES: the GPU is the calling thread's current device, except
// in Wait.
class CudaEvents : public std::enable_shared_from_this<CudaEvents> {
 public:
  // A recorded event; returned when it is dropped. REQUIRES then: no thread
  // waits for it in Wait. (A stream may still wait for it.)
  class Recorded {
   public:
    Recorded(Recorded&&) = default;
    Recorded& operator=(Recorded&&) = default;
    ~Recorded();

    // Blocks the thread until the earlier work of the stream has ended.
    absl::Status Wait() const;
    // Makes `stream` wait for this event, without blocking the thread.
    absl::Status HoldBack(cudaStream_t stream) const;

   private:
    friend class CudaEvents;
    Recorded(std::shared_ptr<CudaEvents> owner, cudaEvent_t event)
        : owner_(std::move(owner)), event_(event) {}

    std::shared_ptr<CudaEvents> owner_;  // null: moved from
    cudaEvent_t event_;
  };

  CudaEvents() = default;
  ~CudaEvents();
  CudaEvents(const CudaEvents&) = delete;
  CudaEvents& operator=(const CudaEvents&) = delete;

  // Records an event after all current work of `stream`.
  absl::StatusOr<Recorded> Record(cudaStream_t stream);

 private:
  absl::StatusOr<cudaEvent_t> TakeEvent();

  absl::Mutex mutex_;
  std::vector<cudaEvent_t> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_EVENTS_H_
