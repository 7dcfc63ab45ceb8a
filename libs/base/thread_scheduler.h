// NewThreadScheduler with what a process decides for its threads: how they are
// started, and where a shortage of them is reported.
#ifndef WEFT_LIBS_BASE_THREAD_SCHEDULER_H_
#define WEFT_LIBS_BASE_THREAD_SCHEDULER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler.h"
#include "libs/base/thread_starter.h"

namespace weft {

// Called once for each pool that goes on although it was refused a thread, on
// any thread. Never called if the scheduler could not start (ThreadsStatus).
using OnThreadShortage = std::function<void(const std::string& message)>;

// Each pool has a thread from the start, and the pool of own threads has 6: as
// many as closures of one server hold that do not end or wait for others of the
// pool, and one more. A pool that is refused a further one goes on with those
// that it has, and asks again while work waits for one. The compute pool asks
// only once, when it is made, for its number of threads is constant.
// `starter` and `clock` outlive the scheduler; a null starter is a
// SystemThreadStarter.
std::unique_ptr<Scheduler> NewThreadScheduler(const Clock& clock,
                                              ThreadSchedulerOptions options,
                                              ThreadStarter* starter,
                                              OnThreadShortage on_shortage);

// RESOURCE_EXHAUSTED: NewThreadScheduler was refused a thread that a pool has
// from the start. Such a scheduler must be destroyed before anything waits for
// it; its destructor runs what was scheduled. OK for schedulers of other kinds.
absl::Status ThreadsStatus(const Scheduler& scheduler);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_THREAD_SCHEDULER_H_
