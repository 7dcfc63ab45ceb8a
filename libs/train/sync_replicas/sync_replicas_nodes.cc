#include "libs/train/sync_replicas/sync_replicas_nodes.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/group.h"
#include "libs/ops/resource/accumulator_ops.h"
#include "libs/train/optimizers/shared_names.h"

namespace weft::train {
namespace {

// Returns the value after the control dependencies of `scope`. For a reference
// variable its own Identity gives that value, as in TensorFlow (see
// libs/executor/late_reads.h).
Output ReadNow(const Scope& scope, const ops::Variable& variable) {
  return variable.is_resource() ? variable.Read(scope) : variable.value();
}

}  // namespace

Scope SyncReplicasNodes::BesideGlobalStep(const Scope& scope) const {
  if (!global_step) return scope.ReenterScope("");  // after an error
  const Scope root =
      InContainerOf(scope.ReenterScope(""), global_step.handle());
  const std::string& device = global_step.handle().node()->requested_device();
  return device.empty() ? root : root.WithDevice(device);
}

std::string SyncReplicasNodes::SharedName(absl::string_view name) const {
  return SharedNameBeside(global_step.handle(), name);
}

Operation SyncReplicasNodes::EnqueueTokens(const Scope& scope,
                                           int num_tokens) const {
  const int share = num_tokens / static_cast<int>(tokens.size());
  const Output values = ops::Fill(scope, {share}, ReadNow(scope, global_step));
  if (tokens.size() == 1) return tokens[0].EnqueueMany(scope, {values});
  std::vector<Operation> enqueued;
  for (const ops::Queue& queue : tokens) {
    enqueued.push_back(queue.EnqueueMany(scope, {values}));
  }
  return scope.ok() ? ops::Group(scope, enqueued) : Operation();
}

Operation SyncReplicasNodes::EnqueueInitTokens(const Scope& scope,
                                               int num_tokens) const {
  const int needed = std::max(replicas_to_aggregate - total_num_replicas, 0);
  if (num_tokens == -1) {
    num_tokens = replicas_to_aggregate;
  } else if (num_tokens < needed) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("Too few tokens to finish the first step: ", num_tokens,
                     " (given) vs ", needed, " (needed)")));
    return Operation();
  }
  if (num_tokens % static_cast<int>(tokens.size()) != 0) {
    scope.UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("Each of ", tokens.size(),
                     " numbered replicas gets the same number of initial "
                     "tokens, so the total can't be ",
                     num_tokens)));
    return Operation();
  }
  const Scope there = BesideGlobalStep(scope);
  return num_tokens == 0 ? ops::NoOp(there.WithName("no_init_tokens"))
                         : EnqueueTokens(there, num_tokens);
}

Operation SyncReplicasNodes::EnqueueOwnToken(const Scope& scope) const {
  const Scope there = BesideGlobalStep(scope);
  return own_tokens().Enqueue(there, {ReadNow(there, global_step)});
}

std::vector<Operation> SyncReplicasNodes::WaitForGradients(
    const Scope& scope) const {
  const ops::NumAccumulatedAttrs enough = {.at_least = replicas_to_aggregate};
  std::vector<Operation> waits;
  for (const Accumulator& accumulator : accumulators) {
    const Scope beside = scope.ColocateWith(accumulator.variable.handle())
                             .WithName("has_gradients");
    const Output count =
        accumulator.is_sparse
            ? ops::AccumulatorNumAccumulated(beside, accumulator.handle, enough)
            : ops::ResourceAccumulatorNumAccumulated(beside, accumulator.handle,
                                                     enough);
    if (count) waits.emplace_back(count);
  }
  return waits;
}

SyncReplicasNodes::Ends SyncReplicasNodes::MakeEnds(const Scope& scope) const {
  const Scope there = BesideGlobalStep(scope);
  const auto add = [&](const std::string& name) {
    return ops::Queue::Fifo(
        there.WithName(name), {DT_INT64},
        {.shapes = {PartialShape::Scalar()}, .shared_name = SharedName(name)});
  };
  return {add("sync_ends_q"), add("sync_last_end_q")};
}

}  // namespace weft::train
