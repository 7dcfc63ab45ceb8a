// PlacementWork is a graph to be placed, with everything that its placement
// depends on, so that it needs no lock.
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
  // Looks up in `known` where the graph's resources already exist; for an
  // isolated session there are none. `left` are the tasks that the session
  // could use if they had not left.
  PlacementWork(uint64_t call,
                std::shared_ptr<const protocol::PlacementRequest> request,
                std::vector<DeviceAttributes> devices,
                std::set<std::string> left, const ResourceRegister& known);

  uint64_t call() const { return call_; }
  // Returns PlaceNodes's errors; instead ABORTED, which names task and node, if
  // a node requests a task that has left: once the task is back, a new session
  // can continue.
  absl::StatusOr<Placement> Place();
  // The task that has left, once Place has failed because of it; otherwise
  // empty.
  const std::string& left_task() const { return left_task_; }

 private:
  // Container, name and kind, as in the graph.
  using Key = std::tuple<std::string, std::string, std::string>;

  absl::StatusOr<Placement> PlaceOnDevices() const;
  // The first task that has left and that is the only possible one for the
  // node; empty: there is none.
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

// Returns INVALID_ARGUMENT for an input that is not a node.
absl::Status CheckInputs(const PlacementGraph& graph);

// The resources of the graph's new nodes, which were placed on `devices`; an
// empty container becomes the device's default one.
std::vector<NodeResource> DeclaredResources(
    const PlacementGraph& graph, const std::vector<std::string>& devices);

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_PLACEMENT_WORK_H_
