#include "libs/coordinator/placement_work.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/coordinator/device_owner.h"

namespace weft {

PlacementWork::PlacementWork(
    uint64_t call, std::shared_ptr<const protocol::PlacementRequest> request,
    std::vector<DeviceAttributes> devices, const ResourceRegister& known)
    : call_(call), request_(std::move(request)), devices_(std::move(devices)) {
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

absl::StatusOr<Placement> PlacementWork::Place() const {
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
