// FairQueue schedules blocking work of several clients. Work is FIFO for each
// client and round robin among clients, and a limited number of closures run at
// the same time. One client may use at most half of these, so that work on a
// hung disk does not block other clients.
//
// Threads: all methods may be called from any thread; only WaitUntilIdle
// blocks. Closures run on the blocking pool without a lock held.
#ifndef WEFT_LIBS_CHECKPOINT_WRITER_FAIR_QUEUE_H_
#define WEFT_LIBS_CHECKPOINT_WRITER_FAIR_QUEUE_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

class FairQueue {
 public:
  // `scheduler` must outlive this object.
  FairQueue(Scheduler& scheduler, int max_running)
      : scheduler_(scheduler),
        max_running_(max_running),
        max_of_a_client_(std::max(1, max_running / 2)) {}
  FairQueue(const FairQueue&) = delete;
  FairQueue& operator=(const FairQueue&) = delete;
  // REQUIRES: Push is not called any more.
  ~FairQueue() { WaitUntilIdle(); }

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

  bool is_idle() const { return in_flight_.count() == 0; }
  // Waits until all closures that were pushed before have run.
  void WaitUntilIdle() {
    in_flight_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
  }

 private:
  struct Work {
    uint64_t client = 0;
    Scheduler::Closure closure;  // null: no work
  };

  void Run() ABSL_LOCKS_EXCLUDED(mutex_) {
    Work work = TakeNext();
    while (work.closure != nullptr) {
      work.closure();
      work.closure = nullptr;
      End(work.client);
      work = TakeNext();
    }
    in_flight_.End();
  }

  // Returns the next work, or no work if none may start. In the latter case the
  // calling thread stops. If a client is at its limit, the threads that run its
  // work start the rest of its work later.
  Work TakeNext() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto turn =
        std::find_if(turns_.begin(), turns_.end(), [this](uint64_t client) {
          mutex_.AssertHeld();
          const auto begun = begun_.find(client);
          return begun == begun_.end() || begun->second < max_of_a_client_;
        });
    if (turn == turns_.end()) {
      --running_;
      return {};
    }
    const uint64_t client = *turn;
    turns_.erase(turn);
    const auto it = waiting_.find(client);
    Work next{client, std::move(it->second.front())};
    it->second.pop_front();
    if (it->second.empty()) {
      waiting_.erase(it);
    } else {
      turns_.push_back(client);
    }
    ++begun_[client];
    return next;
  }

  void End(uint64_t client) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto it = begun_.find(client);
    if (--it->second == 0) begun_.erase(it);
  }

  Scheduler& scheduler_;
  const int max_running_;
  const int max_of_a_client_;
  InFlight in_flight_;  // threads that run closures
  absl::Mutex mutex_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, int> begun_ ABSL_GUARDED_BY(mutex_);  // by client
  // The clients with waiting work, in the order in which they are served.
  std::deque<uint64_t> turns_ ABSL_GUARDED_BY(mutex_);
  std::map<uint64_t, std::deque<Scheduler::Closure>> waiting_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_WRITER_FAIR_QUEUE_H_
