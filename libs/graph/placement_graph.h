// PlacementGraph contains exactly the parts of a graph that its placement
// depends on: no values, and only the shapes of shared resources. It is small
// enough to be sent to a coordinator, which can place the graph without knowing
// any op.
//
// PlacementGraph is a plain value and is not synchronized.
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

// NamedResource is state that outlives a step and is found by name, as a node
// declares it.
struct NamedResource {
  std::string container;  // empty: the device's default container
  std::string name;
  // The Resource::type_name of the resource that the op creates, such as "Var"
  // or "HashTable".
  std::string kind;
  DataType dtype = DT_INVALID;  // DT_INVALID if unknown, matches any type
  PartialShape shape;           // of unknown rank: matches any shape
  // Further properties on which all users of the resource must agree: its op
  // and attributes such as a queue's capacity. The text is for comparison and
  // display. If empty, the properties are unknown and match any definition.
  std::string definition;

  friend bool operator==(const NamedResource&, const NamedResource&) = default;
};

// The kernel type of a node that may be on any device, because it never runs.
inline constexpr absl::string_view kAnyDeviceType = "*";

struct PlacementNode {
  struct Input {
    int node = 0;  // index in PlacementGraph::nodes
    // Whether the input is a reference or a resource, so that producer and
    // consumer must share a device.
    bool shares_device = false;
    friend bool operator==(const Input&, const Input&) = default;
  };

  std::string name;
  std::string op;
  // The full device name if the node was placed before; it keeps this device.
  // Empty if the node must be placed.
  std::string assigned_device;

  // The following fields are set only for nodes that must be placed.
  std::string requested_device;  // partial or empty
  // The types of devices that have a kernel for the node, the best type first.
  std::vector<std::string> kernel_types;
  std::vector<Input> inputs;  // without control inputs
  // Names of nodes and groups from attr _class. A node that was placed before
  // has the names of only those groups that nodes to be placed may join.
  std::vector<std::string> colocate_with;
  // Whether the node produces one value without inputs, so that it may be
  // placed with its consumer.
  bool is_generator = false;
  // Whether the node only reads the shapes of its inputs. Such a node is placed
  // with its first input.
  bool is_metadata = false;
  // The attrs of the node, such as "T=DT_FLOAT, ...", for the error that no
  // device has a kernel for it. Empty if a device has a kernel.
  std::string attrs;
  std::optional<NamedResource> resource;

  friend bool operator==(const PlacementNode&, const PlacementNode&) = default;
};

struct PlacementGraph {
  std::vector<PlacementNode> nodes;
  friend bool operator==(const PlacementGraph&,
                         const PlacementGraph&) = default;
};

// Returns the container of the shared resource that the node declares, or ""
// for the default container of its device. Returns nothing if the node does not
// declare a shared resource.
std::optional<std::string> SharedContainerOf(const Node& node);

// Returns the types of the devices that have a kernel for the node, the best
// type first.
using DeviceTypesFn =
    absl::FunctionRef<std::vector<std::string>(const Node& node)>;

// Describes the nodes [first_id, num_nodes) of `graph`, which must be placed,
// in order of id. Before them come the older, placed nodes that they name as
// input or in _class, and the first old member of each group that they join.
PlacementGraph DescribeForPlacement(const Graph& graph, int first_id,
                                    DeviceTypesFn device_types);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_PLACEMENT_GRAPH_H_
