// TaskTable holds the state of a cluster's tasks, as the tasks have reported
// it: which are alive, their addresses and their devices. It also decides which
// processes may join.
//
// A value, not synchronized.
#ifndef WEFT_LIBS_COORDINATOR_TASK_TABLE_H_
#define WEFT_LIBS_COORDINATOR_TASK_TABLE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/cluster/device_filters.h"
#include "libs/cluster/device_name.h"
#include "libs/cluster/membership.h"
#include "libs/coordinator/container_filter.h"
#include "libs/device/device.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft {

class TaskTable {
 public:
  struct Task {
    DeviceName name;
    bool has_devices = false;  // whether its job has devices
    // The values that the task reported when it last joined.
    std::string target;
    uint64_t op_fingerprint = 0;
    std::vector<DeviceAttributes> devices;
    std::vector<protocol::PlacedResource> resources;  // as last reported
    std::vector<protocol::DeviceUse> memory;          // as last reported
    // Whether the task has joined and has not reported its state yet.
    bool awaits_report = false;
  };

  // `coordinator` is the task that hosts the coordinator, which owns the table.
  TaskTable(const ClusterSpec& cluster, const std::string& coordinator,
            absl::Duration timeout);

  // Lets a task join. Returns the errors of protocol::Coordinator::Join; an
  // error changes nothing.
  absl::Status Join(const protocol::JoinRequest& request, absl::Time now);

  Membership& members() { return members_; }
  const Membership& members() const { return members_; }
  // Returns all tasks of the spec, by name.
  const std::map<std::string, Task>& tasks() const { return tasks_; }
  // Returns null if the name is not that of a task.
  Task* Find(const std::string& name);
  // Returns the live incarnation of the task; 0 if the task is not alive.
  uint64_t AliveIncarnation(const std::string& name) const;

  // Returns the tasks with devices that pass the filters.
  std::set<std::string> Passing(const DeviceFilters& filters) const;
  // Returns whether a session of the task `own` must wait for this task,
  // because it is not alive and has not left. The task `own` itself is waited
  // for even if it has left.
  bool IsMissing(const std::string& name, const std::string& own) const;
  // Returns the tasks of `names` that are missing.
  std::set<std::string> Missing(const std::set<std::string>& names,
                                const std::string& own) const;
  // Returns the tasks of `names` that have left.
  std::set<std::string> Left(const std::set<std::string>& names) const;
  // Returns the devices of `names` that pass the filters, and all devices of
  // `own`, in the order of tasks. Tasks that are not alive are left out.
  std::vector<DeviceAttributes> Devices(const std::set<std::string>& names,
                                        const DeviceFilters& filters,
                                        const std::string& own) const;
  // Returns the status of each task for display. Both arguments are by task.
  std::vector<protocol::TaskStatus> Statuses(
      const std::map<std::string, int>& num_sessions,
      const std::map<std::string, std::map<std::string, int>>&
          sessions_by_container) const;
  // Returns only the name and the state of each task.
  std::vector<protocol::TaskStatus> States() const;
  // Returns the number of tasks in each state.
  std::map<protocol::TaskState, int> Counts() const;
  // Forgets the reported resources in the cleared containers.
  void Forget(const ContainerFilter& filter);

 private:
  absl::Status CheckSpec(const protocol::JoinRequest& request) const;
  absl::Status CheckOps(const protocol::JoinRequest& request) const;
  static absl::Status CheckDevices(const protocol::JoinRequest& request);

  const ClusterSpec cluster_;
  const std::string cluster_text_;
  const std::string coordinator_;
  Membership members_;
  std::map<std::string, Task> tasks_;
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_TASK_TABLE_H_
