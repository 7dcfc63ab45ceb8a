#include "libs/server/spec_checks.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || absl::StartsWith(host, "127.");
}

absl::StatusOr<bus::Address> ListenAddress(const bus::Address& in_spec,
                                           const std::string& bind) {
  if (bind.empty()) return in_spec;
  if (!absl::StrContains(bind, ":") || absl::EndsWith(bind, "]")) {
    return bus::Address{bind, in_spec.port};
  }
  return bus::Address::Parse(bind);
}

absl::Status CheckOpenness(const bus::Address& address,
                           const TaskPlace& place) {
  if (place.insecure || IsLoopback(address.host)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "The server of ", TaskName(place.job_name, place.task_index),
      " would listen at ", address.ToString(),
      ", where anyone who reaches the port may run graphs and read variables. "
      "Pass --insecure if the network is trusted."));
}

// A task on a port that nobody can know is reached in its own process only.
absl::Status CheckPorts(const ClusterSpec& cluster, const bus::Address& own) {
  if (own.port != 0) return absl::OkStatus();
  for (const auto& [job, tasks] : cluster.jobs()) {
    for (const auto& [index, text] : tasks) {
      ASSIGN_OR_RETURN(const bus::Address address, bus::Address::Parse(text));
      if (address.port == 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "Port 0 is only for clusters that live in one process, with port 0 "
          "for each task; ",
          TaskName(job, index), " is at ", text, "."));
    }
  }
  return absl::OkStatus();
}

// Others could reach neither this task nor tell it from their own machine's.
absl::Status CheckReachable(const ClusterSpec& cluster,
                            const bus::Address& own) {
  if (!IsLoopback(own.host)) return absl::OkStatus();
  for (const auto& [job, tasks] : cluster.jobs()) {
    for (const auto& [index, text] : tasks) {
      ASSIGN_OR_RETURN(const bus::Address address, bus::Address::Parse(text));
      if (IsLoopback(address.host)) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "This task's address in the cluster spec, ", own.ToString(),
          ", is only known to its own machine, but ", TaskName(job, index),
          " is elsewhere, at ", text,
          ". Give a name or address that the others reach."));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> TasksWithDevices(const ClusterSpec& cluster) {
  std::vector<std::string> tasks;
  for (const auto& [job, indices] : cluster.jobs()) {
    if (!HasDevices(job)) continue;
    for (const auto& [index, address] : indices) {
      tasks.push_back(TaskName(job, index));
    }
  }
  return tasks;
}

absl::StatusOr<bus::Address> CheckSpec(const ClusterSpec& cluster,
                                       const TaskPlace& place) {
  ASSIGN_OR_RETURN(const std::string text,
                   cluster.TaskAddress(place.job_name, place.task_index));
  if (TasksWithDevices(cluster).empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("No job of the cluster ", cluster.ToString(),
                     " owns devices: add a job of any other name, such as "
                     "\"ps\" or \"worker\"."));
  }
  ASSIGN_OR_RETURN(const bus::Address in_spec, bus::Address::Parse(text));
  RETURN_IF_ERROR(CheckPorts(cluster, in_spec));
  RETURN_IF_ERROR(CheckReachable(cluster, in_spec));
  ASSIGN_OR_RETURN(bus::Address listen, ListenAddress(in_spec, place.bind));
  RETURN_IF_ERROR(CheckOpenness(listen, place));
  return listen;
}

}  // namespace weft
