// WorkCount counts the closures of all pools that are scheduled and not
// finished. So shutdown can also wait for work that other work schedules.
//
// Threads: all methods may be called from any thread. Only one thread may wait.
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

  // Waits until all closures have finished. Calls `run` first, and again after
  // closures have finished. When `run` is called, everything that a finished
  // closure scheduled is in a queue.
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
