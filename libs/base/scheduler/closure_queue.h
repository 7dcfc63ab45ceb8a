// ClosureQueue is a FIFO queue in one growing ring buffer. Unlike std::deque,
// it does not allocate once the ring is large enough.
//
// Threads: not thread-safe; the owner must lock.
#ifndef WEFT_LIBS_BASE_SCHEDULER_CLOSURE_QUEUE_H_
#define WEFT_LIBS_BASE_SCHEDULER_CLOSURE_QUEUE_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "libs/base/scheduler/scheduler.h"

namespace weft {

class ClosureQueue {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  void Push(Scheduler::Closure closure) {
    if (size_ == ring_.size()) Grow();
    ring_[(first_ + size_) & (ring_.size() - 1)] = std::move(closure);
    ++size_;
  }

  // Removes and returns the first closure. REQUIRES: the queue is not empty.
  Scheduler::Closure Pop() {
    Scheduler::Closure closure = std::move(ring_[first_]);
    first_ = (first_ + 1) & (ring_.size() - 1);
    --size_;
    return closure;
  }

 private:
  void Grow() {
    std::vector<Scheduler::Closure> larger(ring_.empty() ? 16
                                                         : 2 * ring_.size());
    for (size_t i = 0; i < size_; ++i) {
      larger[i] = std::move(ring_[(first_ + i) & (ring_.size() - 1)]);
    }
    ring_ = std::move(larger);
    first_ = 0;
  }

  std::vector<Scheduler::Closure> ring_;  // its size is a power of two
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_CLOSURE_QUEUE_H_
