#include "libs/ops/replica_device_setter.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"

namespace weft {
namespace {

// The resolved options.
struct Chooser {
  absl::StatusOr<std::string> DeviceFor(const NodeSpec& node) const;
  bool IsPsNode(const NodeSpec& node) const;
  absl::StatusOr<int> TaskFor(const NodeSpec& node) const;

  DeviceName ps;
  DeviceName worker;
  bool merge_devices = true;
  std::vector<int> tasks;  // indices in the job; may have gaps
  std::vector<std::string> ps_ops;
  PsStrategy strategy;
};

bool Chooser::IsPsNode(const NodeSpec& node) const {
  return !ps.IsEmpty() &&
         std::find(ps_ops.begin(), ps_ops.end(), node.op) != ps_ops.end();
}

absl::StatusOr<int> Chooser::TaskFor(const NodeSpec& node) const {
  ASSIGN_OR_RETURN(const int task, strategy(node));
  if (task >= 0 && task < static_cast<int>(tasks.size())) return tasks[task];
  return absl::InvalidArgumentError(absl::StrCat(
      "The strategy of ReplicaDeviceSetter puts '", node.name, "' on task ",
      task, " of ", ps.ToString(), ", which has ", tasks.size(), " tasks"));
}

absl::StatusOr<std::string> Chooser::DeviceFor(const NodeSpec& node) const {
  if (!merge_devices && !node.device.empty()) return node.device;
  ASSIGN_OR_RETURN(const DeviceName current, DeviceName::Parse(node.device));
  if (!IsPsNode(node)) return worker.OverriddenBy(current).ToString();
  DeviceName device = ps;
  if (ps.job && (!current.job || current.job == ps.job)) {
    ASSIGN_OR_RETURN(device.task, TaskFor(node));
  }
  return device.OverriddenBy(current).ToString();
}

// The indices of the ps tasks.
absl::StatusOr<std::vector<int>> PsTasks(
    const ReplicaDeviceSetterOptions& options, const DeviceName& ps) {
  std::vector<int> tasks;
  if (options.cluster) {
    const auto& jobs = options.cluster->jobs();
    auto it = jobs.find(ps.job.value_or(""));
    if (it == jobs.end()) return tasks;
    for (const auto& [index, address] : it->second) tasks.push_back(index);
    return tasks;
  }
  if (options.ps_tasks < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("ReplicaDeviceSetter: ps_tasks is ", options.ps_tasks));
  }
  for (int i = 0; i < options.ps_tasks; ++i) tasks.push_back(i);
  return tasks;
}

absl::StatusOr<DeviceName> ParseOption(const char* option,
                                       const std::string& device) {
  absl::StatusOr<DeviceName> name = DeviceName::Parse(device);
  if (name.ok()) return name;
  return Annotate(name.status(), absl::StrCat("ReplicaDeviceSetter: ", option));
}

}  // namespace

std::vector<std::string> StandardPsOps() {
  return {"Variable",
          "VariableV2",
          "AutoReloadVariable",
          "MutableHashTable",
          "MutableHashTableV2",
          "MutableHashTableOfTensors",
          "MutableHashTableOfTensorsV2",
          "MutableDenseHashTable",
          "MutableDenseHashTableV2",
          "VarHandleOp",
          "BoostedTreesEnsembleResourceHandleOp",
          "BoostedTreesQuantileStreamResourceHandleOp",
          "ResourceConditionalAccumulator",
          "DecisionTreeResource"};
}

absl::StatusOr<DeviceFunction> ReplicaDeviceSetter(
    ReplicaDeviceSetterOptions options) {
  auto chooser = std::make_shared<Chooser>();
  ASSIGN_OR_RETURN(chooser->ps, ParseOption("ps_device", options.ps_device));
  ASSIGN_OR_RETURN(chooser->worker,
                   ParseOption("worker_device", options.worker_device));
  ASSIGN_OR_RETURN(chooser->tasks, PsTasks(options, chooser->ps));
  if (chooser->tasks.empty()) return DeviceFunction();
  chooser->merge_devices = options.merge_devices;
  chooser->ps_ops = std::move(options.ps_ops);
  chooser->strategy = options.strategy != nullptr
                          ? std::move(options.strategy)
                          : RoundRobin(static_cast<int>(chooser->tasks.size()));
  return DeviceFunction(
      [chooser](const NodeSpec& node) { return chooser->DeviceFor(node); });
}

}  // namespace weft
