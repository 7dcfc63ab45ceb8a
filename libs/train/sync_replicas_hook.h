// SyncReplicasHook: what a MonitoredSession has to do for synchronous replicas
// (see sync_replicas_optimizer.h), TensorFlow's _SyncReplicasOptimizerHook. In
// each session every replica takes over the global step; the chief also sets it
// in the accumulators, puts the initial tokens into the queue, and runs updates
// until the session ends.
//
// An update is two steps of the chief's session. One waits until all gradients
// are there, and changes nothing; it may be ended at any time, and is made
// again where it has taken as long as a call may. The other takes them, applies
// them and gives tokens, and waits for nobody: so a save, which an update would
// tear, has a moment between two of them however long gradients are missing
// (SaveBetweenUpdates). That costs a round trip of the chief in each step.
//
// An error of an update is one of the coordinator's: it comes out of the run of
// the chief that waits for it, and the session is made anew where it was lost.
// Other replicas wait for the next chief. Whoever waits long logs for what.
//
// When the chief's training has ended (TrainingHasEnded), replicas that wait
// for a token end within about ten seconds: their run succeeds, and is the last
// one. A chief that is lost, or was asked to leave, is waited for.
//
// A replica whose training has ended says so; where enough others are left and
// share its queue, its token goes to one of them, as a backup's would. With
// fewer than an update needs (the smaller of replicas_to_aggregate and
// total_num_replicas) the chief ends training within about five seconds: its
// run gets a token and is the last one, it saves, and the others end as above.
// A chief whose own input has ended goes on with updates for as long as enough
// others are left.
//
// A program that is asked to leave (MonitoredSessionOptions::stop_requested)
// while its run waits for others, the chief's too, gets a token within about
// half a second: the run succeeds, and the chief saves. Where replicas share a
// queue another one may take that token, and this one gets another.
//
// Threads: as a hook's; one of the coordinator's watches what is waited for.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_HOOK_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_HOOK_H_

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
#include "libs/train/coordinator.h"
#include "libs/train/defaults.h"
#include "libs/train/session_run_hook.h"
#include "libs/train/sync_replicas_nodes.h"
#include "libs/train/sync_replicas_waits.h"

namespace weft::train {

struct SyncReplicasHookOptions {
  // Tokens that the chief begins with: at least as many as replicas are fewer
  // than gradients of an update. -1: as many as an update gives, for each
  // replica that waits for the next chief needs one (TensorFlow:
  // replicas_to_aggregate). With fewer, one may go on waiting.
  int num_tokens = -1;
  // What is waited for that takes longer is logged, and again each time the
  // wait has doubled, after ten minutes at the latest: by the chief of which
  // variables gradients of replicas are missing, by another replica that no
  // token comes, and why. Infinite: never. REQUIRES: more than none.
  absl::Duration log_waits_after = absl::Seconds(5);
  // A replica that begins when a chief's training has ended waits so long for
  // another chief to begin; then it ends, too.
  absl::Duration max_wait_for_chief = absl::Minutes(10);
  // A run of another replica than the chief's that waits for so long for its
  // token fails with DEADLINE_EXCEEDED, and training here ends: the chief is
  // gone and could not say so, or too few replicas are there. As long as a
  // worker waits for a session.
  absl::Duration max_wait = absl::Hours(2);
  // The same of the chief, whose update waits for so long for gradients, also
  // for those of its own runs: longer than others wait, who have ended by then.
  // What was trained since the last checkpoint is lost. Infinite: it waits for
  // lost replicas until it is asked to leave.
  absl::Duration max_wait_for_replicas = absl::Hours(3);
  // A chief whose program begins when replicas had ended before, which may be
  // started again with it, waits so long for the gradients of one update; with
  // each update, and with each replica that begins, it waits anew. Then those
  // replicas count as ended, and training ends where too few are left. Longer
  // than replicas take to start. Infinite: they never count, and the chief
  // waits as for others that are lost.
  absl::Duration max_wait_for_ended_replicas = absl::Minutes(10);
  // For the name of a replica without a number. Outlives the hook; null: the
  // system's.
  Random* random = nullptr;
  Logger* logger = nullptr;  // outlives the hook; null: lines on stderr
};

class SyncReplicasHook : public SessionRunHook {
 public:
  SyncReplicasHook(std::shared_ptr<const SyncReplicasNodes> nodes,
                   bool is_chief, SyncReplicasHookOptions options);
  ~SyncReplicasHook() override;

  // FAILED_PRECONDITION where gradients have not been applied; INVALID_ARGUMENT
  // for options that cannot be.
  absl::Status Begin(const Scope& scope) override;
  // FAILED_PRECONDITION, naming variables, where some have no values.
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext& context) override;
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override;
  absl::StatusOr<Others> WhileOthersTrain(Session& session) override;
  absl::Status End(Session& session) override;
  absl::Status TrainingHasEnded(Session& session) override;
  void BeforeSessionGoes() override ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status SaveBetweenUpdates(absl::FunctionRef<absl::Status()> save)
      override ABSL_LOCKS_EXCLUDED(mutex_);
  Operation ServedTrainOp() const override { return nodes_->train_op; }

 private:
  class Updates;  // those of one session

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
  // Of the chief.
  std::vector<Operation> begin_ops_;  // what it does before its first update
  std::vector<Operation> gradients_are_there_;
  std::vector<Operation> end_ops_;  // what it does when training has ended
  absl::Mutex mutex_;
  // Of the chief, while it has a session.
  std::shared_ptr<Updates> updates_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_HOOK_H_
