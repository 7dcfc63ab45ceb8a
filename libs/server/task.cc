#include "libs/server/task.h"

#include <cstdio>
#include <utility>

#include "absl/types/span.h"
#include "libs/gradients/gradients.h"
#include "libs/ops/standard_ops.h"
#include "libs/runtime/process/node_evaluator.h"

namespace weft {

Task::Task(TaskOptions options)
    : options_(std::move(options)),
      runtime_(NewRuntime()),
      master_(NewMaster()) {
  runtime_->SetMaster(master_);
}

std::shared_ptr<TaskRuntime> Task::NewRuntime() {
  Process& process = *options_.process;
  TaskRuntimeOptions runtime = options_.runtime;
  runtime.kernels = &process.kernels();
  runtime.scheduler = &process.scheduler();
  runtime.random = &process.random();
  runtime.file_system = &process.file_system();
  runtime.task = options_.task;
  runtime.incarnation = options_.incarnation;
  runtime.peers = options_.directory;
  runtime.expect_saves = [&process] { return process.ExpectSaves(); };
  runtime.available_memory = [&process] { return process.available_memory(); };
  std::vector<std::unique_ptr<Device>> devices =
      NewLocalDevices(options_.task, {.cpus = options_.cpus}, process.buffers(),
                      process.random());
  for (auto& gpu : options_.gpus) devices.push_back(std::move(gpu));
  options_.gpus.clear();
  return std::make_shared<TaskRuntime>(std::move(devices), runtime);
}

std::shared_ptr<Master> Task::NewMaster() {
  Process& process = *options_.process;
  MasterOptions master = options_.master;
  master.scheduler = &process.scheduler();
  master.random = &process.random();
  master.ops = StandardOps();
  master.directory = options_.directory ? options_.directory : this;
  master.coordinator = options_.coordinator;
  master.task = options_.task;
  master.incarnation = options_.incarnation;
  master.device_types = [&process](const Node& node) {
    return process.kernels().DeviceTypesFor(node);
  };
  master.evaluate = [&process](const Node& node,
                               absl::Span<const Tensor> inputs) {
    return EvaluateNode(process, node, inputs);
  };
  master.functions.gradient = GradientFunction;
  master.log_placement = [log = options_.logs_placement
                                    ? options_.logger
                                    : nullptr](const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    if (log != nullptr) log->Info(line);
  };
  master.logger = options_.logger;
  return std::make_shared<Master>(std::move(master));
}

protocol::Worker* Task::Find(const std::string& task) {
  return task == options_.task ? runtime_.get() : nullptr;
}

std::vector<std::string> Task::Tasks() const { return {options_.task}; }

}  // namespace weft
