// AsyncMutex admits callers one after the other, in FIFO order. Unlike a mutex
// it may be held while waiting for other tasks, and be unlocked on another
// thread; a waiting caller holds neither a lock nor a thread.
//
// Threads: all methods may be called from any thread and do not block.
#ifndef WEFT_LIBS_MASTER_ASYNC_MUTEX_H_
#define WEFT_LIBS_MASTER_ASYNC_MUTEX_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

class AsyncMutex {
 public:
  using Begin = absl::AnyInvocable<void(absl::Status)>;

  explicit AsyncMutex(Scheduler& scheduler)
      : state_(std::make_shared<State>(scheduler)) {}

  // Calls `begin` with OK when the caller holds the mutex, before Lock returns
  // or on the compute pool. The caller must then Unlock. Calls `begin` with
  // DEADLINE_EXCEEDED if `deadline` passes first, and with the cause of the
  // cancellation if that comes first.
  void Lock(absl::Time deadline,
            const std::shared_ptr<Cancellation>& cancellation, Begin begin) {
    uint64_t number = 0;
    {
      absl::MutexLock lock(&state_->mutex);
      if (state_->is_taken) {
        number = Enqueue(deadline, std::move(begin));
      } else {
        state_->is_taken = true;
      }
    }
    if (number == 0) return begin(absl::OkStatus());
    const Cancellation::Token token = cancellation->Register(
        [weak = std::weak_ptr<State>(state_),
         number](const absl::Status& cause) { Leave(weak, number, cause); });
    if (token == 0) Leave(state_, number, cancellation->status());
  }

  void Unlock() {
    Begin next;
    {
      absl::MutexLock lock(&state_->mutex);
      state_->is_taken = !state_->waiting.empty();
      if (!state_->is_taken) return;
      next = state_->Extract(state_->waiting.begin());
    }
    state_->scheduler.Schedule(
        Pool::kGraph,
        [next = std::move(next)]() mutable { next(absl::OkStatus()); });
  }

 private:
  struct Waiter {
    Begin begin;
    Scheduler::TimerId timer = 0;
  };
  using Queue = std::map<uint64_t, Waiter>;  // by their numbers

  // Shared with late cancellations and timers.
  struct State {
    explicit State(Scheduler& the_scheduler) : scheduler(the_scheduler) {}
    Begin Extract(Queue::iterator it) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      Waiter waiter = std::move(it->second);
      waiting.erase(it);
      if (waiter.timer != 0) scheduler.CancelTimer(waiter.timer);
      return std::move(waiter.begin);
    }

    Scheduler& scheduler;
    absl::Mutex mutex;
    bool is_taken ABSL_GUARDED_BY(mutex) = false;
    uint64_t last_number ABSL_GUARDED_BY(mutex) = 0;
    Queue waiting ABSL_GUARDED_BY(mutex);
  };

  uint64_t Enqueue(absl::Time deadline, Begin begin)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    const uint64_t number = ++state_->last_number;
    Waiter& waiter = state_->waiting[number];
    waiter.begin = std::move(begin);
    if (deadline == absl::InfiniteFuture()) return number;
    waiter.timer = state_->scheduler.ScheduleAt(
        Pool::kControl, deadline,
        [weak = std::weak_ptr<State>(state_), number] {
          Leave(weak, number,
                absl::DeadlineExceededError(
                    "It was still queued at its deadline."));
        });
    return number;
  }

  // Ends the wait of a waiter with the error `why`. Has no effect if the waiter
  // already holds the mutex.
  static void Leave(const std::weak_ptr<State>& weak, uint64_t number,
                    const absl::Status& why) {
    const std::shared_ptr<State> state = weak.lock();
    if (state == nullptr) return;
    Begin begin;
    {
      absl::MutexLock lock(&state->mutex);
      const auto it = state->waiting.find(number);
      if (it == state->waiting.end()) return;
      begin = state->Extract(it);
    }
    begin(why);
  }

  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_ASYNC_MUTEX_H_
