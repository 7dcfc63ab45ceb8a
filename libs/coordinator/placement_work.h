// PlacementWork is a graph to be placed, with copies of everything on which its
// placement depends, so that the placement needs no lock.
//
// A value, not synchronized.
#ifndef WEFT_LIBS_COORDINATOR_PLACEMENT_WORK_H_
#define WEFT_LIBS_COORDINATOR_PLACEMENT_WORK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/coordinator/resource_difference.h"
#include "libs/coordinator/resource_register.h"
#include "libs/device/device.h"
#include "libs/graph/placement_graph.h"
#include "libs/placement/placer.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft {

class PlacementWork {
 public:
  // Looks up in `known` where the graph's resources already exist; the
  // resources of an isolated session are not looked up. `left` are the tasks
  // that have left and that the session could otherwise use.
  PlacementWork(uint64_t call,
                std::shared_ptr<const protocol::PlacementRequest> request,
                std::vector<DeviceAttributes> devices,
                std::set<std::string> left, const ResourceRegister& known);

  uint64_t call() const { return call_; }
  // Places the nodes. Returns the errors of PlaceNodes, except that a request
  // for a task that has left gives ABORTED, with the names of the task and the
  // node. Once the task is back, a new session can continue.
  absl::StatusOr<Placement> Place();
  // Returns the task that has left, if Place failed because of it; otherwise an
  // empty string.
  const std::string& left_task() const { return left_task_; }

 private:
  // The container, name and kind of a resource, as in the graph.
  using Key = std::tuple<std::string, std::string, std::string>;

  absl::StatusOr<Placement> PlaceOnDevices() const;
  // If the node can only run on tasks that have left, returns the first of
  // them; otherwise an empty string.
  std::string LeftTaskOf(const PlacementNode& node) const;
  static Key KeyOf(const NamedResource& resource);
  bool LivesOn(const NamedResource& resource, const std::string& device) const;

  uint64_t call_;
  std::shared_ptr<const protocol::PlacementRequest> request_;
  std::vector<DeviceAttributes> devices_;
  std::set<std::string> left_;
  std::string left_task_;
  std::map<Key, std::set<std::string>> homes_;
};

// Returns INVALID_ARGUMENT if an input of a node is not a node of the graph.
absl::Status CheckInputs(const PlacementGraph& graph);

// Returns the resources of the graph's new nodes, which were placed on
// `devices`. An empty container is replaced by the device's default container.
std::vector<NodeResource> DeclaredResources(
    const PlacementGraph& graph, const std::vector<std::string>& devices);

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_PLACEMENT_WORK_H_
