#include "libs/train/sync_replicas/sync_replicas_optimizer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/resource/accumulator_ops.h"
#include "libs/train/optimizers/shared_names.h"
#include "libs/train/sessions/report_uninitialized.h"
#include "libs/train/sessions/sync_replicas_check.h"
#include "libs/train/sync_replicas/sync_replicas_hook.h"

namespace weft::train {
namespace {

// "replica 2 (/job:worker/task:2)", or the known part of it.
std::string NameOfReplica(std::optional<int> index, const std::string& device) {
  if (!index) return device.empty() ? "a replica without device" : device;
  const std::string number = absl::StrCat("replica ", *index);
  return device.empty() ? number : absl::StrCat(number, " (", device, ")");
}

Output ToInt64(const Scope& scope, const Output& value) {
  if (!value || RemoveRefType(value.dtype()) == DT_INT64) return value;
  return ops::Cast(scope, value, DT_INT64);
}

ops::AccumulatorAttrs SharedWithReplicas(const ops::Variable& variable) {
  return {.shared_name = absl::StrCat(variable.name(), ":0/grad_accum")};
}

}  // namespace

SyncReplicasOptimizer::SyncReplicasOptimizer(Optimizer& optimizer,
                                             SyncReplicasOptions options)
    : optimizer_(optimizer),
      options_(std::move(options)),
      nodes_(std::make_shared<SyncReplicasNodes>()) {
  nodes_->replicas_to_aggregate = options_.replicas_to_aggregate;
  nodes_->total_num_replicas =
      options_.total_num_replicas.value_or(options_.replicas_to_aggregate);
}

absl::Status SyncReplicasOptimizer::CheckOptions(
    const std::vector<GradientAndVariable>& gradients,
    const ops::Variable& global_step) const {
  if (nodes_->global_step) {
    return absl::FailedPreconditionError(
        "ApplyGradients has been called: a SyncReplicasOptimizer is for one "
        "training");
  }
  if (gradients.empty()) {
    return absl::InvalidArgumentError("Must supply at least one variable");
  }
  if (!global_step) {
    return absl::InvalidArgumentError(
        "Global step is required to check staleness. Give "
        "train::GetOrCreateGlobalStep to Minimize or ApplyGradients.");
  }
  const int aggregated = options_.replicas_to_aggregate;
  const int total = nodes_->total_num_replicas;
  if (aggregated < 1 || total < 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "replicas_to_aggregate and total_num_replicas must be positive, but "
        "are ",
        aggregated, " and ", total));
  }
  if (!options_.replica_index) return absl::OkStatus();
  if (*options_.replica_index < 0 || *options_.replica_index >= total) {
    return absl::InvalidArgumentError(
        absl::StrCat("replica_index must be one of ", total,
                     " replicas, from 0, but is ", *options_.replica_index));
  }
  if (aggregated == total) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "with replica_index each replica gives one gradient to an update, so ",
      aggregated, " of ", total,
      " replicas can't be aggregated: leave replica_index away, or aggregate "
      "all"));
}

Operation SyncReplicasOptimizer::Minimize(const Scope& scope,
                                          const Output& loss,
                                          const MinimizeOptions& options) {
  // The scope's own name is for the training operation, not for the gradients.
  const std::vector<GradientAndVariable> gradients =
      ComputeGradients(scope.WithName(""), loss,
                       {options.var_list, options.colocate_gradients_with_ops,
                        options.grad_loss});
  return ApplyGradients(scope, gradients, {options.global_step, options.name});
}

