// The steps of a session at its master. Only for master_session.cc.
#ifndef WEFT_LIBS_MASTER_MASTER_SESSION_STEP_H_
#define WEFT_LIBS_MASTER_MASTER_SESSION_STEP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/cancellation_link.h"
#include "libs/base/async/join.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/master/callable.h"
#include "libs/master/master_session.h"
#include "libs/master/session_metrics.h"
#include "libs/master/step_watch.h"
#include "libs/protocol/master/master.h"

namespace weft {

// A Step is one run of a callable, from BeginStep to EndStep. Its memory is
// reused for later steps.
class MasterSession::Step {
 public:
  void Prepare(std::shared_ptr<MasterSession> session,
               std::shared_ptr<const Callable> callable, uint64_t id) {
    session_ = std::move(session);
    callable_ = std::move(callable);
    id_ = id;
    // A Cancellation is not reused if it was cancelled, or if it may be shared
    // because a late timer still holds it or a wait was registered with it.
    if (!cancellation_ || cancellation_->IsCancelled() ||
        cancellation_.use_count() > 1 || std::exchange(was_held_, false)) {
      cancellation_ = std::make_shared<Cancellation>();
    }
    const size_t num_parts = callable_->parts.size();
    if (num_parts > parts_capacity_) {
      parts_ = std::make_unique<std::atomic<PartState>[]>(num_parts);
      parts_capacity_ = num_parts;
    }
    for (size_t i = 0; i < num_parts; ++i) parts_[i] = PartState::kRuns;
  }

  const std::shared_ptr<Cancellation>& cancellation() const {
    return cancellation_;
  }
  const Callable& callable() const { return *callable_; }
  uint64_t id() const { return id_; }
  // Whether the step must not begin yet (StepGate). Guarded by the session's
  // lock, except for the thread that has just begun the step.
  bool& is_held() { return is_held_; }
  // Whether the step had to wait when it arrived. Written under the session's
  // lock.
  bool was_to_wait() const { return was_to_wait_; }
  void set_was_to_wait(bool was_to_wait) { was_to_wait_ = was_to_wait; }
  void NoteHeld() { was_held_ = true; }
  // The step is cancelled with its caller's cancellation, which may be null,
  // from here on until its end.
  void WatchCancellation(Cancellation* caller) {
    caller_gone_.Begin(caller, cancellation_);
  }
  // Sets the rendezvous of a partial run with its client.
  void set_client(std::shared_ptr<Rendezvous> client) {
    client_ = std::move(client);
  }
  // Record the begin and the end of the step in `metrics`, which may be null.
  void NoteBegan(SessionMetrics* metrics, const Clock& clock);
  void NoteEnded(const Clock& clock, const absl::Status& status);
  // The part of the session's quota that the step's feeds take.
  void set_fed_bytes(int64_t bytes) { fed_bytes_ = bytes; }
  int64_t TakeFedBytes() { return std::exchange(fed_bytes_, 0); }

  void ArmTimer(absl::Time deadline, absl::Duration timeout);
  // Arms a second timer: at `deadline` the step is cancelled with the error
  // `why`.
  void ArmHoldTimer(absl::Time deadline, const absl::Status& why);
  void Run(const protocol::CallableRun& run, protocol::Master::Done done);

  // Describes the step. Must be called with the session's lock held, which
  // keeps the step running.
  SlowStep Describe(const protocol::WorkerSession& session) const;

  // Returns what EndStep needs after the step has released its references.
  protocol::Master::Done Release(Scheduler& scheduler);
  // Releases the callable, when Describe can no longer be called.
  std::shared_ptr<const Callable> ReleaseCallable() {
    return std::move(callable_);
  }

 private:
  enum class PartState : uint8_t { kRuns, kEndedWell, kFailed };

  void RunPart(int part, const protocol::CallableRun& run,
               uint64_t finished_below);
  void PartAnswered(int part, absl::Status status);
  void PartDone(absl::Status status);
  // The step has failed: notifies tasks that ended their parts successfully,
  // because values that they sent may still be in flight.
  void AbortPartsThatEndedWell(const absl::Status& cause);
  // Converts the parts' traces to this task's clock, for the caller of the
  // step.
  void EndTrace(bool is_wanted);

  std::shared_ptr<MasterSession> session_;
  std::shared_ptr<const Callable> callable_;
  uint64_t id_ = 0;
  protocol::FinishedSteps more_finished_;  // as sent to tasks when it begins
  int64_t fed_bytes_ = 0;
  bool is_held_ = false;
  bool was_held_ = false;
  bool was_to_wait_ = false;
  std::shared_ptr<Cancellation> cancellation_;
  Scheduler::TimerId timer_ = 0;
  Scheduler::TimerId hold_timer_ = 0;
  CancellationLink caller_gone_;
  Join join_;  // joins the ends of the parts
  std::unique_ptr<std::atomic<PartState>[]> parts_;
  size_t parts_capacity_ = 0;
  // Trace of one part of a traced step; empty otherwise.
  struct TracedPart {
    protocol::PartitionTrace trace;
    absl::Time asked;
    absl::Time answered;
  };
  std::vector<TracedPart> traced_;
  RunMetadata* metadata_ = nullptr;
  std::shared_ptr<Rendezvous> client_;
  protocol::Master::Done done_;
  // Null while the step does not run, or if there are no metrics.
  SessionMetrics* metrics_ = nullptr;
  absl::Time began_;
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_MASTER_SESSION_STEP_H_
