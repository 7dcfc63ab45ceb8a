#include "libs/coordinator/task_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

absl::Status NotADevice(const protocol::JoinRequest& request,
                        const std::string& device) {
  return absl::InvalidArgumentError(
      absl::StrCat(request.task, " can't join with the device \"", device,
                   "\": it is not the full name of a device of that task, or "
                   "is named twice."));
}

protocol::TaskState ToTaskState(Membership::State state) {
  switch (state) {
    case Membership::State::kExpected:
      return protocol::TaskState::kExpected;
    case Membership::State::kAlive:
      return protocol::TaskState::kAlive;
    case Membership::State::kLost:
      return protocol::TaskState::kLost;
    case Membership::State::kLeft:
      break;
  }
  return protocol::TaskState::kLeft;
}

}  // namespace

TaskTable::TaskTable(const ClusterSpec& cluster, const std::string& coordinator,
                     absl::Duration timeout)
    : cluster_(cluster),
      cluster_text_(cluster.ToString()),
      coordinator_(coordinator),
      members_(cluster, timeout) {
  for (const auto& [job, tasks] : cluster.jobs()) {
    for (const auto& [index, address] : tasks) {
      Task& task = tasks_[TaskName(job, index)];
      task.name.job = job;
      task.name.replica = 0;
      task.name.task = index;
      task.has_devices = HasDevices(job);
    }
  }
}

absl::Status TaskTable::Join(const protocol::JoinRequest& request,
                             absl::Time now) {
  if (request.incarnation == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.task, " can't join without an incarnation."));
  }
  RETURN_IF_ERROR(CheckSpec(request));
  RETURN_IF_ERROR(CheckDevices(request));
  RETURN_IF_ERROR(CheckOps(request));
  RETURN_IF_ERROR(members_.Join(request.task, request.incarnation, now));
  Task& task = tasks_.at(request.task);
  task.target = request.target;
  task.op_fingerprint = request.op_fingerprint;
  task.devices = request.devices;
  return absl::OkStatus();
}

absl::Status TaskTable::CheckSpec(const protocol::JoinRequest& request) const {
  if (tasks_.count(request.task) == 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(request.task, " is not a task of the cluster that ",
                     coordinator_, " coordinates: its spec is ", cluster_text_,
                     ", and that of the task is ", request.cluster, "."));
  }
  // Comparing the texts is cheap, and they are usually equal.
  if (request.cluster == cluster_text_) return absl::OkStatus();
  absl::StatusOr<ClusterSpec> spec = ClusterSpec::Parse(request.cluster);
  if (!spec.ok()) return Annotate(spec.status(), request.task);
  return CheckSpecsAgree(cluster_,
                         absl::StrCat("the coordinator ", coordinator_), *spec,
                         request.task);
}

absl::Status TaskTable::CheckDevices(const protocol::JoinRequest& request) {
  std::set<std::string> seen;
  for (const DeviceAttributes& device : request.devices) {
    const absl::StatusOr<DeviceName> name = DeviceName::Parse(device.name);
    if (!name.ok() || !name->IsFull() || name->ToString() != device.name ||
        name->TaskOnly().ToString() != request.task ||
        !seen.insert(device.name).second) {
      return NotADevice(request, device.name);
    }
  }
  return absl::OkStatus();
}

absl::Status TaskTable::CheckOps(const protocol::JoinRequest& request) const {
  if (request.op_fingerprint == 0) return absl::OkStatus();
  for (const auto& [name, task] : tasks_) {
    if (name == request.task || task.op_fingerprint == 0) continue;
    if (task.op_fingerprint == request.op_fingerprint) continue;
    if (!members_.IsAlive(name)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "The tasks of the cluster run different builds of Weft: the ops of ",
        request.task, " have the fingerprint ",
        absl::Hex(request.op_fingerprint), ", those of ", name, " ",
        absl::Hex(task.op_fingerprint),
        ". Start all tasks from the same build."));
  }
  return absl::OkStatus();
}

TaskTable::Task* TaskTable::Find(const std::string& name) {
  const auto it = tasks_.find(name);
  return it == tasks_.end() ? nullptr : &it->second;
}

uint64_t TaskTable::AliveIncarnation(const std::string& name) const {
  const auto it = members_.members().find(name);
  if (it == members_.members().end()) return 0;
  const bool is_alive = it->second.state == Membership::State::kAlive;
  return is_alive ? it->second.incarnation : 0;
}

std::set<std::string> TaskTable::Passing(const DeviceFilters& filters) const {
  std::set<std::string> result;
  for (const auto& [name, task] : tasks_) {
    if (task.has_devices && filters.PassesTask(task.name)) result.insert(name);
  }
  return result;
}

bool TaskTable::IsMissing(const std::string& name,
                          const std::string& own) const {
  return !members_.IsAlive(name) && (name == own || !members_.HasLeft(name));
}

std::set<std::string> TaskTable::Missing(const std::set<std::string>& names,
                                         const std::string& own) const {
  std::set<std::string> result;
  for (const std::string& name : names) {
    if (IsMissing(name, own)) result.insert(name);
  }
  return result;
}

std::set<std::string> TaskTable::Left(
    const std::set<std::string>& names) const {
  std::set<std::string> result;
  for (const std::string& name : names) {
    if (members_.HasLeft(name)) result.insert(name);
  }
  return result;
}

std::vector<DeviceAttributes> TaskTable::Devices(
    const std::set<std::string>& names, const DeviceFilters& filters,
    const std::string& own) const {
  std::vector<DeviceAttributes> result;
  for (const std::string& name : names) {
    if (!members_.IsAlive(name)) continue;
    for (const DeviceAttributes& device : tasks_.at(name).devices) {
      const absl::StatusOr<DeviceName> parsed = DeviceName::Parse(device.name);
      if (name == own || (parsed.ok() && filters.Passes(*parsed))) {
        result.push_back(device);
      }
    }
  }
  return result;
}

std::vector<protocol::TaskStatus> TaskTable::Statuses(
    const std::map<std::string, int>& num_sessions,
    const std::map<std::string, std::map<std::string, int>>&
        sessions_by_container) const {
  std::vector<protocol::TaskStatus> result;
  for (const auto& [name, task] : tasks_) {
    const Membership::Member& member = members_.members().at(name);
    const auto count = num_sessions.find(name);
    const auto containers = sessions_by_container.find(name);
    result.push_back({name,
                      ToTaskState(member.state),
                      member.incarnation,
                      task.target,
                      task.devices,
                      task.resources,
                      count == num_sessions.end() ? 0 : count->second,
                      task.memory,
                      {}});
    if (containers == sessions_by_container.end()) continue;
    result.back().sessions_by_container = containers->second;
  }
  return result;
}

std::vector<protocol::TaskStatus> TaskTable::States() const {
  std::vector<protocol::TaskStatus> result;
  for (const auto& [name, member] : members_.members()) {
    protocol::TaskStatus& status = result.emplace_back();
    status.task = name;
    status.state = ToTaskState(member.state);
  }
  return result;
}

std::map<protocol::TaskState, int> TaskTable::Counts() const {
  std::map<protocol::TaskState, int> counts;
  for (const auto& [name, member] : members_.members()) {
    ++counts[ToTaskState(member.state)];
  }
  return counts;
}

void TaskTable::Forget(const ContainerFilter& filter) {
  for (auto& [name, task] : tasks_) {
    if (!filter.PassesTask(name)) continue;
    std::erase_if(task.resources, [&](const protocol::PlacedResource& one) {
      return filter.Passes(one.resource.container, one.device);
    });
  }
}

}  // namespace weft
