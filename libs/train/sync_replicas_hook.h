// SyncReplicasHook: what a MonitoredSession has to do for synchronous replicas
// (see sync_replicas_optimizer.h), TensorFlow's _SyncReplicasOptimizerHook. In
// each session every replica takes over the global step; the chief also sets it
// in the accumulators, puts the initial tokens into the queue, and runs updates
// until the session ends.
//
// An error of an update is one of the coordinator's: it comes out of the run of
// the chief that waits for it, and the session is made anew where it was lost.
// Other replicas wait for the next chief. Whoever waits long logs for what.
//
// Threads: as a hook's; one of the coordinator's watches what is waited for.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_HOOK_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_HOOK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
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
  // than gradients of an update. -1: replicas_to_aggregate. With fewer a
  // replica that waits while the chief dies may go on waiting.
  int num_tokens = -1;
  // What is waited for that takes longer is logged, and again each time the
  // wait has doubled: by the chief of which variables gradients of replicas are
  // missing, by another replica that no token comes, and why. REQUIRES: more
  // than none.
  absl::Duration log_waits_after = absl::Seconds(5);
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
  void BeforeSessionGoes() override;

 private:
  class Updates;  // those of one session

  absl::Status StartUpdates(Session& session, Coordinator& coordinator);

  const std::shared_ptr<const SyncReplicasNodes> nodes_;
  const bool is_chief_;
  const SyncReplicasHookOptions options_;
  const DefaultLogger logger_;
  SyncReplicasWaits waits_;
  Operation local_init_op_;
  Operation init_tokens_op_;          // of the chief
  std::shared_ptr<Updates> updates_;  // of the chief, while it has a session
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_HOOK_H_
