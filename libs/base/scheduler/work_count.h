// WorkCount counts the closures that are scheduled and not finished, over all
// pools, so that shutdown can wait for work that schedules more work.
//
// Threads: all methods may be called from any thread; one thread waits.
#ifndef WEFT_LIBS_BASE_SCHEDULER_WORK_COUNT_H_
#define WEFT_LIBS_BASE_SCHEDULER_WORK_COUNT_H_

#include <atomic>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "libs/base/scheduler/futex.h"

namespace weft {

class WorkCount {
 public:
  void Add() { count_.fetch_add(1, std::memory_order_relaxed); }

  void Finish() {
    if (count_.fetch_sub(1) == 1 && waiting_.load()) FutexWake(count_, 1);
    if (!observed_.load()) return;
    num_finished_.fetch_add(1);
    FutexWake(num_finished_, 1);
  }

  void WaitForZero() {
    waiting_.store(true);
    while (uint32_t count = count_.load()) FutexWait(count_, count);
  }

  // Likewise, and calls `run` first and after closures have finished.
  // Everything that a closure scheduled is in a queue by then.
  void RunUntilZero(absl::FunctionRef<void()> run) {
    observed_.store(true);
    while (count_.load() > 0) {
      const uint32_t finished = num_finished_.load();
      run();
      if (count_.load() > 0) FutexWait(num_finished_, finished);
    }
  }

 private:
  std::atomic<uint32_t> count_{0};
  std::atomic<bool> waiting_{false};
  std::atomic<bool> observed_{false};
  std::atomic<uint32_t> num_finished_{0};  // since the wait began
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_WORK_COUNT_H_
