// Heartbeat detects whether the other end of a connection is alive, and proves
// that this end is. libzmq answers even for a process whose own threads are
// stuck; here an answer passes through the reading thread and the control pool,
// which no kernel and no client function can block.
//
// A reading thread is stuck if it does not read for the whole timeout, and
// control threads are stuck if they start no closure for that long. The compute
// pool may be busy for long: kernels of a minute on all cores are legitimate,
// and so is an hour of queued closures. So an answer also reports for how long
// a closure has waited in the compute pool while no closure started. The asking
// end disconnects the other one if no answer arrives within about twice
// `timeout`, or if the compute pool has been stuck for more than `max_busy`.
//
// Time is counted in ticks of a fifth of `timeout`, not by the clock, so that a
// process that was suspended reads the messages received meanwhile before it
// decides. An end that receives a question knows that the other end is alive
// and asks less often: of two idle ends, one asks and one answers in each tick.
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
#include "libs/base/scheduler/pool_progress.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/async_scope.h"
#include "libs/bus/blob.h"
#include "libs/bus/handshake.h"

namespace weft::bus {

struct HeartbeatOptions {
  absl::Duration timeout = absl::InfiniteDuration();  // infinite: never asks
  absl::Duration max_busy = absl::InfiniteDuration();
  // How much later this end asks than the other end, in ticks, so that only one
  // end asks.
  double ask_delay = 0;
  // Sends a body of kHeartbeatMethod.
  absl::AnyInvocable<void(Blob body) const> send;
  // Reports that the other end is not alive; possibly more than once.
  absl::AnyInvocable<void(const absl::Status& why) const> lose;
};

class Heartbeat {
 public:
  // `scope` counts its closures and must outlive them.
  Heartbeat(AsyncScope& scope, HeartbeatOptions options);

  // Starts asking. `holder` owns this object; closures keep `holder` alive
  // until Stop.
  void Start(std::shared_ptr<void> holder);
  // Stops asking and answering.
  void Stop();

  // Returns INVALID_ARGUMENT if the other end violated the protocol.
  absl::Status Receive(std::shared_ptr<void> holder, const Blob& body);

 private:
  // An answer that is missing after this many ticks will not arrive. The number
  // is large because the answer queues behind all other messages of its
  // channel, at both ends; ZeroMQ detects a process that is stopped or cut off
  // sooner.
  static constexpr int kTicksToAnswer = 9;

  absl::Time Now() const;
  absl::Duration tick() const { return options_.timeout / 5; }
  void Arm(std::shared_ptr<void> holder) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tick(std::shared_ptr<void> holder);
  // Schedules an answer to this question, and to no earlier one.
  void PromiseAnswer(std::shared_ptr<void> holder, uint64_t sequence);
  // Returns for how long no closure has started in the compute pool while one
  // waits there.
  absl::Duration ComputeIsStuckFor() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Answers the other end's question. Runs on the control pool, because an
  // answer proves that the control pool runs closures.
  void Answer();
  // Notes that the compute pool has started a closure. Runs on that pool.
  void ComputeHasBegun();
  absl::Status ReceiveAnswer(const HeartbeatBody& answer);

  AsyncScope& scope_;
  const HeartbeatOptions options_;
  absl::Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  Scheduler::TimerId timer_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time heard_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  uint64_t last_asked_ ABSL_GUARDED_BY(mutex_) = 0;
  bool waits_ ABSL_GUARDED_BY(mutex_) = false;  // for the answer to last_asked_
  int ticks_waited_ ABSL_GUARDED_BY(mutex_) = 0;
  // The last question of the other end, or 0 if that is answered. Never 0 while
  // Answer is scheduled.
  uint64_t to_answer_ ABSL_GUARDED_BY(mutex_) = 0;
  // Whether Answer is scheduled on the control pool, and ComputeHasBegun on the
  // compute pool; each at most once at a time.
  bool answer_scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  bool probe_scheduled_ ABSL_GUARDED_BY(mutex_) = false;
  // The last time at which the compute pool is known to have started a closure.
  absl::Time stuck_since_ ABSL_GUARDED_BY(mutex_);
  // The value of progress_->num_begun() at the last check.
  uint64_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  // Null if the pool does not count; then only the probe shows progress.
  const PoolProgress* const progress_;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_HEARTBEAT_H_
