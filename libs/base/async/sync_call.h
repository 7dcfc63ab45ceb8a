// SyncCall waits for one asynchronous call on the thread that made it. It costs
// two atomic operations if the call has ended before Wait.
//
//   SyncCall<absl::StatusOr<uint64_t>> call(scheduler);
//   master.CreateSession(config, call.Done());
//   absl::StatusOr<uint64_t> session = call.Wait();
#ifndef WEFT_LIBS_BASE_ASYNC_SYNC_CALL_H_
#define WEFT_LIBS_BASE_ASYNC_SYNC_CALL_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

// A SyncCall lives on the caller's stack. Wait must be called once. T is the
// result of the call, a Status or a StatusOr.
template <typename T = absl::Status>
class SyncCall {
 public:
  explicit SyncCall(Scheduler& scheduler) : scheduler_(scheduler) {}
  SyncCall(const SyncCall&) = delete;
  SyncCall& operator=(const SyncCall&) = delete;

  // Returns the callback to pass to the asynchronous call. The callback must be
  // called once, from any thread.
  absl::AnyInvocable<void(T)> Done() {
    return [this](T result) {
      result_ = std::move(result);
      // Unless the caller is waiting, this SyncCall may be destroyed directly
      // after the exchange.
      if (state_.exchange(State::kDone, std::memory_order_acq_rel) ==
          State::kWaiting) {
        event_->Set();
      }
    };
  }

  // Waits for the result and returns it. An exception, such as bad_alloc for an
  // event, ends the process, because the call would otherwise continue with
  // objects that have left the stack.
  T Wait() noexcept {
    if (state_.load(std::memory_order_acquire) != State::kDone) {
      event_ = scheduler_.NewEvent();
      State expected = State::kRunning;
      if (state_.compare_exchange_strong(expected, State::kWaiting,
                                         std::memory_order_acq_rel)) {
        event_->Wait();
      }
    }
    return std::move(result_);
  }

 private:
  enum class State { kRunning, kWaiting, kDone };

  Scheduler& scheduler_;
  std::atomic<State> state_{State::kRunning};
  std::unique_ptr<Event> event_;
  T result_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ASYNC_SYNC_CALL_H_
