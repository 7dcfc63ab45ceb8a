// AsyncScope counts the closures, timers and events of one object; the object's
// destructor waits for them.
//
// Threads: all methods may be called from any thread. Wait must be called once,
// when no other thread starts anything new.
#ifndef WEFT_LIBS_BUS_ASYNC_SCOPE_H_
#define WEFT_LIBS_BUS_ASYNC_SCOPE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft::bus {

class AsyncScope {
 public:
  explicit AsyncScope(Scheduler& scheduler)
      : scheduler_(scheduler), ended_(scheduler.NewEvent()) {}
  AsyncScope(const AsyncScope&) = delete;
  AsyncScope& operator=(const AsyncScope&) = delete;

  // Counts as one running operation while it lives.
  class Running {
   public:
    explicit Running(AsyncScope& scope) : scope_(scope) { scope_.Begin(); }
    ~Running() { scope_.End(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    AsyncScope& scope_;
  };

  // Runs `function` soon, on the compute pool or on `pool`.
  template <typename Function>
  void Schedule(Function function) {
    Schedule(Pool::kCompute, std::move(function));
  }
  template <typename Function>
  void Schedule(Pool pool, Function function) {
    Begin();
    scheduler_.Schedule(pool, Wrapped<Function>(std::move(function)));
  }

  // Runs `function` on the control pool at the given time. The control pool is
  // right for it because timers of the bus end calls and detect lost peers.
  template <typename Function>
  Scheduler::TimerId ScheduleAt(absl::Time when, Function function) {
    Begin();
    return scheduler_.ScheduleAt(Pool::kControl, when,
                                 Wrapped<Function>(std::move(function)));
  }
  // Cancels a timer; 0 stands for no timer. If the timer was about to run, its
  // closure may still run.
  void CancelTimer(Scheduler::TimerId timer) {
    if (timer != 0 && scheduler_.CancelTimer(timer)) End();
  }

  Scheduler& scheduler() const { return scheduler_; }

  // Waits until no closure runs or is scheduled. Timers must have been
  // cancelled.
  void Wait() {
    if ((state_.fetch_or(kWaiting) & ~kWaiting) != 0) ended_->Wait();
  }

 private:
  static constexpr uint64_t kWaiting = 1;
  static constexpr uint64_t kOne = 2;

  void Begin() { state_.fetch_add(kOne); }
  void End() {
    if (state_.fetch_sub(kOne) == kOne + kWaiting) ended_->Set();
  }

  // Destroys what the function holds before the end is counted. A lambda may
  // hold constants, which a move would copy and leave behind.
  template <typename Function>
  auto Wrapped(Function function) {
    return [this,
            function = std::optional<Function>(std::move(function))]() mutable {
      (*function)();
      function.reset();
      End();
    };
  }

  Scheduler& scheduler_;
  const std::unique_ptr<Event> ended_;
  std::atomic<uint64_t> state_{0};
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ASYNC_SCOPE_H_
