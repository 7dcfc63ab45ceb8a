// WorkCount: closures scheduled and not yet finished, over all pools, so that
// shutdown can wait for work that schedules more work.
//
// Threads: all methods from any; one thread waits.
#ifndef WEFT_LIBS_BASE_WORK_COUNT_H_
#define WEFT_LIBS_BASE_WORK_COUNT_H_

#include <atomic>
#include <cstdint>

#include "libs/base/futex.h"

namespace weft {

class WorkCount {
 public:
  void Add() { count_.fetch_add(1, std::memory_order_relaxed); }

  void Finish() {
    if (count_.fetch_sub(1) == 1 && waiting_.load()) FutexWake(count_, 1);
  }

  void WaitForZero() {
    waiting_.store(true);
    while (uint32_t count = count_.load()) FutexWait(count_, count);
  }

 private:
  std::atomic<uint32_t> count_{0};
  std::atomic<bool> waiting_{false};
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_WORK_COUNT_H_
