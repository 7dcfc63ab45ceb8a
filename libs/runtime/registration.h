// Registration holds the compiled partitions of one callable on one task.
// Internal to this module. Its steps are in running_step.h.
//
// Threads: immutable except for its idle step objects, which have their own
// lock.
#ifndef WEFT_LIBS_RUNTIME_REGISTRATION_H_
#define WEFT_LIBS_RUNTIME_REGISTRATION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/device/device.h"
#include "libs/executor/executor.h"
#include "libs/fs/file_system.h"
#include "libs/protocol/worker/worker.h"
#include "libs/resource/resource_manager.h"
#include "libs/runtime/runtime_metrics.h"
#include "libs/runtime/step_table.h"
#include "libs/runtime/variable_uses.h"

namespace weft {

class RunningStep;

class Registration {
 public:
  // The plan of the partition on one device.
  struct DevicePlan {
    std::shared_ptr<const Plan> plan;
    Device* device = nullptr;
    ResourceManager* resources = nullptr;
  };
  // The _Arg and _Retval nodes of the partitions, through which the master
  // feeds and fetches.
  struct Ends {
    struct Arg {
      size_t index;
      DataType type;
      std::string node;
    };
    std::vector<Arg> args;
    size_t num_retvals = 0;  // one more than the largest index
  };
  // A container in which nodes of the partitions have named, shared resources.
  struct Container {
    const ResourceManager* resources = nullptr;
    std::string name;  // never empty
    friend auto operator<=>(const Container&, const Container&) = default;
  };
  using Containers = absl::btree_set<Container>;
  // The edges from and to other tasks.
  struct Edges {
    RemoteEdges outgoing;
    StepPeers peers;
  };

  // `keep_alive` owns the objects that the partitions use: it is their session.
  Registration(std::shared_ptr<void> keep_alive, std::vector<DevicePlan> plans,
               Ends ends, Edges edges, VariableUses variables,
               Containers containers, Scheduler* scheduler,
               FileSystem* file_system,
               std::shared_ptr<RuntimeMetrics> metrics);
  ~Registration();

  const std::vector<DevicePlan>& plans() const { return plans_; }
  const Edges& edges() const { return edges_; }
  const VariableUses& variables() const { return variables_; }
  const Containers& containers() const { return containers_; }
  // The bytes that the graphs count in the session's quota. Must be set before
  // other threads can access the registration.
  void set_num_bytes(int64_t bytes) { num_bytes_ = bytes; }
  int64_t num_bytes() const { return num_bytes_; }
  // Returns INVALID_ARGUMENT unless the step has the feeds of the partitions,
  // with their types, and slots for their fetches.
  absl::Status Check(const protocol::PartitionStep& step) const;
  Scheduler* scheduler() const { return scheduler_; }
  FileSystem* file_system() const { return file_system_; }
  // Null if no metrics are recorded.
  RuntimeMetrics* metrics() const { return metrics_.get(); }
  // Calls Plan::DescribeWaits for all plans.
  bool DescribeWaits(uint64_t step, std::vector<std::string>& waits) const;
  // Calls Plan::CountWaits for all plans.
  void CountWaits(std::map<std::string, int64_t>& waits) const;

  std::unique_ptr<RunningStep> TakeStep();
  void GiveBack(std::unique_ptr<RunningStep> step);

 private:
  const std::shared_ptr<void> keep_alive_;
  const std::vector<DevicePlan> plans_;
  const Ends ends_;
  const Edges edges_;
  const VariableUses variables_;
  const Containers containers_;
  Scheduler* const scheduler_;
  FileSystem* const file_system_;
  const std::shared_ptr<RuntimeMetrics> metrics_;
  int64_t num_bytes_ = 0;
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<RunningStep>> idle_steps_ ABSL_GUARDED_BY(mutex_);
};

// Adds the containers of the graph's named resources to `containers`. The nodes
// find their resources in `resources`.
void AddContainers(const Graph& graph, const ResourceManager& resources,
                   Registration::Containers& containers);

Registration::Ends FindEnds(
    const std::vector<protocol::DevicePartition>& partitions);

// Returns the edges of the partitions of `task` (canonical name) that begin or
// end at other tasks. NOT_FOUND names a task that `directory` does not know;
// the directory may be null if there is no other task.
absl::StatusOr<Registration::Edges> FindEdges(
    const std::vector<protocol::DevicePartition>& partitions,
    const std::string& task, protocol::WorkerDirectory* directory);

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_REGISTRATION_H_
