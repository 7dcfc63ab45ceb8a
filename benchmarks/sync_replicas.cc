#include "benchmarks/sync_replicas.h"

#include "absl/strings/str_cat.h"

namespace weft::benchmarks {
namespace {

// Averages of gradients, where their variables are.
struct Accumulators {
  std::vector<Operation> apply;            // of the replica's gradients
  std::vector<Operation> set_global_step;  // older gradients are dropped
  std::vector<train::GradientAndVariable> averages;
};

Accumulators BuildAccumulators(
    const Scope& scope,
    const std::vector<train::GradientAndVariable>& gradients,
    const Output& local_step, const Output& global_step, int replicas) {
  Accumulators result;
  for (const auto& [gradient, variable] : gradients) {
    const Scope there = scope.ColocateWith(Operation(variable.handle()));
    const Output accumulator = ops::ResourceConditionalAccumulator(
        there, variable.dtype(), variable.shape(),
        {.shared_name = absl::StrCat(variable.name(), "/grad_accum")});
    result.apply.push_back(ops::ResourceAccumulatorApplyGradient(
        there, accumulator, local_step, gradient.dense));
    result.set_global_step.push_back(
        ops::ResourceAccumulatorSetGlobalStep(there, accumulator, global_step));
    Gradient average;
    average.dense = ops::ResourceAccumulatorTakeGradient(
        there, accumulator, replicas, variable.dtype());
    result.averages.push_back({average, variable});
  }
  return result;
}

}  // namespace

SyncReplicas BuildSyncReplicas(const Scope& scope, const std::string& device,
                               const Output& loss,
                               const ops::Variable& global_step,
                               train::Optimizer& optimizer, int replicas) {
  const std::vector<train::GradientAndVariable> gradients =
      optimizer.ComputeGradients(scope, loss);
  if (!scope.ok()) return {};
  ops::Variable local_step(
      scope.WithDevice(device).WithName("sync_rep_local_step"),
      Tensor::Scalar(int64_t{0}),
      {.trainable = false, .collections = {"local_variables"}});
  const Accumulators accumulators =
      BuildAccumulators(scope, gradients, local_step, global_step, replicas);
  const Operation updated = optimizer.ApplyGradients(
      scope, accumulators.averages, {.global_step = global_step});

  const Scope there = scope.ColocateWith(Operation(global_step.handle()));
  const Output queue = ops::FIFOQueue(
      there, {DT_INT64},
      {.shapes = {PartialShape::Scalar()}, .shared_name = "sync_token_q"});
  const auto tokens = [&](const Scope& when) {
    return ops::QueueEnqueueMany(
        when, queue, {ops::Fill(when, {replicas}, global_step.Read(when))});
  };
  const std::vector<Output> token = ops::QueueDequeue(
      there.WithControlDependencies(accumulators.apply), queue, {DT_INT64});
  SyncReplicas result;
  result.train = ops::Assign(scope, local_step, token[0]);
  result.local_init = {ops::Assign(scope, local_step, global_step)};
  result.chief_init = accumulators.set_global_step;
  result.chief_init.push_back(tokens(there));
  result.update = tokens(there.WithControlDependencies({updated}));
  return result;
}

}  // namespace weft::benchmarks
