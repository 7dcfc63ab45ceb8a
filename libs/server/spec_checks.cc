#include "libs/server/spec_checks.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <string>

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

// A task with an unknown port can be reached in its own process only.
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

// Ports 0 occur only in clusters of one process, and differ.
absl::Status CheckAddressesDiffer(const ClusterSpec& cluster) {
  std::map<std::string, std::string> tasks;  // by address
  for (const auto& [job, indices] : cluster.jobs()) {
    for (const auto& [index, address] : indices) {
      if (absl::EndsWith(address, ":0")) continue;
      const std::string task = TaskName(job, index);
      const auto [other, is_new] = tasks.emplace(address, task);
      if (is_new) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "The cluster spec gives ", other->second, " and ", task,
          " the same address, ", address, ". Give each task its own."));
    }
  }
  return absl::OkStatus();
}

// Others could neither reach this task nor distinguish it from their own
// machine's.
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

// Descriptors that a task needs besides its channels: standard streams,
// listeners, event loops, files.
constexpr int64_t kBasicDescriptors = 64;
// A channel has two sockets of ZeroMQ, control and bulk. The task that dials
// has four descriptors for each (the connection, the socket's mailbox, and two
// mailboxes of its monitor), the task that accepts has one.
constexpr int64_t kDialedChannel = 8;
constexpr int64_t kAcceptedChannel = 2;

int64_t NumOtherTasks(const ClusterSpec& cluster) {
  int64_t tasks = 0;
  for (const auto& [job, indices] : cluster.jobs())
    tasks += std::ssize(indices);
  return tasks - 1;
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
  RETURN_IF_ERROR(CheckAddressesDiffer(cluster));
  ASSIGN_OR_RETURN(const bus::Address in_spec, bus::Address::Parse(text));
  RETURN_IF_ERROR(CheckPorts(cluster, in_spec));
  RETURN_IF_ERROR(CheckReachable(cluster, in_spec));
  ASSIGN_OR_RETURN(bus::Address listen, ListenAddress(in_spec, place.bind));
  RETURN_IF_ERROR(CheckOpenness(listen, place));
  return listen;
}

absl::Status CheckDescriptors(const ClusterSpec& cluster,
                              const std::string& task,
                              const DescriptorUsage& room, Logger& logger) {
  constexpr char kRemedy[] =
      "Raise the hard limit of open files (ulimit -Hn, LimitNOFILE of systemd, "
      "or the limit of the container).";
  const int64_t free = room.limit - room.open;
  if (free < kBasicDescriptors) {
    return absl::ResourceExhaustedError(absl::StrCat(
        task, " cannot start: it needs ", kBasicDescriptors,
        " free descriptors (files and sockets), and this process has ", free,
        ": ", room.open, " of at most ", room.limit, " are open. ", kRemedy));
  }
  const int64_t others = NumOtherTasks(cluster);
  const int64_t needed =
      others * (kDialedChannel + kAcceptedChannel) + kBasicDescriptors;
  if (room.limit < needed) {
    logger.Warning(absl::StrCat(
        task, " may need ", needed,
        " descriptors (files and sockets) for its channels to and from the ",
        others, " other tasks of the cluster, but this process may have only ",
        room.limit, " open. Connections beyond them fail. ", kRemedy));
  }
  return absl::OkStatus();
}

}  // namespace weft