Operation SyncReplicasOptimizer::ApplyGradients(
    const Scope& scope, const std::vector<GradientAndVariable>& gradients,
    const ApplyGradientsOptions& options) {
  if (!scope.ok()) return Operation();
  if (auto status = CheckOptions(gradients, options.global_step);
      !status.ok()) {
    scope.UpdateStatus(std::move(status));
    return Operation();
  }
  nodes_->global_step = options.global_step;
  MakeLocalStep(scope);
  const Scope named = scope.SubScope(options_.name);
  std::vector<Operation> applied;
  std::vector<GradientAndVariable> averages;
  for (const GradientAndVariable& item : gradients) {
    if (!scope.ok()) return Operation();
    averages.push_back({item.gradient.IsNone() || !item.variable
                            ? Gradient()
                            : Accumulate(named, item, applied),
                        item.variable});
  }
  const Scope there = nodes_->BesideGlobalStep(scope);
  const Operation updated =
      optimizer_.ApplyGradients(there, averages, {nodes_->global_step});
  MakeTokenQueues(there);
  if (!scope.ok()) return Operation();
  const std::vector<Output> token =
      nodes_->own_tokens().Dequeue(there.WithControlDependencies(applied));
  if (!scope.ok()) return Operation();
  const Output train = ops::Assign(there, nodes_->local_step, token[0]);
  AddSync(there, updated);
  AddChiefInit(named);
  if (!train) return Operation();
  nodes_->train_op = Operation(train);
  scope.AddToCollection(kSyncReplicasTrainOps, nodes_->train_op);
  return nodes_->train_op;
}

// The local step is placed on the replica, regardless of variable placement.
void SyncReplicasOptimizer::MakeLocalStep(const Scope& scope) {
  const Operation anchor = ops::NoOp(scope.WithName(""));
  if (!anchor) return;
  const std::string& device = anchor.node()->requested_device();
  nodes_->own_name = NameOfReplica(options_.replica_index, device);
  nodes_->is_numbered = options_.replica_index.has_value();
  const Scope here =
      InContainerOf(scope.ColocateWith(anchor), nodes_->global_step.handle());
  ops::VariableOptions options;
  options.trainable = false;
  options.collections = {std::string(collection::kLocalVariables)};
  options.use_resource = nodes_->global_step.is_resource();
  const Tensor zero = nodes_->global_step.dtype() == DT_INT32
                          ? Tensor::Scalar(int32_t{0})
                          : Tensor::Scalar(int64_t{0});
  nodes_->local_step =
      ops::Variable(here.WithName("sync_rep_local_step"), zero, options);
  if (!nodes_->local_step) return;
  const Output assigned = ops::Assign(here.WithName(""), nodes_->local_step,
                                      nodes_->global_step.value());
  if (assigned) nodes_->local_step_init_op = Operation(assigned);
  nodes_->ready_for_local_init_op = ReportUninitializedVariables(
      scope.WithName(""), ops::GlobalVariables(scope));
}

// With one queue for all, a replica may get two tokens of a step and another
// one none. Then the first gives two gradients to the next update, which is
// equivalent. With numbered replicas that update would wait for the other one,
// so each has its own queue.
void SyncReplicasOptimizer::MakeTokenQueues(const Scope& there) {
  const auto add = [&](const std::string& name) {
    nodes_->tokens.push_back(
        ops::Queue::Fifo(there.WithName(name), {nodes_->global_step.dtype()},
                         {.shapes = {PartialShape::Scalar()},
                          .shared_name = nodes_->SharedName(name)}));
  };
  if (!options_.replica_index) return add("sync_token_q");
  nodes_->own_queue = *options_.replica_index;
  for (int i = 0; i < nodes_->total_num_replicas; ++i) {
    add(absl::StrCat("sync_token_q_of_replica_", i));
  }
}

Gradient SyncReplicasOptimizer::Accumulate(const Scope& named,
                                           const GradientAndVariable& item,
                                           std::vector<Operation>& applied) {
  const Output& variable = item.variable.handle();
  const Scope beside = InContainerOf(named.ColocateWith(variable), variable);
  const Output step = ToInt64(beside, nodes_->local_step.value());
  return item.gradient.IsSparse()
             ? AccumulateSparse(beside, item, step, applied)
             : AccumulateDense(beside, item, step, applied);
}

Gradient SyncReplicasOptimizer::AccumulateDense(
    const Scope& beside, const GradientAndVariable& item, const Output& step,
    std::vector<Operation>& applied) {
  const ops::Variable& variable = item.variable;
  const Output handle = ops::ResourceConditionalAccumulator(
      beside.WithName("conditional_accumulator"), variable.dtype(),
      variable.shape(), SharedWithReplicas(variable));
  nodes_->accumulators.push_back({variable, handle, /*is_sparse=*/false});
  applied.push_back(ops::ResourceAccumulatorApplyGradient(
      beside, handle, step, item.gradient.dense,
      {.replica = options_.replica_index}));
  Gradient average;
  average.dense = ops::ResourceAccumulatorTakeGradient(
      beside, handle, options_.replicas_to_aggregate, variable.dtype());
  return average;
}

