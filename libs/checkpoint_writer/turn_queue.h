// TurnQueue: work of several clients for threads that may block: each client's
// in order of its coming, clients by turns, no more than a bound at once.
//
// Threads: all methods may be called from any thread, and none blocks but
// WaitUntilIdle. Closures run on the blocking pool without a lock held.
#ifndef WEFT_LIBS_CHECKPOINT_WRITER_TURN_QUEUE_H_
#define WEFT_LIBS_CHECKPOINT_WRITER_TURN_QUEUE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/in_flight.h"
#include "libs/base/scheduler.h"

namespace weft {

class TurnQueue {
 public:
  // `scheduler` outlives it.
  TurnQueue(Scheduler& scheduler, int max_running)
      : scheduler_(scheduler), max_running_(max_running) {}
  TurnQueue(const TurnQueue&) = delete;
  TurnQueue& operator=(const TurnQueue&) = delete;
  // Nobody pushes any more.
  ~TurnQueue() { WaitUntilIdle(); }

  void Push(uint64_t client, Scheduler::Closure closure)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      std::deque<Scheduler::Closure>& waiting = waiting_[client];
      if (waiting.empty()) turns_.push_back(client);
      waiting.push_back(std::move(closure));
      if (running_ == max_running_) return;
      ++running_;
      in_flight_.Begin();
    }
    scheduler_.Schedule(Pool::kBlocking, [this] { Run(); });
  }

  // Returns once all that was pushed before has run.
  void WaitUntilIdle() {
    in_flight_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
  }

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_) {
    while (Scheduler::Closure closure = TakeNext()) closure();
    in_flight_.End();
  }

  // Null when nothing waits; then whoever asked runs no longer.
  Scheduler::Closure TakeNext() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (turns_.empty()) {
      --running_;
      return nullptr;
    }
    const uint64_t client = turns_.front();
    turns_.pop_front();
    const auto it = waiting_.find(client);
    Scheduler::Closure next = std::move(it->second.front());
    it->second.pop_front();
    if (it->second.empty()) {
      waiting_.erase(it);
    } else {
      turns_.push_back(client);
    }
    return next;
  }

  Scheduler& scheduler_;
  const int max_running_;
  InFlight in_flight_;  // threads that run closures
  absl::Mutex mutex_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  // Clients with work that waits, whose turn is next first.
  std::deque<uint64_t> turns_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::deque<Scheduler::Closure>> waiting_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_WRITER_TURN_QUEUE_H_
