// Heartbeat: finds out whether the other end of a connection lives, and says
// that this one does. libzmq answers for a process whose own threads are stuck;
// here an answer goes through the thread that reads and through the control
// pool, which no kernel and no client function can hold.
//
// What is stuck? A thread that does not read for the whole time is, and so are
// control threads that begin nothing. The compute pool may have work for long:
// kernels of a minute on all cores are honest, and so is an hour of closures
// that wait their turn. So an answer also says for how long a closure has
// waited in the compute pool while nothing at all began there. The asking end
// gives the other one up when no answer comes within about twice `timeout`, or
// when the compute pool has been stuck for more than `max_busy`.
//
// Time is counted in ticks of a fifth of `timeout`, not by the clock, so that a
// process that was stopped itself reads what came meanwhile before it judges.
// An end that hears another one ask, and thereby knows that it lives, asks
// less: of two that are idle one asks and one answers, each fifth.
//
// Threads: thread-safe. Sends and reports without a lock held.
#ifndef WEFT_LIBS_BUS_HEARTBEAT_H_
#define WEFT_LIBS_BUS_HEARTBEAT_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/pool_progress.h"
#include "libs/base/scheduler.h"
#include "libs/bus/async_scope.h"
#include "libs/bus/blob.h"
#include "libs/bus/greeting.h"

namespace weft::bus {

struct HeartbeatOptions {
  absl::Duration timeout = absl::InfiniteDuration();  // infinite: never asks
  absl::Duration max_busy = absl::InfiniteDuration();
  // How much later than the other end it asks, in ticks, so that one does.
  double patience = 0;
  // Sends a body of kHeartbeatMethod.
  absl::AnyInvocable<void(Blob body) const> send;
  // The other end does not live. Perhaps more than once.
  absl::AnyInvocable<void(const absl::Status& why) const> lose;
};

class Heartbeat {
 public:
  // `scope` counts its closures and outlives them.
  Heartbeat(AsyncScope& scope, HeartbeatOptions options);

  // Begins to ask. `holder` owns this object; closures keep it alive, until
  // Stop.
  void Start(std::shared_ptr<void> holder);
  // Asks no more; answers are not given any more, either.
  void Stop();

  // INVALID_ARGUMENT when the other end broke the rules.
  absl::Status Receive(std::shared_ptr<void> holder, const Blob& body);

 private:
  // An answer that is lacking after so many ticks will not come. Many, because
  // it travels behind all else on its lane, at either end; who is stopped or
  // cut off is found sooner, by ZeroMQ.
  static constexpr int kTicksToAnswer = 9;

  absl::Time Now() const;
  absl::Duration tick() const { return options_.timeout / 5; }
  void Arm(std::shared_ptr<void> holder) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tick(std::shared_ptr<void> holder);
  void PromiseAnswer(std::shared_ptr<void> holder, uint64_t sequence);
  // For how long nothing has begun in the compute pool, though a closure waits
  // there.
  absl::Duration ComputeIsStuckFor() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Answer();
  void ComputeHasBegun();
  absl::Status ReceiveAnswer(const HeartbeatBody& answer);

  AsyncScope& scope_;
  const HeartbeatOptions options_;
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time heard_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  uint64_t last_asked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;  // for the answer to that
  int ticks_waited_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of the other end: the last it asked; 0: that is answered.
  uint64_t to_answer_ ABSL_GUARDED_BY(mutex_) = 0;
  // Closures that are on their way through the pools, one in each at most: the
  // answer, and the one that shows that the compute pool begins closures.
  bool in_control_ ABSL_GUARDED_BY(mutex_) = false;
  bool in_compute_ ABSL_GUARDED_BY(mutex_) = false;
  // Since when the pool has begun nothing, as far as was looked.
  absl::Time stands_since_ ABSL_GUARDED_BY(mutex_);
  uint64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  // Null where the pool does not count.
  const PoolProgress* const progress_;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_HEARTBEAT_H_
