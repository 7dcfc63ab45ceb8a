// StepWatch logs what slow steps wait for: which tasks have not answered, and
// which edges, queues and other kernels wait there.
//
// It logs one line for each session with slow steps, about its oldest one;
// another each time that step's duration has doubled:
//
//   Session 7 has waited more than 5s for step 12 (fetches [y:0], targets [])
//   and 3 more: /job:ps/replica:0/task:0 waits for node take (QueueDequeueV2)
//   on jobs (FIFOQueueV2); /job:worker/replica:0/task:1 does not answer
//
// A step that Weft itself makes to wait until variables have values gets a line
// only if the chief is missing, which the line says.
//
// It costs a running step only one load: a timer that ticks while steps run
// checks which numbers were assigned long ago.
//
// Threads: all methods may be called from any thread; Stop blocks.
#ifndef WEFT_LIBS_MASTER_STEP_WATCH_H_
#define WEFT_LIBS_MASTER_STEP_WATCH_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/doubling_times.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/master/step_counter.h"
#include "libs/protocol/worker/worker.h"

namespace weft {

// A step that has run for a while, with what is needed to find out what it
// waits for.
struct SlowStep {
  uint64_t session = 0;
  protocol::StepId step;
  std::string what;  // "fetches [y:0], targets []"
  // Tasks that have not answered. They must outlive the watch.
  std::vector<std::pair<std::string, protocol::Worker*>> unanswered;
  int others = 0;  // the session's other slow steps
  // The step, and each other slow one, only waits until variables have values.
  bool awaits_variables = false;
};

struct StepWatchOptions {
  Scheduler* scheduler = nullptr;  // never null; must outlive pending queries
  Logger* logger = nullptr;        // likewise; null: nothing is watched
  const StepCounter* steps = nullptr;  // never null; must outlive the watch
  // The duration after which a step is slow. Infinite: never.
  absl::Duration interval = absl::Seconds(5);
  // The oldest step of each session that has steps below `number`.
  std::function<std::vector<SlowStep>(uint64_t number)> find;
  // Calls `done`, at any time, with why variables may have no values yet: "the
  // chief, worker 0 (...), has not joined". Empty: unknown. May be null.
  std::function<void(absl::AnyInvocable<void(const std::string& why)> done)>
      why_no_values;
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
  // State that was already reported about a session.
  struct Reported {
    uint64_t step = 0;
    DoublingTimes times;
  };

  // Steps with numbers below the result are slow and must be looked up; 0:
  // none.
  uint64_t SlowBelow(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ReportAll(std::vector<SlowStep> slow, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The minimum duration of the step, if that must be reported.
  std::optional<absl::Duration> Due(const SlowStep& slow, absl::Time now)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Queries the tasks that have not answered, and logs the line when all have
  // replied; no line if there is none: the step is about to end.
  void Report(SlowStep slow, absl::Duration age);
  void ReportAwaited(const SlowStep& slow, absl::Duration age);

  const StepWatchOptions options_;
  const absl::Duration tick_;
  std::atomic<bool> is_ticking_;
  InFlight in_flight_;  // running ticks, for which Stop waits
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Mark> marks_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  // When slow steps were last found.
  absl::Time found_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  // Of the sessions that had slow steps then.
  std::map<uint64_t, Reported> reported_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_STEP_WATCH_H_
