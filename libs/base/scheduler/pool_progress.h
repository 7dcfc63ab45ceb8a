// PoolProgress reports the progress of a scheduler's pools: whether the compute
// pool runs work, how much work waits, and how long handing work to another
// thread takes. Simulated schedulers do not implement it: in a simulation, time
// passes only when nothing is left to start.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_BASE_SCHEDULER_POOL_PROGRESS_H_
#define WEFT_LIBS_BASE_SCHEDULER_POOL_PROGRESS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

class PoolProgress {
 public:
  virtual ~PoolProgress() = default;

  // The total number of closures started by compute threads. If two values
  // differ, the pool has made progress in between.
  virtual uint64_t num_begun() const = 0;

  // The number of closures that wait for a thread of the pool, and its current
  // number of threads.
  virtual int64_t num_waiting(Pool pool) const = 0;
  virtual int num_threads(Pool pool) const = 0;

  // The recent time from waking a sleeping compute thread until it runs: 5 us
  // on a dedicated machine, several times as much on a virtual one, whose
  // processors sleep, too. A hint.
  virtual absl::Duration wake_time() const = 0;

  // Null if the scheduler does not report progress.
  static const PoolProgress* Of(const Scheduler& scheduler) {
    return dynamic_cast<const PoolProgress*>(&scheduler);
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_POOL_PROGRESS_H_
