// SyncReplicasOptimizer: several replicas make one update together, of the
// average of their gradients; TensorFlow's tf.train.SyncReplicasOptimizer
// (python/training/sync_replicas_optimizer.py), with its nodes and their names.
//
//   train::GradientDescent descent(0.05f);
//   train::SyncReplicasOptimizer sync(descent, {.replicas_to_aggregate = 4});
//   Operation train = sync.Minimize(scope, loss, {.global_step = step});
//   auto session = train::MonitoredTrainingSession(root, {
//       ..., .hooks = {sync.MakeSessionRunHook(is_chief), ...}});
//
// Each replica's `train` adds its gradients to accumulators beside the
// variables, and waits until it gets a token from the queue "sync_token_q"
// beside the global step. The chief runs updates besides: one takes the
// averages when replicas_to_aggregate gradients are there, applies them, counts
// the global step up and puts a token for each replica into the queue. A token
// is the new global step, and that of the gradients its replica computes next;
// a gradient of an older step is dropped. So with more replicas than are
// aggregated the slowest ones are not waited for: they are backups.
//
// Without backups a replica that is lost with a token in hand is missed: the
// rest waits until it is back, and logs for what (see sync_replicas_hook.h).
// One that was lost while it waited is not: others take its token, and give a
// second gradient. A replica whose run is made again also gives a second
// gradient, of the same input. One whose training has ended is not missed while
// enough are left; with fewer, training ends (see sync_replicas_hook.h). Of
// numbered replicas (SyncReplicasOptions::replica_index) each is missed, and
// one gradient of each counts.
//
// A chief that begins anew, from a checkpoint or from nothing, takes nothing
// over of the training before: gradients that were given then are gone, and
// those that replicas have begun to compute then are dropped.
//
// The first steps: initial tokens carry the step that training begins with, so
// as many gradients as there are such tokens are computed twice for one update,
// and are dropped (or, where they come early enough, make up for a replica
// that is slow). With backups, or after the loss of one that held a token, the
// same is so of the tokens that are left: each costs a run, and is gone.
//
// A row of a sparse gradient is averaged over the replicas whose gradients have
// it, as in TensorFlow. Other than there, indices may be in any order and be
// repeated.
//
// As in TensorFlow, gradients are counted and not replicas: one that is faster
// than the others may give all gradients of an update. Only numbered replicas
// give one each.
//
// Sums are made in the order in which gradients come, unless
// SyncReplicasOptions::replica_index says which replica this is.
//
// Errors stick to the scope; operations are null then. Threads: as the scope's.
#ifndef WEFT_LIBS_TRAIN_SYNC_REPLICAS_OPTIMIZER_H_
#define WEFT_LIBS_TRAIN_SYNC_REPLICAS_OPTIMIZER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"
#include "libs/train/moving_averages.h"
#include "libs/train/optimizer.h"
#include "libs/train/queue_runner.h"
#include "libs/train/session_run_hook.h"
#include "libs/train/sync_replicas_hook.h"

namespace weft::train {

struct SyncReplicasOptions {
  // How many gradients make an update. REQUIRES: at least 1.
  int replicas_to_aggregate = 0;
  // How many replicas there are; those above replicas_to_aggregate are backups.
  // Fewer: each has to give several gradients for an update. Not given: as many
  // as are aggregated.
  std::optional<int> total_num_replicas;
  // Updated after each update, of these variables; outlives the optimizer.
  // Null: none. No variables: all trainable ones.
  ExponentialMovingAverage* variable_averages = nullptr;
  std::vector<ops::Variable> variables_to_average;
  std::string name = "sync_replicas";

  // What TensorFlow has not: the number of this replica among all of them, from
  // 0. Gradients are then added up in the order of these numbers, and of a
  // replica the first one of each global step counts, so that one that was
  // computed again adds nothing twice. Two runs in which nothing fails are then
  // equal to the bit. Each replica has a queue of tokens of its own, and there
  // are no backups: all replicas are aggregated. The cost: accumulators hold
  // all gradients of an update instead of their sum, and add them up when the
  // last one has come. All replicas say it, or none.
  std::optional<int> replica_index;
};

class SyncReplicasOptimizer {
 public:
  // `optimizer` makes the updates; it outlives this one.
  SyncReplicasOptimizer(Optimizer& optimizer, SyncReplicasOptions options);

  // As Optimizer's.
  std::vector<GradientAndVariable> ComputeGradients(
      const Scope& scope, const Output& loss,
      const ComputeGradientsOptions& options = {}) {
    return optimizer_.ComputeGradients(scope, loss, options);
  }
  // The operation that a replica runs. Called once. options.global_step is
  // needed, options.name not used.
  Operation ApplyGradients(const Scope& scope,
                           const std::vector<GradientAndVariable>& gradients,
                           const ApplyGradientsOptions& options);
  Operation Minimize(const Scope& scope, const Output& loss,
                     const MinimizeOptions& options);
  // The slot of the optimizer within.
  ops::Variable GetSlot(const ops::Variable& variable,
                        const std::string& slot) const {
    return optimizer_.GetSlot(variable, slot);
  }

  // What a MonitoredSession needs of each replica, see sync_replicas_hook.h. It
  // may outlive this optimizer.
  std::shared_ptr<SessionRunHook> MakeSessionRunHook(
      bool is_chief, SyncReplicasHookOptions options = {}) const;

  // ---- for programs without the hook; FAILED_PRECONDITION sticks to the scope
  // before ApplyGradients ----

  // Of the chief: runs updates. It has nothing that would end an update that
  // waits, so it ends with the session.
  QueueRunner GetChiefQueueRunner(const Scope& scope) const;
  // Puts the initial tokens into the queue. INVALID_ARGUMENT where they are too
  // few for the first update.
  Operation GetInitTokensOp(const Scope& scope, int num_tokens = -1) const;

  // Null before ApplyGradients. Names of global variables without value.
  const Output& ready_for_local_init_op() const {
    return nodes_->ready_for_local_init_op;
  }
  // Once in each session, when those have values: of the chief, and of others.
  const Operation& chief_init_op() const { return nodes_->chief_init_op; }
  const Operation& local_step_init_op() const {
    return nodes_->local_step_init_op;
  }
  // What the chief's queue runner runs over and over.
  const Operation& sync_op() const { return nodes_->sync_op; }

 private:
  absl::Status CheckOptions(const std::vector<GradientAndVariable>& gradients,
                            const ops::Variable& global_step) const;
  void MakeLocalStep(const Scope& scope);
  void MakeTokenQueues(const Scope& there);
  // The average of `item`, which has a gradient; `applied` gets what adds that.
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

#endif  // WEFT_LIBS_TRAIN_SYNC_REPLICAS_OPTIMIZER_H_
