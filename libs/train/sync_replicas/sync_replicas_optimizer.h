// SyncReplicasOptimizer aggregates the gradients of several replicas into one
// update of their average; TensorFlow's tf.train.SyncReplicasOptimizer
// (python/training/sync_replicas_optimizer.py), with its nodes and their names.
//
//   train::GradientDescent descent(0.05f);
//   train::SyncReplicasOptimizer sync(descent, {.replicas_to_aggregate = 4});
//   Operation train = sync.Minimize(scope, loss, {.global_step = step});
//   auto session = train::MonitoredTrainingSession(root, {
//       ..., .hooks = {sync.MakeSessionRunHook(is_chief), ...}});
//
// Each replica's `train` adds its gradients to accumulators colocated with the
// variables, and waits for a token from the queue "sync_token_q", which is
// colocated with the global step. The chief also runs updates: an update takes
// the averages when replicas_to_aggregate gradients are there, applies them,
// increments the global step and enqueues a token for each replica. A token is
// the new global step, and the step of the gradients that its replica computes
// next; gradients of an older step are dropped. So with more replicas than are
// aggregated, the slowest ones do not delay updates: they are backups.
//
// Without backups, a replica that is lost while it holds a token blocks the
// others: they wait until it is back, and log the wait (see
// sync_replicas_hook.h). One that was lost while it waited does not: others
// take its token, and give a second gradient. A replica whose run is retried
// also gives a second gradient, of the same input. One whose training has ended
// does not block others while enough are left; with fewer, training ends (see
// sync_replicas_hook.h). Every numbered replica
// (SyncReplicasOptions::replica_index) is required, and one gradient of each
// counts.
//
// A restarted chief, with or without a checkpoint, inherits no gradients:
// gradients given before are gone, and gradients that replicas were computing
// are dropped.
//
// Initial tokens carry the initial step, so as many gradients as there are such
// tokens are computed twice for one update, and are dropped (or, if they come
// early enough, compensate for a slow replica). With backups, or after the loss
// of a replica that held a token, the same applies to the tokens that are left:
// each costs one run.
//
// A row of a sparse gradient is averaged over the replicas whose gradients have
// it, as in TensorFlow. Unlike there, indices may be in any order and be
// repeated.
//
// As in TensorFlow, gradients are counted, not replicas: a fast replica may
// give all gradients of an update. Only numbered replicas give one each.
//
// Gradients are summed in their order of arrival, unless
// SyncReplicasOptions::replica_index is set.
//
// Errors stick to the scope; operations are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_OPTIMIZER_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_OPTIMIZER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/train/optimizers/moving_averages.h"
#include "libs/train/optimizers/optimizer.h"
#include "libs/train/sessions/queue_runner.h"
#include "libs/train/sessions/session_run_hook.h"
#include "libs/train/sync_replicas/sync_replicas_hook.h"

namespace weft::train {

struct SyncReplicasOptions {
  // Number of gradients of an update. REQUIRES: at least 1.
  int replicas_to_aggregate = 0;
  // Number of replicas; those above replicas_to_aggregate are backups. If
  // fewer, each has to give several gradients for an update. Unset:
  // replicas_to_aggregate.
  std::optional<int> total_num_replicas;
  // Updated after each update, for these variables; must outlive the optimizer.
  // Null: none. No variables: all trainable ones.
  ExponentialMovingAverage* variable_averages = nullptr;
  std::vector<ops::Variable> variables_to_average;
  std::string name = "sync_replicas";

  // Not in TensorFlow: the number of this replica among all of them, from 0.
  // Gradients are then summed in the order of these numbers, and only the first
  // gradient of a replica for each global step counts, so that a recomputed
  // gradient is not added twice. Two runs without failures are then
  // bit-identical. Each replica has its own token queue, and there are no
  // backups: all replicas are aggregated. The cost: accumulators hold all
  // gradients of an update instead of their sum, and add them up when the last
  // one has arrived. All replicas must set it, or none.
  std::optional<int> replica_index;
};

class SyncReplicasOptimizer {
 public:
  // `optimizer` makes the updates; it must outlive this one.
  SyncReplicasOptimizer(Optimizer& optimizer, SyncReplicasOptions options);

  // As Optimizer's.
  std::vector<GradientAndVariable> ComputeGradients(
      const Scope& scope, const Output& loss,
      const ComputeGradientsOptions& options = {}) {
    return optimizer_.ComputeGradients(scope, loss, options);
  }
  // Returns the operation that a replica runs. Must be called once.
  // options.global_step is required, options.name is not used.
  Operation ApplyGradients(const Scope& scope,
                           const std::vector<GradientAndVariable>& gradients,
                           const ApplyGradientsOptions& options);
  Operation Minimize(const Scope& scope, const Output& loss,
                     const MinimizeOptions& options);
  // The slot of the wrapped optimizer.
  ops::Variable GetSlot(const ops::Variable& variable,
                        const std::string& slot) const {
    return optimizer_.GetSlot(variable, slot);
  }

  // Returns the hook that the MonitoredSession of each replica needs, see
  // sync_replicas_hook.h. It may outlive this optimizer.
  std::shared_ptr<SessionRunHook> MakeSessionRunHook(
      bool is_chief, SyncReplicasHookOptions options = {}) const;

  // ---- for programs without the hook; before ApplyGradients,
  // FAILED_PRECONDITION sticks to the scope ----

  // Chief only: a QueueRunner that runs updates. It cannot end an update that
  // waits, so it ends with the session.
  QueueRunner GetChiefQueueRunner(const Scope& scope) const;
  // Enqueues the initial tokens. INVALID_ARGUMENT if they are too few for the
  // first update.
  Operation GetInitTokensOp(const Scope& scope, int num_tokens = -1) const;

  // Null before ApplyGradients. Names of global variables without value.
  const Output& ready_for_local_init_op() const {
    return nodes_->ready_for_local_init_op;
  }
  // Operations that run once in each session when global variables have values:
  // on the chief, and on other workers.
  const Operation& chief_init_op() const { return nodes_->chief_init_op; }
  const Operation& local_step_init_op() const {
    return nodes_->local_step_init_op;
  }
  // The operation that the chief's queue runner runs repeatedly.
  const Operation& sync_op() const { return nodes_->sync_op; }

 private:
  absl::Status CheckOptions(const std::vector<GradientAndVariable>& gradients,
                            const ops::Variable& global_step) const;
  void MakeLocalStep(const Scope& scope);
  void MakeTokenQueues(const Scope& there);
  // Returns the average of `item`, which has a gradient; the op that adds the
  // gradient is appended to `applied`.
  Gradient Accumulate(const Scope& named, const GradientAndVariable& item,
                      std::vector<Operation>& applied);
  void AddSync(const Scope& there, const Operation& updated);
  void AddChiefInit(const Scope& named);
  Gradient AccumulateDense(const Scope& beside, const GradientAndVariable& item,
                           const Output& step, std::vector<Operation>& applied);
  Gradient AccumulateSparse(const Scope& beside,
                            const GradientAndVariable& item, const Output& step,
                            std::vector<Operation>& applied);
  bool IsApplied(const Scope& scope, absl::string_view caller) const;

  Optimizer& optimizer_;
  const SyncReplicasOptions options_;
  const std::shared_ptr<SyncReplicasNodes> nodes_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_SYNC_REPLICAS_OPTIMIZER_H_
