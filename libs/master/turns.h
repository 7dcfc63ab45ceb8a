// Turns: one after the other, in the order in which they came. Unlike a mutex
// it is held while others are waited for, and who waits for a turn holds no
// lock.
//
// Threads: all methods may be called from any thread; Take blocks.
#ifndef WEFT_LIBS_MASTER_TURNS_H_
#define WEFT_LIBS_MASTER_TURNS_H_

#include <algorithm>
#include <deque>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler.h"

namespace weft {

class Turns {
 public:
  explicit Turns(Scheduler& scheduler) : scheduler_(scheduler) {}

  // False when `deadline` came first; otherwise the caller has to PassOn.
  bool Take(absl::Time deadline) {
    std::shared_ptr<Event> my_turn;
    {
      absl::MutexLock lock(&mutex_);
      if (!is_taken_) return is_taken_ = true;
      my_turn = scheduler_.NewEvent();
      waiting_.push_back(my_turn);
    }
    my_turn->WaitUntil(deadline);
    absl::MutexLock lock(&mutex_);
    const auto it = std::find(waiting_.begin(), waiting_.end(), my_turn);
    // It may have come together with the deadline.
    if (it == waiting_.end()) return true;
    waiting_.erase(it);
    return false;
  }

  void PassOn() {
    std::shared_ptr<Event> next;
    {
      absl::MutexLock lock(&mutex_);
      is_taken_ = !waiting_.empty();
      if (!is_taken_) return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
    }
    next->Set();
  }

 private:
  Scheduler& scheduler_;
  absl::Mutex mutex_;
  bool is_taken_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<std::shared_ptr<Event>> waiting_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_TURNS_H_
