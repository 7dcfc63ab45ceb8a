// PlacementGraph contains exactly the parts of a graph that its placement
// depends on: no values, and only the shapes of shared resources. It is small
// enough to be sent, so that a coordinator places graphs without knowing any
// op.
//
// A value, not synchronized.
#ifndef WEFT_LIBS_GRAPH_PLACEMENT_GRAPH_H_
#define WEFT_LIBS_GRAPH_PLACEMENT_GRAPH_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "libs/graph/graph.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft {

// State that outlives a step and is found by name, as declared by a node.
struct NamedResource {
  std::string container;  // empty: the default one of any device
  std::string name;
  // Resource::type_name of what the op creates: "Var", "HashTable".
  std::string kind;
  DataType dtype = DT_INVALID;  // DT_INVALID: unknown, matches all
  PartialShape shape;           // of unknown rank: matches all
  // Further identifying properties: its op and the attributes on which all
  // users must agree, such as a queue's capacity; for comparison and display.
  // Empty: unknown, matches all.
  std::string definition;

  friend bool operator==(const NamedResource&, const NamedResource&) = default;
};

// The kernel type of a node that may be on any device, because it never runs.
inline constexpr absl::string_view kAnyDeviceType = "*";

struct PlacementNode {
  struct Input {
    int node = 0;  // index in PlacementGraph::nodes
    // A reference or a resource: producer and consumer share a device.
    bool shares_device = false;
    friend bool operator==(const Input&, const Input&) = default;
  };

  std::string name;
  std::string op;
  // Full name: placed before, and kept. Empty: to be placed.
  std::string assigned_device;

  // Of nodes to be placed only:
  std::string requested_device;  // partial or empty
  // The types of devices that have a kernel for it, the best first.
  std::vector<std::string> kernel_types;
  std::vector<Input> inputs;  // without control inputs
  // Names of nodes and groups, from attr _class. A placed node has those of the
  // groups that nodes to be placed may join.
  std::vector<std::string> colocate_with;
  // Produces one value without inputs, so it may be placed with its consumer.
  bool is_generator = false;
  // Only reads the shapes of its inputs; it is placed with the first.
  bool is_metadata = false;
  // For the error that there is no kernel: "T=DT_FLOAT, ..."; otherwise empty.
  std::string attrs;
  std::optional<NamedResource> resource;

  friend bool operator==(const PlacementNode&, const PlacementNode&) = default;
};

struct PlacementGraph {
  std::vector<PlacementNode> nodes;
  friend bool operator==(const PlacementGraph&,
                         const PlacementGraph&) = default;
};

// The container of the named resource that the node declares, empty for its
// device's default one; none if it declares no shared resource.
std::optional<std::string> SharedContainerOf(const Node& node);

// The types of the devices that have a kernel for the node, the best first.
using DeviceTypesFn =
    absl::FunctionRef<std::vector<std::string>(const Node& node)>;

// Nodes [first_id, num_nodes) of `graph`, to be placed, in order of id; before
// them the older, placed nodes that they name as input or in _class, and the
// first old member of each group that they join.
PlacementGraph DescribeForPlacement(const Graph& graph, int first_id,
                                    DeviceTypesFn device_types);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_PLACEMENT_GRAPH_H_
