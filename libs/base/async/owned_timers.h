// OwnedTimers holds the timers of one object. No timer runs after OwnedTimers
// is destroyed. Closures of timers that are then still pending are called with
// false.
//
// Threads: thread-safe. End, which the destructor calls, blocks and must not be
// called from a closure.
#ifndef WEFT_LIBS_BASE_ASYNC_OWNED_TIMERS_H_
#define WEFT_LIBS_BASE_ASYNC_OWNED_TIMERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

class OwnedTimers {
 public:
  using Closure = absl::AnyInvocable<void(bool is_due)>;
  using Id = uint64_t;  // never 0

  explicit OwnedTimers(Scheduler& scheduler)
      : state_(std::make_shared<State>(scheduler)) {}
  ~OwnedTimers() { End(); }

  // Calls `closure(true)` when `when` is reached, or `closure(false)` from End.
  Id At(absl::Time when, Closure closure) {
    Id id = 0;
    {
      absl::MutexLock lock(&state_->mutex);
      id = ++state_->last_id;
      if (!state_->ended) {
        state_->Arm(state_, id, when, std::move(closure));
        return id;
      }
    }
    closure(false);
    return id;
  }

  // Returns true if the closure will never be called.
  bool Cancel(Id id) { return state_->Take(id) != nullptr; }

  void End() {
    std::map<Id, Timer> left;
    {
      absl::MutexLock lock(&state_->mutex);
      state_->ended = true;
      left.swap(state_->timers);
    }
    for (auto& [id, timer] : left) {
      state_->scheduler.CancelTimer(timer.timer);
      timer.closure(false);
    }
    state_->running.WaitUntilNone(state_->scheduler, absl::InfiniteFuture());
  }

 private:
  struct Timer {
    Scheduler::TimerId timer = 0;
    Closure closure;
  };
  // State is shared with scheduler timers that run after OwnedTimers is
  // destroyed. Such a timer finds no closure in it and does nothing.
  struct State {
    explicit State(Scheduler& the_scheduler) : scheduler(the_scheduler) {}

    void Arm(const std::shared_ptr<State>& self, Id id, absl::Time when,
             Closure closure) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
      timers[id] = {scheduler.ScheduleAt(when, [self, id] { self->Run(id); }),
                    std::move(closure)};
    }
    // Takes the closure out and cancels its timer. Returns null if the closure
    // has run or was taken before.
    Closure Take(Id id) ABSL_LOCKS_EXCLUDED(mutex) {
      absl::MutexLock lock(&mutex);
      auto found = timers.extract(id);
      if (!found) return nullptr;
      scheduler.CancelTimer(found.mapped().timer);
      return std::move(found.mapped().closure);
    }
    void Run(Id id) ABSL_LOCKS_EXCLUDED(mutex) {
      Closure closure;
      {
        absl::MutexLock lock(&mutex);
        auto found = timers.extract(id);
        if (!found) return;
        closure = std::move(found.mapped().closure);
        running.Begin();
      }
      closure(true);
      closure = nullptr;
      running.End();
    }

    Scheduler& scheduler;
    InFlight running;
    absl::Mutex mutex;
    bool ended ABSL_GUARDED_BY(mutex) = false;
    Id last_id ABSL_GUARDED_BY(mutex) = 0;
    std::map<Id, Timer> timers ABSL_GUARDED_BY(mutex);
  };

  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ASYNC_OWNED_TIMERS_H_
