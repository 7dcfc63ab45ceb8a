#include "libs/coordinator/placement_work.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/cluster/device_name.h"
#include "libs/coordinator/device_owner.h"

namespace weft {

PlacementWork::PlacementWork(
    uint64_t call, std::shared_ptr<const protocol::PlacementRequest> request,
    std::vector<DeviceAttributes> devices, std::set<std::string> left,
    const ResourceRegister& known)
    : call_(call),
      request_(std::move(request)),
      devices_(std::move(devices)),
      left_(std::move(left)) {
  if (request_->isolated) return;
  for (const PlacementNode& node : request_->graph.nodes) {
    if (!node.resource) continue;
    std::set<std::string> homes = known.Homes(*node.resource);
    if (!homes.empty()) homes_[KeyOf(*node.resource)] = std::move(homes);
  }
}

PlacementWork::Key PlacementWork::KeyOf(const NamedResource& resource) {
  return {resource.container, resource.name, resource.kind};
}

bool PlacementWork::LivesOn(const NamedResource& resource,
                            const std::string& device) const {
  const auto it = homes_.find(KeyOf(resource));
  return it != homes_.end() && it->second.count(device) > 0;
}

absl::StatusOr<Placement> PlacementWork::Place() {
  absl::StatusOr<Placement> placement = PlaceOnDevices();
  if (placement.ok() || left_.empty()) return placement;
  for (const PlacementNode& node : request_->graph.nodes) {
    left_task_ = LeftTaskOf(node);
    if (left_task_.empty()) continue;
    return absl::AbortedError(absl::StrCat(
        "Node ", node.name, " must run on ",
        node.assigned_device.empty() ? node.requested_device
                                     : node.assigned_device,
        ", but ", left_task_,
        " has left the cluster. Start that task again and make a new session, "
        "or place the node on another task."));
  }
  return placement;
}

std::string PlacementWork::LeftTaskOf(const PlacementNode& node) const {
  const absl::StatusOr<DeviceName> wanted =
      DeviceName::Parse(node.assigned_device.empty() ? node.requested_device
                                                     : node.assigned_device);
  if (!wanted.ok() || !wanted->job) return "";
  const auto may_be_on = [&](absl::string_view device) {
    const absl::StatusOr<DeviceName> name = DeviceName::Parse(device);
    return name.ok() && wanted->TaskOnly().IsCompatibleWith(name->TaskOnly());
  };
  for (const DeviceAttributes& device : devices_) {
    if (may_be_on(device.name)) return "";
  }
  const auto it = std::find_if(left_.begin(), left_.end(), may_be_on);
  return it == left_.end() ? "" : *it;
}

absl::StatusOr<Placement> PlacementWork::PlaceOnDevices() const {
  PlacementOptions options;
  options.allow_soft_placement = request_->allow_soft_placement;
  options.default_task = request_->task;
  options.explain = request_->explain;
  return PlaceNodes(
      request_->graph, devices_,
      [this](const NamedResource& resource, const std::string& device) {
        return LivesOn(resource, device);
      },
      options);
}

absl::Status CheckInputs(const PlacementGraph& graph) {
  const int num_nodes = static_cast<int>(graph.nodes.size());
  for (const PlacementNode& node : graph.nodes) {
    for (const PlacementNode::Input& input : node.inputs) {
      if (input.node >= 0 && input.node < num_nodes) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "Node ", node.name, " has node ", input.node,
          " as its input; the graph to be placed has ", num_nodes, " nodes."));
    }
  }
  return absl::OkStatus();
}

std::vector<NodeResource> DeclaredResources(
    const PlacementGraph& graph, const std::vector<std::string>& devices) {
  std::vector<NodeResource> result;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const PlacementNode& node = graph.nodes[i];
    if (!node.resource || !node.assigned_device.empty()) continue;
    result.push_back({node.name, *node.resource, devices[i]});
    std::string& container = result.back().resource.container;
    if (container.empty()) container = JobOfDevice(devices[i]);
  }
  return result;
}

}  // namespace weft
