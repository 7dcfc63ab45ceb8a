// An overload of NewThreadScheduler with further options of a process: how its
// threads are started, and where a shortage of threads is reported.
#ifndef WEFT_LIBS_BASE_SCHEDULER_THREAD_SCHEDULER_H_
#define WEFT_LIBS_BASE_SCHEDULER_THREAD_SCHEDULER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/thread_starter.h"

namespace weft {

// Is called once, on any thread, for each pool that continues after the system
// refused it a thread. It is never called if the scheduler could not start
// (ThreadsStatus).
using OnThreadShortage = std::function<void(const std::string& message)>;

// Returns a scheduler with real threads. Each pool starts with one thread, but
// kUnbounded starts with 6: the number of closures of one server that run
// forever or wait for others of that pool, plus one. A pool that is refused a
// further thread continues with its existing threads, and asks again while work
// waits. The compute pool asks only once, when it is created, because its
// number of threads is constant. `starter` and `clock` must outlive the
// scheduler. A null `starter` means a SystemThreadStarter.
std::unique_ptr<Scheduler> NewThreadScheduler(const Clock& clock,
                                              ThreadSchedulerOptions options,
                                              ThreadStarter* starter,
                                              OnThreadShortage on_shortage);

// Returns RESOURCE_EXHAUSTED if NewThreadScheduler was refused one of the
// initial threads of a pool. Such a scheduler must be destroyed before anything
// waits for its work. Its destructor runs everything scheduled. Returns OK for
// other kinds of schedulers.
absl::Status ThreadsStatus(const Scheduler& scheduler);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_THREAD_SCHEDULER_H_
