#include "libs/graph/placement_graph.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

constexpr absl::string_view kColocationPrefix = "loc:@";

struct ResourceOp {
  absl::string_view name;  // without the suffix V2
  absl::string_view kind;
  // Whether the name of the node is the name of the resource if shared_name is
  // empty. If not, such a resource is private to the session.
  bool uses_node_name = false;
  // Whether all nodes that share the resource must have the same op (except for
  // its version) and equal attributes. Type and shape are reported separately.
  bool has_definition = false;
  std::initializer_list<absl::string_view> attrs = {};
};

// The attrs are in the form in which the kernels of queues compare them.
constexpr std::initializer_list<absl::string_view> kQueueAttrs = {
    "component_types", "shapes", "capacity", "min_after_dequeue"};
constexpr std::initializer_list<absl::string_view> kBarrierAttrs = {
    "component_types", "shapes"};
constexpr std::initializer_list<absl::string_view> kTableAttrs = {
    "key_dtype", "value_dtype"};
constexpr std::initializer_list<absl::string_view> kAccumulatorAttrs = {
    "reduction_type"};

constexpr ResourceOp kResourceOps[] = {
    {"Variable", "Var", true, true},
    {"VarHandleOp", "Var", true, true},
    {"FIFOQueue", "Queue", false, true, kQueueAttrs},
    {"RandomShuffleQueue", "Queue", false, true, kQueueAttrs},
    {"PaddingFIFOQueue", "Queue", false, true, kQueueAttrs},
    {"PriorityQueue", "Queue", false, true, kQueueAttrs},
    {"HashTable", "LookupTable", false, true, kTableAttrs},
    {"MutableHashTable", "LookupTable", false, true, kTableAttrs},
    {"MutableHashTableOfTensors", "LookupTable", false, true, kTableAttrs},
    {"MutableDenseHashTable", "LookupTable", false, true, kTableAttrs},
    {"ConditionalAccumulator", "GradientAccumulator", false, true,
     kAccumulatorAttrs},
    {"ResourceConditionalAccumulator", "GradientAccumulator", false, true,
     kAccumulatorAttrs},
    {"SparseConditionalAccumulator", "GradientAccumulator", false, true,
     kAccumulatorAttrs},
    {"Barrier", "Barrier", false, true, kBarrierAttrs},
    {"Stage", "StagingArea", true},
    {"Unstage", "StagingArea", true},
    {"StagePeek", "StagingArea", true},
    {"StageSize", "StagingArea", true},
    {"StageClear", "StagingArea", true},
    {"MapStage", "StagingMap", true},
    {"MapUnstage", "StagingMap", true},
    {"MapUnstageNoKey", "StagingMap", true},
    {"MapPeek", "StagingMap", true},
    {"MapSize", "StagingMap", true},
    {"MapIncompleteSize", "StagingMap", true},
    {"MapClear", "StagingMap", true},
    {"OrderedMapStage", "OrderedStagingMap", true},
    {"OrderedMapUnstage", "OrderedStagingMap", true},
    {"OrderedMapUnstageNoKey", "OrderedStagingMap", true},
    {"OrderedMapPeek", "OrderedStagingMap", true},
    {"OrderedMapSize", "OrderedStagingMap", true},
    {"OrderedMapIncompleteSize", "OrderedStagingMap", true},
    {"OrderedMapClear", "OrderedStagingMap", true},
    {"TextLineReader", "Reader"},
    {"WholeFileReader", "Reader"},
    {"TFRecordReader", "Reader"},
    {"FixedLengthRecordReader", "Reader"},
    {"IdentityReader", "Reader"},
    {"Iterator", "Iterator"},
    {"OneShotIterator", "Iterator"},
};

// Returns the entry for the op. An op that is not listed creates resources of
// its own kind.
ResourceOp FindResourceOp(absl::string_view op) {
  absl::string_view name = op;
  absl::ConsumeSuffix(&name, "V2");
  for (const ResourceOp& listed : kResourceOps) {
    if (listed.name == name) return listed;
  }
  return {.name = op, .kind = op};
}

// Returns the name by which the node's kernel finds the resource, or "" for a
// private resource.
std::string SharedName(const Node& node, const ResourceOp& op) {
  const auto* shared_name = node.attr<std::string>("shared_name");
  if (!shared_name->empty()) return *shared_name;
  const auto* by_node = node.attr<bool>("use_node_name_sharing");
  const bool uses_node_name =
      op.uses_node_name || (by_node != nullptr && *by_node);
  return uses_node_name ? node.name() : "";
}