Gradient SyncReplicasOptimizer::AccumulateSparse(
    const Scope& beside, const GradientAndVariable& item, const Output& step,
    std::vector<Operation>& applied) {
  const ops::Variable& variable = item.variable;
  const Gradient& gradient = item.gradient;
  const Output handle = ops::SparseConditionalAccumulator(
      beside.WithName("sparse_conditional_accumulator"), variable.dtype(),
      PartialShape::Scalar(), SharedWithReplicas(variable));
  nodes_->accumulators.push_back({variable, handle, /*is_sparse=*/true});
  const Output indices = ToInt64(beside, gradient.indices);
  const bool has_shape = bool{gradient.dense_shape};
  const Input shape = has_shape ? Input(ToInt64(beside, gradient.dense_shape))
                                : Input(Tensor(DT_INT64, TensorShape({0})));
  applied.push_back(ops::SparseAccumulatorApplyGradient(
      beside, handle, step, indices, gradient.values, shape, has_shape,
      {.replica = options_.replica_index, .sums_repeated_rows = true}));
  const ops::SparseTakenGradient taken = ops::SparseAccumulatorTakeGradient(
      beside, handle, options_.replicas_to_aggregate, variable.dtype());
  Gradient average;
  average.indices = taken.indices;
  average.values = taken.values;
  average.dense_shape = taken.shape;
  return average;
}

void SyncReplicasOptimizer::AddSync(const Scope& there,
                                    const Operation& updated) {
  if (!updated) return;
  nodes_->sync_op = nodes_->EnqueueTokens(
      there.WithControlDependencies({updated}), nodes_->tokens_of_update());
  if (options_.variable_averages == nullptr || !nodes_->sync_op) return;
  const Scope after = there.WithControlDependencies({nodes_->sync_op});
  nodes_->sync_op = options_.variables_to_average.empty()
                        ? options_.variable_averages->Apply(after)
                        : options_.variable_averages->Apply(
                              after, options_.variables_to_average);
}

// Gradients that replicas gave to the previous chief, or compute from restored
// values, belong to another training.
void SyncReplicasOptimizer::AddChiefInit(const Scope& named) {
  const ops::AccumulatorSetGlobalStepAttrs anew = {.begins_anew = true};
  std::vector<Operation> all = {nodes_->local_step_init_op};
  for (const SyncReplicasNodes::Accumulator& accumulator :
       nodes_->accumulators) {
    const Scope beside = named.ColocateWith(accumulator.variable.handle())
                             .WithName("SetGlobalStep");
    const Output step =
        ToInt64(beside.WithName(""), nodes_->global_step.value());
    all.push_back(accumulator.is_sparse
                      ? ops::AccumulatorSetGlobalStep(
                            beside, accumulator.handle, step, anew)
                      : ops::ResourceAccumulatorSetGlobalStep(
                            beside, accumulator.handle, step, anew));
  }
  if (named.ok()) nodes_->chief_init_op = ops::Group(named, all);
}

bool SyncReplicasOptimizer::IsApplied(const Scope& scope,
                                      absl::string_view caller) const {
  if (scope.ok() && !nodes_->is_complete()) {
    scope.UpdateStatus(absl::FailedPreconditionError(
        absl::StrCat(caller, " should be called after ApplyGradients().")));
  }
  return scope.ok();
}

QueueRunner SyncReplicasOptimizer::GetChiefQueueRunner(
    const Scope& scope) const {
  QueueRunner runner;
  if (!IsApplied(scope, "GetChiefQueueRunner()")) return runner;
  runner.queue = nodes_->own_tokens().handle();
  runner.enqueue_ops = {nodes_->sync_op};
  return runner;
}

Operation SyncReplicasOptimizer::GetInitTokensOp(const Scope& scope,
                                                 int num_tokens) const {
  if (!IsApplied(scope, "GetInitTokensOp()")) return Operation();
  return nodes_->EnqueueInitTokens(scope, num_tokens);
}

std::shared_ptr<SessionRunHook> SyncReplicasOptimizer::MakeSessionRunHook(
    bool is_chief, SyncReplicasHookOptions options) const {
  return std::make_shared<SyncReplicasHook>(nodes_, is_chief, options);
}

}  // namespace weft::train
