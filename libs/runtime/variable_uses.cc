#include "libs/runtime/variable_uses.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "libs/base/saturated.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"

namespace weft {
namespace {

constexpr absl::string_view kVariableOps[] = {"VarHandleOp", "VariableV2",
                                              "Variable"};

// The ops that take a handle or a reference and do not change the variable.
constexpr absl::string_view kReadingOps[] = {
    "Enter",
    "Exit",
    "Identity",
    "IdentityN",
    "IsVariableInitialized",
    "Merge",
    "NextIteration",
    "ReadVariableOp",
    "RefEnter",
    "RefExit",
    "RefIdentity",
    "RefMerge",
    "RefNextIteration",
    "RefSelect",
    "RefSwitch",
    "ResourceGather",
    "ResourceGatherNd",
    "Switch",
    "VarIsInitializedOp",
    "VariableShape",
    "WaitForRefVariable",
    "WaitForVariable",
    "_MarkVariables",
    "_SaveVariables",
};

constexpr absl::string_view kAskingOps[] = {"IsVariableInitialized",
                                            "VarIsInitializedOp"};
constexpr absl::string_view kWaitingOps[] = {"WaitForRefVariable",
                                             "WaitForVariable"};

constexpr absl::string_view kWritingWords[] = {"Apply", "Assign", "CountUpTo",
                                               "Scatter"};

// The ops that assign a complete value, and do not need a previous one.
// Restored values are also assigned by one of these ops.
constexpr absl::string_view kAssigningOps[] = {"Assign", "AssignVariableOp"};

// The ops that call functions. The function bodies, which are not part of the
// graph, may write variables whose handles they get.
constexpr absl::string_view kCallingOps[] = {"Case",
                                             "If",
                                             "MapDefun",
                                             "PartitionedCall",
                                             "StatefulPartitionedCall",
                                             "StatelessCase",
                                             "StatelessIf",
                                             "StatelessWhile",
                                             "While"};

// The ops through which handles enter the graph from other devices and from
// clients.
constexpr absl::string_view kEntryOps[] = {
    "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_Arg", "_Recv"};

template <typename Names>
bool IsOneOf(const Names& names, const Node& node) {
  return absl::c_linear_search(names, absl::string_view(node.type()));
}

bool IsHandle(DataType type) { return IsRefType(type) || type == DT_RESOURCE; }

// Returns whether input `i` is a handle or a reference. A node that only needs
// the value of a reference does not take a handle.
bool TakesHandle(const Node& node, int i) {
  return IsHandle(node.input_types()[i]);
}

// Returns whether the op's name says that it writes a variable. Ops on
// accumulators are excluded, because accumulators are not variables.
bool WritesByName(const Node& node) {
  if (absl::StrContains(node.type(), "Accumulator")) return false;
  if (IsOneOf(kCallingOps, node)) return true;
  return absl::c_any_of(kWritingWords, [&](absl::string_view word) {
    return absl::StrContains(node.type(), word);
  });
}

std::string TextAttr(const Node& node, absl::string_view name) {
  const auto* text = node.attr<std::string>(name);
  return text == nullptr ? std::string() : *text;
}

// Returns the bytes of the variable that the node creates, for
// VariableUses::assigned.
int64_t DeclaredBytes(const Node& node) {
  const auto* dtype = node.attr<DataType>("dtype");
  const auto* shape = node.attr<PartialShape>("shape");
  if (dtype == nullptr || shape == nullptr) return 0;
  if (!shape->has_rank() || !shape->IsFullyDefined()) return 0;
  // An empty variable needs no memory, however large its other dimensions are.
  if (absl::c_linear_search(shape->dims(), 0)) return 0;
  auto bytes = static_cast<int64_t>(DataTypeSize(*dtype));
  for (const int64_t size : shape->dims()) {
    bytes = SaturatedMultiply(bytes, size);
  }
  return bytes;
}

class UsesFinder {
 public:
  UsesFinder(const Graph& graph, const ResourceManager& resources)
      : graph_(graph), resources_(resources), carried_(graph.num_nodes()) {}

  VariableUses Find() {
    for (const Node* node : graph_.nodes()) {
      if (IsOneOf(kVariableOps, *node)) {
        carried_[node->id()].insert(KeyOf(*node));
        int64_t& declared = declared_[KeyOf(*node)];
        declared = std::max(declared, DeclaredBytes(*node));
      } else if (IsOneOf(kEntryOps, *node) &&
                 absl::c_any_of(node->output_types(), IsHandle)) {
        carried_[node->id()].insert(VariableKey());
      }
    }
    // A loop may carry a handle to nodes that were visited before, so repeat
    // until nothing changes.
    while (CarryOn()) {
    }
    for (const Node* node : graph_.nodes()) Note(*node);
    return std::move(uses_);
  }