PartialShape DeclaredShape(const Node& node) {
  const auto* shape = node.attr<PartialShape>("shape");
  if (shape == nullptr) return PartialShape();
  // The shape of the oldest op, Variable, cannot be unknown. Its scalar shape
  // stands for an unknown shape.
  const bool is_scalar = shape->has_rank() && shape->rank() == 0;
  return is_scalar && node.type() == "Variable" ? PartialShape() : *shape;
}

// Returns a text that describes the value of an attr. A function is described
// by its content, because two programs may use different names for one
// function, or one name for different functions.
std::string TextOf(const AttrValue& value, const FunctionLibrary& functions) {
  std::vector<std::string> names;
  AddFunctionNames(value, names);
  if (names.empty()) return value.ToString();
  return absl::StrJoin(
      names, ",", [&](std::string* out, const std::string& name) {
        absl::StrAppend(out, "function ",
                        absl::Hex(functions.Fingerprint(name)));
      });
}

std::string DefinitionOf(const Node& node, const ResourceOp& op,
                         const FunctionLibrary& functions) {
  if (!op.has_definition) return "";
  std::string result(op.name);
  for (const absl::string_view name : op.attrs) {
    const auto attr = node.attrs().find(name);
    if (attr == node.attrs().end()) continue;
    absl::StrAppend(&result, " ", name, "=", TextOf(attr->second, functions));
  }
  return result;
}

// Returns the resource that the node's op creates in a container, where other
// nodes can find it by name. Returns nothing for a private resource.
std::optional<NamedResource> ResourceOf(const Node& node,
                                        const FunctionLibrary& functions) {
  const auto* container = node.attr<std::string>("container");
  if (container == nullptr || !node.attr<std::string>("shared_name") ||
      IsUnknown(node)) {
    return std::nullopt;
  }
  const ResourceOp op = FindResourceOp(node.type());
  NamedResource resource{.container = *container,
                         .name = SharedName(node, op),
                         .kind = std::string(op.kind),
                         .shape = DeclaredShape(node)};
  if (resource.name.empty()) return std::nullopt;
  if (const auto* dtype = node.attr<DataType>("dtype")) resource.dtype = *dtype;
  resource.definition = DefinitionOf(node, op, functions);
  return resource;
}

bool SharesDevice(DataType type) {
  return IsRefType(type) || type == DT_RESOURCE;
}

bool IsGenerator(const Node& node) {
  if (IsUnknown(node)) return node.num_inputs() == 0;
  return node.num_inputs() == 0 && node.num_outputs() == 1 &&
         !SharesDevice(node.output_type(0));
}

bool IsMetadata(const Node& node) {
  if (IsUnknown(node)) return true;  // besides its first input
  static constexpr absl::string_view kOps[] = {"Shape", "ShapeN", "Size",
                                               "Rank"};
  return std::find(std::begin(kOps), std::end(kOps), node.type()) !=
         std::end(kOps);
}

std::vector<std::string> ColocatedNames(const Node& node) {
  std::vector<std::string> names;
  const auto* classes = node.attr<std::vector<std::string>>("_class");
  if (classes == nullptr) return names;
  for (absl::string_view name : *classes) {
    if (!absl::ConsumePrefix(&name, kColocationPrefix)) continue;
    names.emplace_back(name);
  }
  return names;
}

std::string AttrsText(const Node& node) {
  return absl::StrJoin(
      node.attrs(), ", ", [](std::string* out, const auto& attr) {
        absl::StrAppend(out, attr.first, "=", attr.second.ToString());
      });
}

class Describer {
 public:
  Describer(const Graph& graph, int first_id, DeviceTypesFn device_types)
      : graph_(graph), first_id_(first_id), device_types_(device_types) {}

  PlacementGraph Describe() {
    PlacementGraph result;
    const std::vector<int> named = OldNodesThatAreNamed();
    result.nodes.reserve(named.size() + graph_.num_nodes() - first_id_);
    for (int id : named) {
      old_positions_[id] = static_cast<int>(result.nodes.size());
      result.nodes.push_back(Placed(*graph_.node(id)));
    }
    for (const auto& [group, id] : first_members_) {
      result.nodes[old_positions_.at(id)].colocate_with.push_back(group);
    }
    for (const Node* node : NewNodes()) result.nodes.push_back(Open(*node));
    return result;
  }

 private:
  absl::Span<const Node* const> NewNodes() const {
    return graph_.nodes().subspan(first_id_);
  }

