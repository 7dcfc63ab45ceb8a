#include "tools/cli/graph_commands.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/gradients/gradients.h"
#include "libs/graph/functions/function_expander.h"
#include "libs/graph/graph.h"
#include "libs/graph/import/graph_def.h"
#include "libs/graph/near_nodes.h"
#include "libs/graph/placement_graph.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/ops/standard_ops.h"
#include "libs/placement/placer.h"
#include "tools/cli/cluster_connection.h"
#include "tools/cli/graph_file.h"
#include "tools/cli/graph_run.h"
#include "tools/cli/graph_show.h"
#include "tools/cli/graph_stats.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"

namespace weft::tools {
namespace {

using protocol::ClusterStatus;
using protocol::TaskStatus;

// Parses a device that is given on the command line.
absl::StatusOr<DeviceAttributes> WishedDevice(const std::string& text) {
  ASSIGN_OR_RETURN(DeviceName name, DeviceName::Parse(text));
  if (!name.replica) name.replica = 0;
  if (!name.IsFull()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--devices: \"", text,
                     "\" is not all of a device's name; write "
                     "/job:worker/task:0/device:CPU:0"));
  }
  return DeviceAttributes{.name = name.ToString(), .device_type = *name.type};
}

absl::StatusOr<Placement> PlaceOnDevices(const PlacementGraph& graph,
                                         const Invocation& invocation) {
  std::vector<DeviceAttributes> devices;
  for (const std::string& text : invocation.devices) {
    ASSIGN_OR_RETURN(DeviceAttributes device, WishedDevice(text));
    devices.push_back(std::move(device));
  }
  ASSIGN_OR_RETURN(const DeviceName first, DeviceName::Parse(devices[0].name));
  PlacementOptions options;
  options.allow_soft_placement = invocation.allow_soft_placement;
  options.default_task = first.TaskOnly().ToString();
  options.explain = true;
  return PlaceNodes(
      graph, devices,
      [](const NamedResource&, const std::string&) { return false; }, options);
}

// Places the graph as for a session of the connected task, considering the
// existing resources of the cluster. Registers no session.
absl::StatusOr<Placement> PlaceOnCluster(Process& process, PlacementGraph graph,
                                         const Invocation& invocation) {
  ASSIGN_OR_RETURN(const auto connection,
                   ClusterConnection::Create(process, invocation.target,
                                             invocation.timeout));
  ASSIGN_OR_RETURN(const ClusterStatus cluster, connection->GetCluster());
  ASSIGN_OR_RETURN(const TaskStatus master, connection->MasterOf(cluster));
  protocol::PlacementRequest request;
  request.session = process.random().NextId();
  request.task = master.task;
  request.incarnation = master.incarnation;
  request.graph = std::move(graph);
  request.allow_soft_placement = invocation.allow_soft_placement;
  request.explain = true;
  ASSIGN_OR_RETURN(protocol::PlacementReply reply, connection->Place(request));
  return Placement{std::move(reply.devices), std::move(reply.reasons)};
}

// Returns the ids of the nodes in `names`, where "all" stands for all nodes.
absl::StatusOr<std::vector<int>> NodesToExplain(
    const Graph& graph, const std::vector<std::string>& names) {
  std::vector<int> ids;
  for (const std::string& name : names) {
    const Node* node = graph.FindNode(name);
    if (node != nullptr) {
      ids.push_back(node->id());
    } else if (name != "all") {
      return absl::NotFoundError(absl::StrCat(
          "the graph has no node \"", name, "\".", SuggestNodes(graph, name)));
    } else {
      for (int id = 0; id < graph.num_nodes(); ++id) ids.push_back(id);
    }
  }
  return ids;
}

std::string PlacementView(const Graph& graph, const std::vector<int>& ids,
                          const Placement& placement, Format format) {
  Json json = Json::array();
  std::string text;
  for (const int id : ids) {
    const Node& node = *graph.node(id);
    const auto position = static_cast<size_t>(id);
    const std::string& device = placement.devices[position];
    const std::string reason =
        placement.reasons.empty() ? "" : placement.reasons[position];
    absl::StrAppend(&text, Printable(node.name()), ": (", node.type(),
                    "): ", Printable(device), "\n    ", Printable(reason),
                    "\n");
    json.push_back({{"name", node.name()},
                    {"op", node.type()},
                    {"requested_device", node.requested_device()},
                    {"device", device},
                    {"reason", reason}});
  }
  return format == Format::kJson ? JsonText(json) : text;
}

absl::StatusOr<std::string> Explain(Process& process, const GraphFile& file,
                                    const Invocation& invocation) {
  Graph graph(StandardOps());
  // Expands functions as the master of a session does.
  FunctionExpander expander(graph, {.gradient = GradientFunction});
  RETURN_IF_ERROR(ImportGraphDef(file.graph_def, graph, {.adder = &expander}));
  ASSIGN_OR_RETURN(const std::vector<int> ids,
                   NodesToExplain(graph, invocation.explain));
  PlacementGraph described = DescribeForPlacement(
      graph, 0,
      [&](const Node& node) { return process.kernels().DeviceTypesFor(node); });
  ASSIGN_OR_RETURN(
      const Placement placement,
      invocation.devices.empty()
          ? PlaceOnCluster(process, std::move(described), invocation)
          : PlaceOnDevices(described, invocation));
  return PlacementView(graph, ids, placement, invocation.format);
}

}  // namespace

absl::StatusOr<std::string> RunGraphCommand(Process& process, FileSystem& files,
                                            const std::string& path,
                                            const Invocation& invocation) {
  ASSIGN_OR_RETURN(const std::string content, files.ReadFile(path));
  const auto file =
      ReadGraphFile(path, content, {.clear_devices = invocation.clear_devices});
  if (!file.ok()) return Annotate(file.status(), path);
  if (invocation.stats) {
    return GraphStatsView(process, *file, invocation.wanted, invocation.format);
  }
  if (invocation.run) return RunGraph(process, *file, invocation);
  if (invocation.explain.empty()) return GraphNodesView(*file, invocation);
  return Explain(process, *file, invocation);
}

}  // namespace weft::tools
