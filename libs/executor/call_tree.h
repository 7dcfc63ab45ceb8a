// CallTree schedules the function calls that are nested in one call of a step:
// it decides which call runs next, and how many may be open at once. Internal
// to this module.
//
// Calls run where they are made, nested, so that a recursion is processed depth
// first. After a number of nested calls, or of calls in a row on one thread, a
// call is deferred, and with it all shallower calls made in the meantime. A few
// threads of the compute pool then take the deepest call first, and one call
// each time they run. So a branching recursion has about as many open calls as
// its depth, and the pool can also run other work, including timers and the
// cancellation.
//
// Threads: thread-safe. No call runs with the lock held.
#ifndef WEFT_LIBS_EXECUTOR_CALL_TREE_H_
#define WEFT_LIBS_EXECUTOR_CALL_TREE_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft {

class CallTree : public std::enable_shared_from_this<CallTree> {
 public:
  // The maximum number of calls that have begun and not ended. It is far more
  // than any depth needs.
  static constexpr int64_t kMaxCalls = 1 << 16;

  using StartCall = absl::AnyInvocable<void()>;

  // `step` is the cancellation of the outermost call. `scheduler` and `step`
  // must live until that call ends. `around` is the number of calls and
  // iterators that surround the outermost call.
  CallTree(Scheduler& scheduler, const Cancellation& step, int around = 0);

  // Begins a call, to be ended by Leave. Returns the cause if the step is
  // cancelled, RESOURCE_EXHAUSTED beyond kMaxCalls: then it has not begun.
  absl::Status Enter();
  void Leave() { open_.fetch_sub(1, std::memory_order_relaxed); }

  // Starts a call, before Run returns or later on the compute pool. `depth` is
  // the number of nested calls including this one.
  void Run(int depth, StartCall start);

  int64_t num_open() const { return open_.load(std::memory_order_relaxed); }

 private:
  // Returns whether the call may run nested in the current one. The result is a
  // hint, because deepest_ may change concurrently.
  bool MayRunHere(int depth);
  // Defers the call; a closure on the compute pool will start it.
  void PutAside(int depth, StartCall start);
  // Starts the deepest deferred call, then schedules itself again.
  void RunNext();
  void ScheduleRunNext();

  Scheduler& scheduler_;
  const Cancellation& step_;
  const int around_;
  // Relaxed order is sufficient for these: they protect no other data.
  std::atomic<int64_t> open_{0};
  std::atomic<uint64_t> started_{0};
  std::atomic<int> deepest_{0};  // the largest depth of a deferred call, or 0
  absl::Mutex mutex_;
  int takers_ ABSL_GUARDED_BY(mutex_) = 0;  // scheduled closures of RunNext
  // Deferred calls by depth; of calls with equal depth, the last one runs
  // first.
  absl::btree_multimap<int, StartCall> aside_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_CALL_TREE_H_
