// SerialQueue runs closures one after the other, in order, on the compute pool.
//
// Threads: all methods may be called from any thread. Closures run without a
// lock held.
#ifndef WEFT_LIBS_BUS_SERIAL_QUEUE_H_
#define WEFT_LIBS_BUS_SERIAL_QUEUE_H_

#include <deque>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/async_scope.h"

namespace weft::bus {

class SerialQueue {
 public:
  // `scope` counts its closures and must outlive them. A closure keeps alive
  // the owner of the queue.
  explicit SerialQueue(AsyncScope& scope) : scope_(scope) {}

  // Adds a closure. `holder`, which owns this queue, lives until the closure
  // has run.
  void Push(std::shared_ptr<void> holder, Scheduler::Closure closure) {
    {
      absl::MutexLock lock(&mutex_);
      closures_.push_back(std::move(closure));
      if (running_) return;
      running_ = true;
    }
    scope_.Schedule([this, holder = std::move(holder)]() mutable { Run(); });
  }

  // Returns whether no closure runs or waits.
  bool IsIdle() const {
    absl::MutexLock lock(&mutex_);
    return !running_;
  }

 private:
  void Run() {
    while (true) {
      Scheduler::Closure closure;
      {
        absl::MutexLock lock(&mutex_);
        if (closures_.empty()) {
          running_ = false;
          return;
        }
        closure = std::move(closures_.front());
        closures_.pop_front();
      }
      closure();
    }
  }

  AsyncScope& scope_;
  mutable absl::Mutex mutex_;
  std::deque<Scheduler::Closure> closures_ ABSL_GUARDED_BY(mutex_);
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_SERIAL_QUEUE_H_
