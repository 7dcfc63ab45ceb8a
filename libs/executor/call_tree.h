// CallTree: the calls of functions inside one call, that of a step: who runs
// next, and that there are not too many at once. Internal to this room.
//
// Calls go on where they are made, one inside the other, so that a recursion
// goes to its depth first. After so many inside one another, or on one thread
// in a row, a call is put aside, and with it all that are made meanwhile less
// deep; threads of the compute pool then take the deepest first, few of them,
// and one call each time they run. So a recursion that branches has about as
// many calls open as it is deep, and the pool has time for others: its timers
// and the cancellation among them.
//
// Threads: thread-safe. Nothing is called with the lock held.
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
#include "libs/base/cancellation.h"
#include "libs/base/scheduler.h"

namespace weft {

class CallTree : public std::enable_shared_from_this<CallTree> {
 public:
  // Calls that have begun and not ended; far above what any depth needs.
  static constexpr int64_t kMaxCalls = 1 << 16;

  using StartCall = absl::AnyInvocable<void()>;

  // `step` is cancelled when the outermost call is. Both live until that ends.
  // `around`: how many calls and iterators the outermost one is inside.
  CallTree(Scheduler& scheduler, const Cancellation& step, int around = 0);

  // A call begins, to be ended by Leave. The cause where the step is cancelled,
  // RESOURCE_EXHAUSTED beyond kMaxCalls: then it has not begun.
  absl::Status Enter();
  void Leave() { open_.fetch_sub(1, std::memory_order_relaxed); }

  // Starts the call that has so many around it, itself included: before Run
  // returns, or later on the compute pool.
  void Run(int depth, StartCall start);

  int64_t num_open() const { return open_.load(std::memory_order_relaxed); }

 private:
  bool MayRunHere(int depth);
  void PutAside(int depth, StartCall start);
  // Starts the deepest call that was put aside, then schedules itself again.
  void RunNext();
  void ScheduleRunNext();

  Scheduler& scheduler_;
  const Cancellation& step_;
  const int around_;
  std::atomic<int64_t> open_{0};
  std::atomic<uint64_t> started_{0};
  std::atomic<int> deepest_{0};  // of those put aside; 0: none is
  absl::Mutex mutex_;
  int takers_ ABSL_GUARDED_BY(mutex_) = 0;  // closures of RunNext
  // By depth; of equal ones the last comes first.
  absl::btree_multimap<int, StartCall> aside_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_CALL_TREE_H_
