// SyncReplicasHook: what a MonitoredSession has to do for synchronous replicas
// (see sync_replicas_optimizer.h), TensorFlow's _SyncReplicasOptimizerHook. In
// each session every replica takes over the global step; the chief also sets it
// in the accumulators, puts the initial tokens into the queue, and runs updates
// until the session ends.
//
// An error of an update is one of the coordinator's: it comes out of the run of
// the chief that waits for it, and the session is made anew where it was lost.
//
// Threads: as a hook's; updates have one of the session's, and one that watches
// them.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_HOOK_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_HOOK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/ops/resource/queue.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/session/session.h"
#include "libs/train/coordinator.h"
#include "libs/train/defaults.h"
#include "libs/train/session_run_hook.h"

namespace weft::train {

// What a SyncReplicasOptimizer has added to the graph, and its hooks use; null
// until then.
struct SyncReplicasNodes {
  struct Accumulator {
    ops::Variable variable;  // whose gradients they are
    Output handle;
    bool is_sparse = false;
  };
  int replicas_to_aggregate = 0;
  int total_num_replicas = 0;
  ops::Variable global_step, local_step;
  std::vector<Accumulator> accumulators;
  ops::Queue tokens;
  Output ready_for_local_init_op;
  Operation chief_init_op, local_step_init_op, sync_op;

  bool is_complete() const { return bool{chief_init_op}; }
  // The root of the graph, on the device of the global step.
  Scope BesideGlobalStep(const Scope& scope) const;
  // Puts as many tokens of the global step into the queue.
  Operation EnqueueTokens(const Scope& scope, int num_tokens) const;
  // The same before the first step; see SyncReplicasHookOptions::num_tokens.
  // INVALID_ARGUMENT where they are too few.
  Operation EnqueueInitTokens(const Scope& scope, int num_tokens) const;
};

struct SyncReplicasHookOptions {
  // Tokens that the chief begins with: at least as many as replicas are fewer
  // than gradients of an update. -1: replicas_to_aggregate. With fewer a
  // replica that waits while the chief dies may go on waiting.
  int num_tokens = -1;
  // The chief logs what an update waits for that takes longer, and again each
  // time the wait has doubled.
  absl::Duration log_waits_after = absl::Seconds(5);
  Logger* logger = nullptr;  // outlives the hook; null: lines on stderr
};

class SyncReplicasHook : public SessionRunHook {
 public:
  SyncReplicasHook(std::shared_ptr<const SyncReplicasNodes> nodes,
                   bool is_chief, SyncReplicasHookOptions options);
  ~SyncReplicasHook() override;

  // FAILED_PRECONDITION where gradients have not been applied.
  absl::Status Begin(const Scope& scope) override;
  // FAILED_PRECONDITION, naming variables, where some have no values.
  absl::Status AfterCreateSession(Session& session,
                                  Coordinator& coordinator) override;
  void BeforeSessionGoes() override;

 private:
  class Updates;  // those of one session

  const std::shared_ptr<const SyncReplicasNodes> nodes_;
  const bool is_chief_;
  const SyncReplicasHookOptions options_;
  const DefaultLogger logger_;
  Operation local_init_op_;
  Operation init_tokens_op_;             // of the chief
  std::vector<Output> num_accumulated_;  // of the chief, by accumulator
  std::unique_ptr<Updates> updates_;     // of the chief, while it has a session
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_HOOK_H_
