#include "tools/cli/cluster_commands.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "tools/cli/cluster_connection.h"
#include "tools/cli/cluster_views.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"

namespace weft::tools {
namespace {

using protocol::ClusterStatus;
using protocol::TaskState;
using protocol::TaskStatus;

absl::Status Confirm(const Invocation& invocation, const Ask& ask,
                     const std::string& question) {
  if (invocation.yes || ask == nullptr || ask(question)) {
    return absl::OkStatus();
  }
  return absl::CancelledError("not confirmed: nothing was done");
}

// Returns the containers to reset. If it is empty, the default container of
// each device is reset.
absl::StatusOr<std::vector<std::string>> ContainersToReset(
    const Invocation& invocation, const ClusterStatus& cluster) {
  if (!invocation.all) {
    for (const std::string& container : invocation.arguments) {
      RETURN_IF_ERROR(CheckContainer(cluster, container));
    }
    return invocation.arguments;
  }
  std::vector<std::string> containers;
  for (const ContainerContents& contents : ContainersOf(cluster)) {
    containers.push_back(contents.container);
  }
  return containers;
}

// Returns the containers that a reset clears by default.
std::vector<std::string> DefaultContainers(const ClusterStatus& cluster) {
  std::set<std::string> jobs;
  for (const TaskStatus& task : cluster.tasks) {
    const auto name = DeviceName::Parse(task.task);
    if (name.ok() && !task.devices.empty()) jobs.insert(name->job.value_or(""));
  }
  return {jobs.begin(), jobs.end()};
}

std::string Describe(const std::vector<std::string>& containers) {
  if (containers.empty()) return "each device's default container";
  return absl::StrCat(
      containers.size() == 1 ? "container " : "containers ",
      absl::StrJoin(containers, ", ",
                    [](std::string* out, const std::string& name) {
                      absl::StrAppend(out, "\"", Printable(name), "\"");
                    }));
}

std::string ResetQuestion(const ClusterStatus& cluster,
                          const TaskStatus& master,
                          const std::vector<std::string>& containers) {
  const std::string users = DescribeSessionsIn(
      cluster, containers.empty() ? DefaultContainers(cluster) : containers);
  const std::string question =
      absl::StrCat("Clear ", Describe(containers), " on all devices, and end ",
                   users.empty() ? "" : "these sessions and ",
                   "the sessions of ", Printable(master.task), "?");
  if (users.empty()) return question;
  return absl::StrCat("Sessions with resources there: ", users, ". ", question);
}

absl::StatusOr<std::string> Reset(ClusterConnection& connection,
                                  const Invocation& invocation,
                                  const Ask& ask) {
  ASSIGN_OR_RETURN(const ClusterStatus cluster, connection.GetCluster());
  ASSIGN_OR_RETURN(const TaskStatus master, connection.MasterOf(cluster));
  ASSIGN_OR_RETURN(const std::vector<std::string> containers,
                   ContainersToReset(invocation, cluster));
  const bool nothing = invocation.all && containers.empty();
  if (!nothing) {
    RETURN_IF_ERROR(
        Confirm(invocation, ask, ResetQuestion(cluster, master, containers)));
    RETURN_IF_ERROR(connection.Reset(master.target, containers));
  }
  if (invocation.format == Format::kJson) {
    return JsonText(
        {{"master", master.task},
         {"containers", containers},
         {"default_containers", !invocation.all && containers.empty()}});
  }
  if (nothing) return std::string("There is no container to clear.\n");
  return absl::StrCat("Cleared ", Describe(containers), ".\n");
}

absl::StatusOr<std::string> Shutdown(ClusterConnection& connection,
                                     const Invocation& invocation,
                                     const Ask& ask) {
  ASSIGN_OR_RETURN(const ClusterStatus cluster, connection.GetCluster());
  std::vector<std::string> alive;
  for (const TaskStatus& task : cluster.tasks) {
    if (task.state == TaskState::kAlive) alive.push_back(task.task);
  }
  const std::string tasks =
      CountText(static_cast<int64_t>(alive.size()), "task");
  RETURN_IF_ERROR(Confirm(invocation, ask,
                          absl::StrCat("Stop the cluster of ", tasks, "?")));
  RETURN_IF_ERROR(connection.Shutdown());
  if (invocation.format == Format::kJson) return JsonText({{"tasks", alive}});
  return absl::StrCat("Asked ", tasks, " to stop.\n");
}

absl::StatusOr<std::string> View(const Invocation& invocation,
                                 const ClusterStatus& cluster) {
  if (invocation.command == "status") {
    return StatusView(cluster, invocation.format);
  }
  if (invocation.command == "devices") {
    return DevicesView(cluster, invocation.format);
  }
  if (invocation.command == "containers") {
    return ContainersView(cluster, invocation.format);
  }
  if (!invocation.container.empty()) {
    RETURN_IF_ERROR(CheckContainer(cluster, invocation.container));
  }
  return VariablesView(cluster, invocation.container, invocation.format);
}

}  // namespace

bool IsClusterCommand(const std::string& command) {
  static constexpr const char* kCommands[] = {
      "status", "devices", "variables", "containers", "reset", "shutdown"};
  return std::find(std::begin(kCommands), std::end(kCommands), command) !=
         std::end(kCommands);
}

absl::StatusOr<std::string> RunClusterCommand(Process& process,
                                              const Invocation& invocation,
                                              const Ask& ask) {
  ASSIGN_OR_RETURN(const auto connection,
                   ClusterConnection::Create(process, invocation.target,
                                             invocation.timeout));
  if (invocation.command == "reset") {
    return Reset(*connection, invocation, ask);
  }
  if (invocation.command == "shutdown") {
    return Shutdown(*connection, invocation, ask);
  }
  ASSIGN_OR_RETURN(const ClusterStatus cluster, connection->GetCluster());
  return View(invocation, cluster);
}

}  // namespace weft::tools
