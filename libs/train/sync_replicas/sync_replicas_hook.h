// SyncReplicasHook makes a MonitoredSession train synchronous replicas (see
// sync_replicas_optimizer.h); TensorFlow's _SyncReplicasOptimizerHook. In each
// session every replica adopts the global step; the chief also sets it in the
// accumulators, enqueues the initial tokens, and runs updates until the session
// ends.
//
// An update is two steps of the chief's session. The first waits until all
// gradients are there, and changes nothing; it may be ended at any time, and is
// retried when it reaches the call timeout. The second takes and applies the
// gradients and enqueues tokens, without waiting: so a save can always run
// between two updates, however long gradients are missing (SaveBetweenUpdates).
// This costs a round trip of the chief in each step.
//
// An error of an update is reported to the coordinator: the waiting run of the
// chief returns it, and a lost session is replaced. Other replicas wait for the
// next chief. Long waits are logged with their cause.
//
// When the chief's training has ended (TrainingHasEnded), replicas that wait
// for a token end within about ten seconds: their run succeeds, and is the last
// one. They keep waiting for a chief that is lost or was asked to stop.
//
// A replica reports the end of its training; if enough others are left and
// share its queue, its token goes to one of them, as a backup's would. With
// fewer than an update needs (the smaller of replicas_to_aggregate and
// total_num_replicas) the chief ends training within about five seconds: its
// run gets a token and is the last one, it saves, and the others end as above.
// A chief whose own input has ended continues to run updates as long as enough
// others are left.
//
// If a stop is requested (MonitoredSessionOptions::stop_requested) while a run
// waits for others, also on the chief, the run gets a token within about half a
// second: it succeeds, and the chief saves. If replicas share a queue, another
// one may take that token, and this one gets another.
//
// Threads: as a hook's; a thread of the coordinator watches the waits.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_HOOK_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_HOOK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/ops/scope.h"
#include "libs/session/session.h"
#include "libs/train/sessions/coordinator.h"
#include "libs/train/sessions/defaults.h"
#include "libs/train/sessions/session_run_hook.h"
#include "libs/train/sync_replicas/sync_replicas_nodes.h"
#include "libs/train/sync_replicas/sync_replicas_waits.h"

namespace weft::train {

struct SyncReplicasHookOptions {
  // Number of initial tokens: at least the number of gradients of an update
  // minus the number of replicas. -1: as many as an update gives, because each
  // replica that waits for the next chief needs one (TensorFlow:
  // replicas_to_aggregate). With fewer tokens, a replica may keep waiting.
  int num_tokens = -1;
  // Waits longer than this are logged, and again each time the wait has
  // doubled, at least every ten minutes. The chief logs the variables for which
  // gradients are missing; other replicas log that no token arrives, and why.
  // Infinite: never. REQUIRES: positive.
  absl::Duration log_waits_after = absl::Seconds(5);
  // How long a replica that begins after the end of the chief's training waits
  // for another chief to begin; then it ends, too.
  absl::Duration max_wait_for_chief = absl::Minutes(10);
  // A run of a replica other than the chief's that waits for its token this
  // long fails with DEADLINE_EXCEEDED, and training here ends: the chief is
  // gone without a report, or there are too few replicas. Equal to the time
  // that a worker waits for a session.
  absl::Duration max_wait = absl::Hours(2);
  // As max_wait, for the chief's update waiting for gradients, also of its own
  // runs: longer than max_wait, so that others have ended by then. Training
  // since the last checkpoint is lost. Infinite: it waits for lost replicas
  // until a stop is requested.
  absl::Duration max_wait_for_replicas = absl::Hours(3);
  // If replicas had ended before the program of the chief began, they may be
  // restarted with it. The chief waits this long for the gradients of one
  // update; the time starts again with each update, and with each replica that
  // begins. After that those replicas count as ended, and training ends if too
  // few are left. Must be longer than replicas take to start. Infinite: they
  // never count as ended, and the chief waits as for lost replicas.
  absl::Duration max_wait_for_ended_replicas = absl::Minutes(10);
  // Names a replica that has no number. Must outlive the hook; null: the
  // system's.
  Random* random = nullptr;
  Logger* logger = nullptr;  // outlives the hook; null: lines on stderr
};

class SyncReplicasHook : public SessionRunHook {
 public:
  SyncReplicasHook(std::shared_ptr<const SyncReplicasNodes> nodes,
                   bool is_chief, SyncReplicasHookOptions options);
  ~SyncReplicasHook() override;

  // Returns FAILED_PRECONDITION if gradients have not been applied, and
  // INVALID_ARGUMENT for invalid options.
  absl::Status Begin(const Scope& scope) override;
  // Returns FAILED_PRECONDITION, which names variables, if some have no values.
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  absl::StatusOr<Others> PollOtherPrograms(Session& session) override;
  absl::Status End(Session& session) override;
  absl::Status TrainingHasEnded(Session& session) override;
  void BeforeSessionDestroyed() override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status SaveBetweenUpdates(absl::FunctionRef<absl::Status()> save)
      override ABSL_LOCKS_EXCLUDED(mutex_);
  Operation ServedTrainOp() const override { return nodes_->train_op; }

 private:
  class Updates;  // the updates of one session

  absl::Status AddNodesOfChief(const Scope& scope,
                               const SyncReplicasNodes::Ends& ends);
  absl::StatusOr<std::shared_ptr<Updates>> StartUpdates(
      Session& session, Coordinator& coordinator) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::shared_ptr<const SyncReplicasNodes> nodes_;
  const bool is_chief_;
  const SyncReplicasHookOptions options_;
  const DefaultLogger logger_;
  SyncReplicasWaits waits_;
  Operation local_init_op_;
  // Members that only the chief uses.
  std::vector<Operation> begin_ops_;  // run before the first update
  std::vector<Operation> gradients_are_there_;
  std::vector<Operation> end_ops_;  // run when training has ended
  absl::Mutex mutex_;
  // Used only by the chief, during a session.
  std::shared_ptr<Updates> updates_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_HOOK_H_