  // Returns the ids of old nodes that new nodes name as input or in _class, in
  // ascending order.
  std::vector<int> OldNodesThatAreNamed() {
    std::vector<int> ids;
    const auto add = [&](const Node* node) {
      if (node != nullptr && node->id() < first_id_) ids.push_back(node->id());
    };
    FlatHashSet<std::string> groups;
    for (const Node* node : NewNodes()) {
      for (const OutputTensor& input : node->inputs()) add(input.node);
      for (std::string& name : Groups(*node)) {
        const Node* named = graph_.FindNode(name);
        add(named);
        if (named != nullptr) continue;
        groups.insert(std::move(name));
      }
    }
    FindFirstMembers(std::move(groups));
    for (const auto& [group, id] : first_members_) ids.push_back(id);
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

  // Finds one old member for each group that has no node of its name. All old
  // members of a group share a device, so one is enough.
  void FindFirstMembers(FlatHashSet<std::string> groups) {
    for (int id = 0; id < first_id_ && !groups.empty(); ++id) {
      for (const std::string& name : Groups(*graph_.node(id))) {
        if (groups.erase(name) > 0) first_members_[name] = id;
      }
    }
  }

  int PositionOf(const Node& node) const {
    if (node.id() < first_id_) return old_positions_.at(node.id());
    return static_cast<int>(old_positions_.size()) + node.id() - first_id_;
  }

  PlacementNode Placed(const Node& node) const {
    return {.name = node.name(),
            .op = node.type(),
            .assigned_device = node.assigned_device()};
  }

  PlacementNode Open(const Node& node) const {
    PlacementNode result{.name = node.name(),
                         .op = node.type(),
                         .requested_device = RequestedDevice(node),
                         .kernel_types = KernelTypes(node),
                         .inputs = InputsOf(node),
                         .colocate_with = Groups(node),
                         .is_generator = IsGenerator(node),
                         .is_metadata = IsMetadata(node),
                         .resource = ResourceOf(node, graph_.functions())};
    if (result.kernel_types.empty()) result.attrs = AttrsText(node);
    return result;
  }

  // Returns the requested device, or "" for an unknown node: such a node never
  // runs, so it must not restrict nodes that do.
  static std::string RequestedDevice(const Node& node) {
    return IsUnknown(node) ? "" : node.requested_device();
  }

  // Returns the colocation groups of the node. An unknown node is in no group.
  // A group that is named after an unknown node must not contain that node, so
  // the group gets a name that no node can have.
  std::vector<std::string> Groups(const Node& node) const {
    if (IsUnknown(node)) return {};
    std::vector<std::string> names = ColocatedNames(node);
    for (std::string& name : names) {
      const Node* const named = graph_.FindNode(name);
      if (named != nullptr && IsUnknown(*named)) name.insert(0, "^");
    }
    return names;
  }

  static bool InputSharesDevice(const Node& node, int input) {
    return SharesDevice(node.input_type(input)) && !IsUnknown(node) &&
           !IsOfUnknown(node.input(input));
  }

  std::vector<std::string> KernelTypes(const Node& node) const {
    if (IsUnknown(node)) return {std::string(kAnyDeviceType)};
    return device_types_(node);
  }

  std::vector<PlacementNode::Input> InputsOf(const Node& node) const {
    std::vector<PlacementNode::Input> inputs;
    inputs.reserve(node.num_inputs());
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Node* from = node.input(i).node;
      if (from == nullptr) continue;  // a loop that is not closed yet
      inputs.push_back({.node = PositionOf(*from),
                        .shares_device = InputSharesDevice(node, i)});
    }
    return inputs;
  }

  const Graph& graph_;
  const int first_id_;
  const DeviceTypesFn device_types_;
  FlatHashMap<int, int> old_positions_;  // by id
  // The ids of old nodes that represent a group, by the name of the group. Only
  // for groups without a node of that name.
  std::map<std::string, int> first_members_;
};

}  // namespace

std::optional<std::string> SharedContainerOf(const Node& node) {
  const auto* container = node.attr<std::string>("container");
  if (container == nullptr || !node.attr<std::string>("shared_name") ||
      IsUnknown(node)) {
    return std::nullopt;
  }
  if (SharedName(node, FindResourceOp(node.type())).empty()) {
    return std::nullopt;
  }
  return *container;
}

PlacementGraph DescribeForPlacement(const Graph& graph, int first_id,
                                    DeviceTypesFn device_types) {
  return Describer(graph, first_id, device_types).Describe();
}

}  // namespace weft
