// CudaEvents: events of one GPU, used again and again, for that costs a tenth
// of making them.
#ifndef WEFT_LIBS_DEVICE_CUDA_CUDA_EVENTS_H_
#define WEFT_LIBS_DEVICE_CUDA_CUDA_EVENTS_H_

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace weft {

// Thread-safe. REQUIRES: the GPU is the calling thread's, but in Wait.
class CudaEvents : public std::enable_shared_from_this<CudaEvents> {
 public:
  // An event on its way; goes back when it is dropped. REQUIRES then: nobody
  // waits for it by Wait. (A stream that was told to wait may wait still.)
  class Recorded {
   public:
    Recorded(Recorded&&) = default;
    Recorded& operator=(Recorded&&) = default;
    ~Recorded();

    // Blocks the thread until what was on the stream has ended.
    absl::Status Wait() const;
    // Has `stream` go on only then.
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

  // All that is on `stream` by now.
  absl::StatusOr<Recorded> Record(cudaStream_t stream);

 private:
  absl::StatusOr<cudaEvent_t> TakeEvent();

  absl::Mutex mutex_;
  std::vector<cudaEvent_t> idle_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_CUDA_EVENTS_H_
