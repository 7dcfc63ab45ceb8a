// PoolProgress: what a Scheduler that keeps count of it tells of its pools:
// whether work goes on in the compute pool, however much of it waits, how much
// does, and what handing work over to it takes. Simulated ones keep none:
// there, time passes only when nothing is left to begin.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_BASE_POOL_PROGRESS_H_
#define WEFT_LIBS_BASE_POOL_PROGRESS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "libs/base/scheduler.h"

namespace weft {

class PoolProgress {
 public:
  virtual ~PoolProgress() = default;

  // Closures that compute threads have begun, ever. Two looks that differ saw
  // the pool alive in between.
  virtual uint64_t num_begun() const = 0;

  // Closures that wait for a thread of the pool, and the threads it has now.
  virtual int64_t num_waiting(Pool pool) const = 0;
  virtual int num_threads(Pool pool) const = 0;

  // From waking a compute thread that sleeps until it runs, lately: 5 us on a
  // machine of one's own, several times as much on a virtual one, whose
  // processors sleep, too. A hint.
  virtual absl::Duration wake_time() const = 0;

  // Null where nobody counts.
  static const PoolProgress* Of(const Scheduler& scheduler) {
    return dynamic_cast<const PoolProgress*>(&scheduler);
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_POOL_PROGRESS_H_
