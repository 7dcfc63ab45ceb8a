// SyncCall: waits for one asynchronous call on the thread that made it. Costs
// two atomic operations when the call has ended before it is waited for.
#ifndef WEFT_LIBS_SESSION_SYNC_CALL_H_
#define WEFT_LIBS_SESSION_SYNC_CALL_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/scheduler.h"

namespace weft {

// Lives on the caller's stack; Wait must be called once.
class SyncCall {
 public:
  explicit SyncCall(Scheduler& scheduler) : scheduler_(scheduler) {}
  SyncCall(const SyncCall&) = delete;
  SyncCall& operator=(const SyncCall&) = delete;

  // The callback of the call: to be called once, from any thread.
  absl::AnyInvocable<void(absl::Status)> Done() {
    return [this](absl::Status status) {
      status_ = std::move(status);
      // After this exchange a caller that does not wait may be gone.
      if (state_.exchange(State::kDone, std::memory_order_acq_rel) ==
          State::kWaiting) {
        event_->Set();
      }
    };
  }

  absl::Status Wait() {
    if (state_.load(std::memory_order_acquire) != State::kDone) {
      event_ = scheduler_.NewEvent();
      State expected = State::kRunning;
      if (state_.compare_exchange_strong(expected, State::kWaiting,
                                         std::memory_order_acq_rel)) {
        event_->Wait();
      }
    }
    return std::move(status_);
  }

 private:
  enum class State { kRunning, kWaiting, kDone };

  Scheduler& scheduler_;
  std::atomic<State> state_{State::kRunning};
  std::unique_ptr<Event> event_;
  absl::Status status_;
};

}  // namespace weft

#endif  // WEFT_LIBS_SESSION_SYNC_CALL_H_
