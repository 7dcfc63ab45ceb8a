#include "libs/device/cuda/cuda_events.h"

#include "libs/base/status.h"
#include "libs/device/cuda/cuda_status.h"

namespace weft {
namespace {

// Most waits are short: the event is queried this often, a microsecond or so
// each time, before the thread sleeps, from which a wake-up takes tens of
// microseconds.
constexpr int kQueries = 100;

}  // namespace

CudaEvents::Recorded::~Recorded() {
  if (owner_ == nullptr) return;
  const absl::MutexLock lock(&owner_->mutex_);
  owner_->idle_.push_back(event_);
}

absl::Status CudaEvents::Recorded::Wait() const {
  for (int i = 0; i < kQueries; ++i) {
    const cudaError_t state = cudaEventQuery(event_);
    if (state != cudaErrorNotReady) {
      return CudaStatus(state, "what the GPU was doing");
    }
    cudaGetLastError();  // "not ready" must not be reported as an error of a
                         // later launch
  }
  return CudaStatus(cudaEventSynchronize(event_), "what the GPU was doing");
}

absl::Status CudaEvents::Recorded::HoldBack(cudaStream_t stream) const {
  return CudaStatus(cudaStreamWaitEvent(stream, event_, 0),
                    "a stream's wait for another");
}

CudaEvents::~CudaEvents() {
  const absl::MutexLock lock(&mutex_);
  for (cudaEvent_t event : idle_) cudaEventDestroy(event);
}

absl::StatusOr<CudaEvents::Recorded> CudaEvents::Record(cudaStream_t stream) {
  ASSIGN_OR_RETURN(const cudaEvent_t event, TakeEvent());
  Recorded recorded(shared_from_this(), event);
  RETURN_IF_ERROR(CudaStatus(cudaEventRecord(event, stream), "an event"));
  return recorded;
}

absl::StatusOr<cudaEvent_t> CudaEvents::TakeEvent() {
  {
    const absl::MutexLock lock(&mutex_);
    if (!idle_.empty()) {
      const cudaEvent_t event = idle_.back();
      idle_.pop_back();
      return event;
    }
  }
  cudaEvent_t event = nullptr;
  RETURN_IF_ERROR(
      CudaStatus(cudaEventCreateWithFlags(
                     &event, cudaEventDisableTiming | cudaEventBlockingSync),
                 "a new event"));
  return event;
}

}  // namespace weft
