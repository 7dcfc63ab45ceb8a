// TaskRuntime: a task's engine room: its devices with their resources, the
// partitions that masters have registered, and the steps that run them.
//
// Invariants: a session's registrations and stateful kernels die with the
// session; a running step keeps its registration alive. Resources belong to the
// device, or to the session if that is isolated.
//
// Threads: all methods may be called from any thread; kernels run on the
// caller's thread or the Scheduler's pools.
#ifndef WEFT_LIBS_RUNTIME_TASK_RUNTIME_H_
#define WEFT_LIBS_RUNTIME_TASK_RUNTIME_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/random.h"
#include "libs/base/scheduler.h"
#include "libs/device/device.h"
#include "libs/executor/executor.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/protocol/worker.h"
#include "libs/resource/resource_manager.h"

namespace weft {

struct TaskRuntimeOptions {
  const KernelRegistry* kernels = nullptr;  // never null
  Scheduler* scheduler = nullptr;           // never null
  Random* random = nullptr;                 // never null
  // The name of the container that an empty container means: the task's job.
  std::string default_container;
};

class TaskRuntime : public protocol::Worker {
 public:
  TaskRuntime(std::vector<std::unique_ptr<Device>> devices,
              const TaskRuntimeOptions& options);
  // REQUIRES: no step is running.
  ~TaskRuntime() override;

  std::vector<DeviceAttributes> Devices() const override;
  std::vector<std::string> DeviceTypesFor(const Node& node) const override;
  absl::Status CreateSession(uint64_t session, bool isolated) override;
  void DeleteSession(uint64_t session) override;
  absl::Status Register(
      const protocol::PartitionRegistration& registration) override;
  void Deregister(uint64_t session, uint64_t registration) override;
  void Run(const protocol::PartitionStep& step, Done done) override;
  void ClearContainers(absl::Span<const std::string> containers) override;

  // The shared resources of device `i`; for tools and tests.
  ResourceManager& resources(int i) { return *shared_resources_[i]; }

  class Registration;
  class RunningStep;

 private:
  struct Session {
    StatefulKernels stateful_kernels;
    // One for each device, when isolated.
    std::vector<std::unique_ptr<ResourceManager>> own_resources;
    absl::flat_hash_map<uint64_t, std::shared_ptr<Registration>> registrations;
  };

  std::shared_ptr<Session> FindSession(uint64_t session) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<Registration>> FindRegistration(
      uint64_t session, uint64_t registration) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<Registration>> Compile(
      const protocol::PartitionRegistration& registration,
      std::shared_ptr<Session> session) const;
  std::vector<std::unique_ptr<ResourceManager>> NewResources() const;

  const std::vector<std::unique_ptr<Device>> devices_;
  const TaskRuntimeOptions options_;
  const std::vector<std::unique_ptr<ResourceManager>> shared_resources_;

  mutable absl::Mutex mutex_;
  // The registrations inside are protected by mutex_ too.
  absl::flat_hash_map<uint64_t, std::shared_ptr<Session>> sessions_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_TASK_RUNTIME_H_
