#include "libs/train/sessions/sync_replicas_check.h"

#include <set>
#include <vector>

#include "absl/strings/str_cat.h"

namespace weft::train {
namespace {

// Needed computes the nodes that a run needs, regardless of feeds.
class Needed {
 public:
  explicit Needed(const SessionRunArgs& args) {
    for (const Output& fetch : args.fetches)
      Add(fetch ? fetch.node() : nullptr);
    for (const Operation& target : args.targets) {
      Add(target ? target.node() : nullptr);
    }
    while (!waiting_.empty()) {
      const Node& node = *waiting_.back();
      waiting_.pop_back();
      for (const auto& input : node.inputs()) Add(input.node);
      for (const Node* const control : node.control_inputs()) Add(control);
    }
  }
  bool Contains(const Node* node) const { return nodes_.count(node) > 0; }

 private:
  void Add(const Node* node) {
    if (node != nullptr && nodes_.insert(node).second) waiting_.push_back(node);
  }
  std::set<const Node*> nodes_;
  std::vector<const Node*> waiting_;
};

}  // namespace

std::vector<Operation> TrainOpsWithoutHook(const Scope& scope,
                                           const HookList& hooks) {
  std::vector<Operation> train_ops = scope.GetOperations(kSyncReplicasTrainOps);
  for (const auto& hook : hooks) {
    const Operation served = hook->ServedTrainOp();
    if (!served) continue;
    std::erase_if(train_ops, [&](const Operation& train) {
      return train.node() == served.node();
    });
  }
  return train_ops;
}

absl::Status CheckSyncReplicasRun(const std::vector<Operation>& without_hook,
                                  const SessionRunArgs& args) {
  if (without_hook.empty()) return absl::OkStatus();
  const Needed needed(args);
  for (const Operation& train : without_hook) {
    if (!needed.Contains(train.node())) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "The run of ", train.name(),
        " would wait forever for a token: the hook of its "
        "SyncReplicasOptimizer is missing. Add the optimizer's "
        "MakeSessionRunHook(is_chief) to the hooks of the MonitoredSession, in "
        "each replica."));
  }
  return absl::OkStatus();
}

}  // namespace weft::train
