#include "integration_tests/testing/bounded_task.h"

#include "libs/cluster/cluster_spec.h"
#include "libs/device/local_devices.h"
#include "libs/ops/standard_ops.h"
#include "libs/runtime/process/node_evaluator.h"

namespace weft {
namespace {

constexpr char kTask[] = "/job:localhost/replica:0/task:0";
constexpr uint64_t kIncarnation = 1;

ClusterSpec OneTask() { return ClusterSpec{{"localhost", {"localhost:0"}}}; }

}  // namespace

BoundedTask::BoundedTask(Process& process, size_t tensor_bytes, size_t bytes)
    : process_(process),
      memory_(tensor_bytes, bytes),
      coordinator_({.scheduler = &process.scheduler(),
                    .random = &process.random(),
                    .cluster = OneTask(),
                    .task = kTask,
                    .incarnation = kIncarnation,
                    .heartbeat_interval = absl::InfiniteDuration(),
                    .heartbeat_timeout = absl::InfiniteDuration()}),
      runtime_(NewLocalDevices(kTask, {}, memory_, process.random()),
               {.kernels = &process.kernels(),
                .scheduler = &process.scheduler(),
                .random = &process.random(),
                .file_system = &files_,
                .default_container = "localhost",
                .task = kTask,
                .incarnation = kIncarnation}),
      master_({.scheduler = &process.scheduler(),
               .random = &process.random(),
               .ops = StandardOps(),
               .directory = this,
               .coordinator = &coordinator_,
               .task = kTask,
               .incarnation = kIncarnation,
               .device_types =
                   [this](const Node& node) {
                     return process_.kernels().DeviceTypesFor(node);
                   },
               .evaluate =
                   [this](const Node& node, absl::Span<const Tensor> inputs) {
                     return EvaluateNode(process_, node, inputs);
                   },
               .functions = {.max_nodes = 4000}}) {
  coordinator_.Join({.task = kTask,
                     .incarnation = kIncarnation,
                     .cluster = OneTask().ToString(),
                     .devices = runtime_.Devices()},
                    absl::InfiniteFuture(),
                    [](const absl::StatusOr<protocol::JoinReply>&) {});
}

protocol::Worker* BoundedTask::Find(const std::string& task) {
  return task == kTask ? &runtime_ : nullptr;
}

std::vector<std::string> BoundedTask::Tasks() const { return {kTask}; }

}  // namespace weft
