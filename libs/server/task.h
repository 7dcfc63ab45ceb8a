// Task consists of what every task with devices needs: its devices, the
// TaskRuntime that runs graphs on them, and the Master of the sessions that
// connect to it. A Server adds it to a cluster; an in-process session has its
// own (libs/api).
//
// Threads: none of its own; as documented by its parts.
#ifndef WEFT_LIBS_SERVER_TASK_H_
#define WEFT_LIBS_SERVER_TASK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/logging.h"
#include "libs/device/local_devices.h"
#include "libs/master/master.h"
#include "libs/protocol/coordinator/coordinator.h"
#include "libs/protocol/worker/worker.h"
#include "libs/runtime/process/process.h"
#include "libs/runtime/task_runtime.h"

namespace weft {

// All pointers must outlive the task.
struct TaskOptions {
  Process* process = nullptr;  // never null
  std::string task;            // canonical, "/job:ps/replica:0/task:0"
  // Drawn each time the task starts; never 0.
  uint64_t incarnation = 0;
  int cpus = 1;
  // The GPUs that Process::NewGpus returned.
  std::vector<std::unique_ptr<Device>> gpus;
  // The tasks of its cluster, including this one. Null: there is no other.
  protocol::WorkerDirectory* directory = nullptr;
  protocol::Coordinator* coordinator = nullptr;  // never null
  Logger* logger = nullptr;                      // never null
  // Placements that a session requests are printed, as in TensorFlow; true:
  // also logged.
  bool logs_placement = false;
  // Further options of its two parts. The fields for the values above, for the
  // kernels and ops of the process, its scheduler and its random source are
  // filled in by the task.
  TaskRuntimeOptions runtime;
  MasterOptions master;
};

class Task : private protocol::WorkerDirectory {
 public:
  explicit Task(TaskOptions options);

  // Never null. Other owners may hold them for longer than the task lives if
  // they were asked to refuse all work before its end (Master::Drain,
  // TaskRuntime::Stop): what the options point to may be destroyed.
  const std::shared_ptr<TaskRuntime>& runtime() const { return runtime_; }
  const std::shared_ptr<Master>& master() const { return master_; }

 private:
  std::shared_ptr<TaskRuntime> NewRuntime();
  std::shared_ptr<Master> NewMaster();

  // The directory of a task that is the only one.
  protocol::Worker* Find(const std::string& task) override;
  std::vector<std::string> Tasks() const override;

  TaskOptions options_;  // constant, except for `gpus`, which the runtime takes
  const std::shared_ptr<TaskRuntime> runtime_;
  // Destroyed first: it drives the runtime.
  const std::shared_ptr<Master> master_;
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_TASK_H_
