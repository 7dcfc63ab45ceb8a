// StepWatch: says of steps that take long what they wait for: which tasks have
// not answered, and which edges, queues and other kernels wait there.
//
// Once an interval, one line for each session that has such steps, of its
// oldest one:
//
//   Session 7 has waited more than 5s for step 12 (fetches [y:0], targets [])
//   and 3 more: /job:ps/replica:0/task:0 waits for node take (QueueDequeueV2)
//   on jobs (FIFOQueueV2); /job:worker/replica:0/task:1 does not answer
//
// Costs a running step nothing but one load: a timer that ticks while steps run
// looks which numbers were given out long ago.
//
// Threads: all methods may be called from any thread; Stop blocks.
#ifndef WEFT_LIBS_MASTER_STEP_WATCH_H_
#define WEFT_LIBS_MASTER_STEP_WATCH_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/in_flight.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"
#include "libs/master/step_counter.h"
#include "libs/protocol/worker.h"

namespace weft {

// A step that has run for a while, for whoever asks what it waits for.
struct SlowStep {
  uint64_t session = 0;
  protocol::StepId step;
  std::string what;  // "fetches [y:0], targets []"
  // Tasks that have not answered. They outlive the watch.
  std::vector<std::pair<std::string, protocol::Worker*>> unanswered;
  int others = 0;  // steps of the session that are as slow
};

struct StepWatchOptions {
  Scheduler* scheduler = nullptr;      // never null; outlives what was asked
  Logger* logger = nullptr;            // likewise; null: nothing is watched
  const StepCounter* steps = nullptr;  // never null; outlives the watch
  // After how long a step is slow, and how often that is said. Infinite: never.
  absl::Duration interval = absl::Seconds(5);
  // The oldest step of each session that has steps below `number`.
  std::function<std::vector<SlowStep>(uint64_t number)> find;
};

class StepWatch : public std::enable_shared_from_this<StepWatch> {
 public:
  explicit StepWatch(StepWatchOptions options);

  // A step has begun.
  void StepBegan() {
    if (!is_ticking_.load(std::memory_order_acquire)) BeginTicking();
  }

  // `find` is not called any more when it has returned.
  void Stop();

 private:
  // All steps below `number` had begun by then.
  struct Mark {
    absl::Time when;
    uint64_t number = 0;
  };

  void BeginTicking();
  void Tick();
  // Below which number steps are slow now, and are to be said so; 0: none.
  uint64_t SlowBelow(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReportAll(std::vector<SlowStep> slow, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Report(SlowStep slow);

  const StepWatchOptions options_;
  const absl::Duration tick_;
  std::atomic<bool> is_ticking_;
  InFlight in_flight_;
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Mark> marks_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  absl::Time said_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_STEP_WATCH_H_
