// BackgroundWork: what an iterator has going on while nobody calls it, which
// ends with it. Signal: how its threads wait for one another.
#ifndef WEFT_LIBS_KERNELS_DATA_BACKGROUND_WORK_H_
#define WEFT_LIBS_KERNELS_DATA_BACKGROUND_WORK_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/cancellation.h"
#include "libs/base/scheduler.h"
#include "libs/kernels/data/dataset.h"

namespace weft {

// A condition variable on the Scheduler; all is done with one mutex held.
class Signal {
 public:
  // Until `condition`, which only what Notify follows changes, holds: OK; or
  // `cancellation` is cancelled before: its cause. Lets go of the mutex
  // meanwhile.
  absl::Status WaitFor(absl::Mutex& mutex, Scheduler& scheduler,
                       Cancellation& cancellation,
                       absl::FunctionRef<bool()> condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // The same, but only `condition` ends it.
  void WaitFor(absl::Mutex& mutex, Scheduler& scheduler,
               absl::FunctionRef<bool()> condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void Notify();

 private:
  // Until `condition` holds or `cancellation` is cancelled.
  void WaitForEither(absl::Mutex& mutex, Scheduler& scheduler,
                     Cancellation& cancellation,
                     absl::FunctionRef<bool()> condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void WaitOnce(absl::Mutex& mutex, Scheduler& scheduler)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  std::vector<Event*> waiters_;
};

// The destructor cancels what goes on and waits for its end; so it is the last
// member of its iterator, whose others outlive it.
//
// Threads: thread-safe.
class BackgroundWork {
 public:
  // While a copy exists, something goes on.
  using Running = std::shared_ptr<void>;

  explicit BackgroundWork(const IteratorContext& context);
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // What it runs with: that of the iterator's making, with a cancellation of
  // its own.
  IteratorContext& context() { return context_; }
  bool IsCancelled() const { return cancellation_.IsCancelled(); }

  void Start(Pool pool, Scheduler::Closure closure);
  Running Begin();

 private:
  struct Count;

  Cancellation cancellation_;
  IteratorContext context_;
  const std::shared_ptr<Count> count_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_BACKGROUND_WORK_H_
