// TestGraph is a PlacementGraph written node by node, with the placement of its
// nodes by name. For tests.
//
// Not synchronized.
#ifndef WEFT_LIBS_PLACEMENT_TESTING_TEST_GRAPH_H_
#define WEFT_LIBS_PLACEMENT_TESTING_TEST_GRAPH_H_

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/placement/placer.h"

namespace weft {

inline std::vector<DeviceAttributes> TestDevices(
    const std::vector<std::string>& names) {
  std::vector<DeviceAttributes> devices;
  for (const std::string& name : names) {
    const bool is_gpu = name.find("GPU") != std::string::npos;
    devices.push_back({.name = name, .device_type = is_gpu ? "GPU" : "CPU"});
  }
  return devices;
}

class TestGraph {
 public:
  // Nodes added before; "&v" is a reference or a resource.
  using InputNames = std::vector<std::string>;

  // A node without kernel_types has kernels for the CPU.
  PlacementNode& Add(PlacementNode node, const InputNames& inputs = {}) {
    if (node.kernel_types.empty()) node.kernel_types = {"CPU"};
    for (absl::string_view name : inputs) {
      const bool shares = absl::ConsumePrefix(&name, "&");
      node.inputs.push_back({.node = Find(name), .shares_device = shares});
    }
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back();
  }

  // Adds a variable with kernels for both types, and a resource of the same
  // name.
  PlacementNode& Variable(const std::string& name,
                          const std::string& device = "") {
    return Add({.name = name,
                .op = "VarHandleOp",
                .requested_device = device,
                .kernel_types = {"CPU", "GPU"},
                .resource = NamedResource{.name = name, .kind = "Var"}});
  }

  PlacementGraph& graph() { return graph_; }

  // Nodes' devices by name.
  absl::StatusOr<std::map<std::string, std::string>> Place(
      const std::vector<DeviceAttributes>& devices,
      const PlacementOptions& options, LivesOnFn lives_on) const {
    ASSIGN_OR_RETURN(const Placement placement,
                     PlaceNodes(graph_, devices, lives_on, options));
    return ByName(placement.devices);
  }

  // Explanations by name, of a placement that succeeds.
  absl::StatusOr<std::map<std::string, std::string>> Explain(
      const std::vector<DeviceAttributes>& devices, PlacementOptions options,
      LivesOnFn lives_on) const {
    options.explain = true;
    ASSIGN_OR_RETURN(const Placement placement,
                     PlaceNodes(graph_, devices, lives_on, options));
    return ByName(placement.reasons);
  }

 private:
  int Find(absl::string_view name) const {
    const auto found = std::find_if(
        graph_.nodes.begin(), graph_.nodes.end(),
        [&](const PlacementNode& node) { return node.name == name; });
    return static_cast<int>(found - graph_.nodes.begin());
  }

  std::map<std::string, std::string> ByName(
      const std::vector<std::string>& values) const {
    std::map<std::string, std::string> result;
    for (size_t i = 0; i < values.size(); ++i) {
      result[graph_.nodes[i].name] = values[i];
    }
    return result;
  }

  PlacementGraph graph_;
};

// For graphs without existing resources.
inline bool ExistsNowhere(const NamedResource&, const std::string&) {
  return false;
}

}  // namespace weft

#endif  // WEFT_LIBS_PLACEMENT_TESTING_TEST_GRAPH_H_
