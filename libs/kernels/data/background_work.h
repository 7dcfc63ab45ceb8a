// BackgroundWork runs the background threads of an iterator and ends them with
// it. Signal is their condition variable.
#ifndef WEFT_LIBS_KERNELS_DATA_BACKGROUND_WORK_H_
#define WEFT_LIBS_KERNELS_DATA_BACKGROUND_WORK_H_

#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/kernels/data/dataset.h"

namespace weft {

// Signal is a condition variable on the Scheduler. One mutex guards all its
// conditions.
class Signal {
 public:
  // Waits until `condition` holds, which may only change before a Notify, and
  // returns OK; or returns the cause if `cancellation` is cancelled first.
  // Releases the mutex meanwhile.
  absl::Status WaitFor(absl::Mutex& mutex, Scheduler& scheduler,
                       Cancellation& cancellation,
                       absl::FunctionRef<bool()> condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  // Like WaitFor, without cancellation.
  void WaitFor(absl::Mutex& mutex, Scheduler& scheduler,
               absl::FunctionRef<bool()> condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void Notify();

 private:
  // Waits until `condition` holds or `cancellation` is cancelled.
  void WaitForEither(absl::Mutex& mutex, Scheduler& scheduler,
                     Cancellation& cancellation,
                     absl::FunctionRef<bool()> condition)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);
  void WaitOnce(absl::Mutex& mutex, Scheduler& scheduler)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex);

  std::vector<Event*> waiters_;
};

// BackgroundWork cancels the work in its destructor and waits for its end. It
// must therefore be the last member of its iterator, so that it is destroyed
// before the other members.
//
// Threads: thread-safe.
class BackgroundWork {
 public:
  // While a copy of a Running exists, the work is in progress.
  using Running = std::shared_ptr<void>;

  explicit BackgroundWork(const IteratorContext& context);
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;

  // The context of the work: the context of the iterator's creation, with a
  // cancellation of its own.
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
