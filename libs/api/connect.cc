// Session::Connect: how a target is reached. "" composes a task of its own in
// this process: devices, runtime and master.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/local_devices.h"
#include "libs/master/master.h"
#include "libs/ops/standard_ops.h"
#include "libs/runtime/process.h"
#include "libs/runtime/task_runtime.h"
#include "libs/session/session.h"

namespace weft {
namespace {

// TensorFlow's name for the one task of an in-process session.
constexpr char kLocalTask[] = "/job:localhost/replica:0/task:0";

// A task that lives as long as the session that made it, and whose containers
// nobody else sees. It is a cluster of its own.
class InProcessTask : private protocol::WorkerDirectory {
 public:
  explicit InProcessTask(const SessionOptions& options)
      : own_process_(options.process ? nullptr : std::make_unique<Process>()),
        process_(options.process ? *options.process : *own_process_),
        incarnation_(process_.random().NextId()),
        runtime_(NewDevices(options), {.kernels = &process_.kernels(),
                                       .scheduler = &process_.scheduler(),
                                       .random = &process_.random(),
                                       .default_container = "localhost",
                                       .task = kLocalTask,
                                       .incarnation = incarnation_}),
        master_({.scheduler = &process_.scheduler(),
                 .random = &process_.random(),
                 .ops = StandardOps(),
                 .directory = this,
                 .task = kLocalTask,
                 .incarnation = incarnation_,
                 .device_types =
                     [this](const Node& node) {
                       return process_.kernels().DeviceTypesFor(node);
                     },
                 .unknown_tensor_code = absl::StatusCode::kInvalidArgument,
                 .log_placement =
                     [](const std::string& line) {
                       std::printf("%s\n", line.c_str());
                       std::fflush(stdout);
                     }}) {}

  Master& master() { return master_; }
  Scheduler& scheduler() { return process_.scheduler(); }

 private:
  std::vector<std::unique_ptr<Device>> NewDevices(
      const SessionOptions& options) {
    auto count = [&](const char* type, int otherwise) {
      auto it = options.device_count.find(type);
      return it == options.device_count.end() ? otherwise : it->second;
    };
    return NewLocalDevices(
        kLocalTask, {.cpus = count("CPU", 1), .host_gpus = count("GPU", 0)},
        process_.buffers(), process_.random());
  }

  protocol::Worker* Find(const std::string& task) override {
    return task == kLocalTask ? &runtime_ : nullptr;
  }
  std::vector<std::string> Tasks() const override { return {kLocalTask}; }

  const std::unique_ptr<Process> own_process_;
  Process& process_;
  const uint64_t incarnation_;
  TaskRuntime runtime_;
  Master master_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Connect(
    const std::string& target, const Scope& scope,
    const SessionOptions& options) {
  if (!target.empty()) {
    return absl::UnimplementedError(
        absl::StrCat("The target \"", target,
                     "\" is on another task, which this build can "
                     "not reach yet. Use \"\" for a session in this process."));
  }
  for (const auto& [type, count] : options.device_count) {
    if (count < 0 || (type == "CPU" && count == 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "device_count asks for ", count, " devices of type ", type, "."));
    }
  }
  auto task = std::make_shared<InProcessTask>(options);
  Scheduler& scheduler = task->scheduler();
  // The session's hold on its master is what keeps the task alive.
  std::shared_ptr<protocol::Master> master(task, &task->master());
  return Create(std::move(master), scheduler, scope, options);
}

}  // namespace weft