 private:
  using Variables = absl::btree_set<VariableKey>;

  VariableKey KeyOf(const Node& node) const {
    VariableKey key = {&resources_, TextAttr(node, "container"),
                       TextAttr(node, "shared_name")};
    if (key.container.empty()) key.container = resources_.default_container();
    if (key.name.empty()) key.name = node.name();
    return key;
  }

  // Returns the variables whose handle or reference the node takes.
  Variables Taken(const Node& node) const {
    Variables taken;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const OutputTensor& input = node.inputs()[i];
      if (input.node == nullptr || !TakesHandle(node, i)) continue;
      const Variables& from = carried_[input.node->id()];
      taken.insert(from.begin(), from.end());
    }
    return taken;
  }

  // Forwards the variables of each node to its consumers. Returns true if a
  // node has got new ones.
  bool CarryOn() {
    bool more = false;
    for (const Node* node : graph_.nodes()) {
      if (IsOneOf(kVariableOps, *node)) continue;
      if (!absl::c_any_of(node->output_types(), IsHandle)) continue;
      Variables& carried = carried_[node->id()];
      const size_t before = carried.size();
      const Variables taken = Taken(*node);
      carried.insert(taken.begin(), taken.end());
      more = more || carried.size() > before;
    }
    return more;
  }

  // Adds those variables that are known among the ones that the node takes.
  void AddTaken(const Node& node, Variables& variables) const {
    for (const VariableKey& key : Taken(node)) {
      if (key.resources != nullptr) variables.insert(key);
    }
  }

  void AddAssigned(const Node& node) {
    for (const VariableKey& key : Taken(node)) {
      const auto declared = declared_.find(key);
      if (declared != declared_.end()) uses_.assigned.insert(*declared);
    }
  }

  void Note(const Node& node) {
    if (IsOneOf(kVariableOps, node)) uses_.touched.insert(KeyOf(node));
    if (IsOneOf(kAskingOps, node)) AddTaken(node, uses_.asked);
    if (IsOneOf(kWaitingOps, node)) AddTaken(node, uses_.awaited);
    if (IsOneOf(kAssigningOps, node)) AddAssigned(node);
    if (IsOneOf(kReadingOps, node)) return;
    for (const VariableKey& key : Taken(node)) {
      if (key.resources != nullptr) {
        uses_.written.insert(key);
      } else if (WritesByName(node)) {
        uses_.writes_unknown = true;
      }
    }
  }

  const Graph& graph_;
  const ResourceManager& resources_;
  // The variables that each node forwards, by node id. A key without
  // `resources` stands for any variable.
  std::vector<Variables> carried_;
  // The bytes of each variable; see VariableUses::assigned.
  absl::btree_map<VariableKey, int64_t> declared_;
  VariableUses uses_;
};

}  // namespace

void VariableUses::Add(const VariableUses& other) {
  touched.insert(other.touched.begin(), other.touched.end());
  written.insert(other.written.begin(), other.written.end());
  writes_unknown = writes_unknown || other.writes_unknown;
  asked.insert(other.asked.begin(), other.asked.end());
  awaited.insert(other.awaited.begin(), other.awaited.end());
  assigned.insert(other.assigned.begin(), other.assigned.end());
}

bool VariableUses::MayWrite(
    const absl::btree_set<VariableKey>& variables) const {
  if (variables.empty()) return false;
  if (writes_unknown) return true;
  return absl::c_any_of(
      written, [&](const VariableKey& key) { return variables.contains(key); });
}

bool HasInitialized(const std::vector<const VariableUses*>& graphs,
                    const absl::btree_set<VariableKey>& variables,
                    const ResourceManager* resources) {
  // Return early, because most graphs write no variables.
  if (absl::c_all_of(graphs, [](const VariableUses* graph) {
        return graph->written.empty();
      })) {
    return false;
  }
  return absl::c_any_of(variables, [&](const VariableKey& key) {
    return key.resources == resources &&
           absl::c_any_of(graphs,
                          [&](const VariableUses* graph) {
                            return graph->written.contains(key);
                          }) &&
           absl::c_any_of(graphs, [&](const VariableUses* graph) {
             return graph->asked.contains(key);
           });
  });
}

VariableUses FindVariableUses(const Graph& graph,
                              const ResourceManager& resources) {
  return UsesFinder(graph, resources).Find();
}

}  // namespace weft
