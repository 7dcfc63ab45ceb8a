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

  // Returns the total number of closures started by compute threads. If two
  // values differ, the pool has made progress in between.
  virtual uint64_t num_begun() const = 0;

  // Return the number of closures that wait for a thread of the pool, and the
  // pool's current number of threads.
  virtual int64_t num_waiting(Pool pool) const = 0;
  virtual int num_threads(Pool pool) const = 0;

  // Returns the recent time from waking a sleeping compute thread until it
  // runs. This is only a hint: about 5 us on a physical machine, and several
  // times longer on a virtual machine, because its processors sleep as well.
  virtual absl::Duration wake_time() const = 0;

  // Returns null if the scheduler does not report progress.
  static const PoolProgress* Of(const Scheduler& scheduler) {
    return dynamic_cast<const PoolProgress*>(&scheduler);
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_POOL_PROGRESS_H_
