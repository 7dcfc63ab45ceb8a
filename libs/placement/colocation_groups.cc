#include "libs/placement/colocation_groups.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/placement/refusals.h"

namespace weft {
namespace {

using Weight = RequestTable::Weight;

bool IsPlaced(const PlacementNode& node) {
  return !node.assigned_device.empty();
}

absl::Status CheckInputs(const PlacementGraph& graph) {
  const int num_nodes = static_cast<int>(graph.nodes.size());
  for (const PlacementNode& node : graph.nodes) {
    for (const PlacementNode::Input& input : node.inputs) {
      if (input.node < 0 || input.node >= num_nodes) {
        return absl::InvalidArgumentError(
            absl::StrCat("An input of node ", node.name, " comes from node ",
                         input.node, " of ", num_nodes));
      }
    }
  }
  return absl::OkStatus();
}

// By node: whether it creates a variable or other state. Its requested device
// has precedence over requests of the state's users.
std::vector<bool> StateMakers(const PlacementGraph& graph) {
  std::vector<bool> result(graph.nodes.size(), false);
  for (const PlacementNode& node : graph.nodes) {
    for (const PlacementNode::Input& input : node.inputs) {
      if (input.shares_device) result[input.node] = true;
    }
  }
  for (size_t i = 0; i < result.size(); ++i) {
    const PlacementNode& node = graph.nodes[i];
    result[i] = (result[i] || node.resource) && node.inputs.empty();
  }
  return result;
}

}  // namespace

// A union-find forest over the nodes.
class ColocationGroupsBuilder {
 public:
  ColocationGroupsBuilder(const PlacementGraph& graph,
                          const Candidates& candidates, bool soft_placement)
      : graph_(graph),
        soft_placement_(soft_placement),
        result_(candidates),
        parent_(graph.nodes.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    result_.groups_.resize(graph.nodes.size());
  }

  absl::StatusOr<ColocationGroups> Build() {
    RETURN_IF_ERROR(CheckInputs(graph_));
    RETURN_IF_ERROR(MakeGroupsOfOne());
    RETURN_IF_ERROR(JoinReferences());
    RETURN_IF_ERROR(JoinClasses());
    for (int node = 0; node < num_nodes(); ++node) {
      result_.group_of_.push_back(Find(node));
      ++result_.groups_[Find(node)].size;
    }
    return std::move(result_);
  }

 private:
  int num_nodes() const { return static_cast<int>(parent_.size()); }
  const PlacementNode& node(int i) const { return graph_.nodes[i]; }

  int Find(int i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }

  absl::Status MakeGroupsOfOne() {
    const std::vector<bool> makes_state = StateMakers(graph_);
    for (int i = 0; i < num_nodes(); ++i) {
      auto request =
          IsPlaced(node(i))
              ? result_.requests_.Parse(node(i).assigned_device,
                                        Weight::kPlaced)
              : result_.requests_.Parse(
                    node(i).requested_device,
                    makes_state[i] ? Weight::kState : Weight::kOther);
      if (!request.ok()) {
        return Annotate(request.status(),
                        absl::StrCat("Device of operation ", node(i).name));
      }
      result_.groups_[i].request = *request;
      RETURN_IF_ERROR(FindTypes(i));
    }
    return absl::OkStatus();
  }

  absl::Status FindTypes(int i) {
    if (IsPlaced(node(i))) return absl::OkStatus();  // its device is fixed
    const int types = result_.types_.Find(node(i).kernel_types);
    if (result_.types_.Get(types).empty()) {
      return NoKernel(node(i), result_.types_.Get(DeviceTypeSets::kAll));
    }
    result_.groups_[i].types = types;
    return absl::OkStatus();
  }

  absl::Status JoinReferences() {
    for (int i = 0; i < num_nodes(); ++i) {
      if (IsPlaced(node(i))) continue;
      for (const PlacementNode::Input& input : node(i).inputs) {
        if (!input.shares_device) continue;
        RETURN_IF_ERROR(JoinReference(input.node, i));
      }
    }
    return absl::OkStatus();
  }

  absl::Status JoinReference(int source, int consumer) {
    RequestTable& requests = result_.requests_;
    int& request = result_.groups_[Find(consumer)].request;
    auto following = requests.FollowReference(
        request, result_.groups_[Find(source)].request);
    if (!following.ok()) {
      return Append(
          following.status(),
          absl::StrCat("The edge src node is ", node(source).name,
                       ", and the dst node is ", node(consumer).name, "."));
    }
    request = *following;
    return Annotate(
        Join(source, consumer),
        "Nodes were connected by a reference connection (requiring them to be "
        "on the same device), but the two nodes were assigned two different "
        "devices");
  }

  absl::Status JoinClasses() {
    // A name without a node is the name of a group, which its first member
    // represents.
    absl::flat_hash_map<absl::string_view, int> by_name = NodesByName();
    for (int i = 0; i < num_nodes(); ++i) {
      for (const std::string& name : node(i).colocate_with) {
        const auto [other, is_first] = by_name.emplace(name, i);
        if (is_first || IsPlaced(node(i))) continue;
        // With soft placement it is only a preference.
        const absl::Status joined = Join(i, other->second);
        if (!joined.ok() && !soft_placement_) return joined;
      }
    }
    return absl::OkStatus();
  }

  // Empty if no node names another.
  absl::flat_hash_map<absl::string_view, int> NodesByName() const {
    absl::flat_hash_map<absl::string_view, int> by_name;
    if (absl::c_all_of(graph_.nodes, [](const PlacementNode& n) {
          return n.colocate_with.empty();
        })) {
      return by_name;
    }
    by_name.reserve(graph_.nodes.size());
    for (int i = 0; i < num_nodes(); ++i) by_name.emplace(node(i).name, i);
    return by_name;
  }

  // The earlier node represents the group. An error changes nothing.
  absl::Status Join(int a, int b) {
    const auto [first, other] = std::minmax({Find(a), Find(b)});
    if (first == other) return absl::OkStatus();
    ColocationGroups::Group& into = result_.groups_[first];
    const ColocationGroups::Group& from = result_.groups_[other];
    auto request =
        result_.requests_.Merge(into.request, from.request, soft_placement_);
    if (!request.ok()) {
      return CannotColocate(node(a), node(b), request.status().message());
    }
    const int types = result_.types_.Intersect(into.types, from.types);
    if (result_.types_.Get(types).empty()) {
      return NoCommonType(node(a), node(b), result_.types_.Get(into.types),
                          result_.types_.Get(from.types));
    }
    into.request = *request;
    into.types = types;
    parent_[other] = first;
    return absl::OkStatus();
  }

  const PlacementGraph& graph_;
  const bool soft_placement_;
  ColocationGroups result_;
  std::vector<int> parent_;
};

absl::StatusOr<ColocationGroups> ColocationGroups::Create(
    const PlacementGraph& graph, const Candidates& candidates,
    bool soft_placement) {
  return ColocationGroupsBuilder(graph, candidates, soft_placement).Build();
}

std::vector<int> ColocationGroups::MembersOf(int first_node) const {
  std::vector<int> members;
  for (size_t i = first_node; i < group_of_.size(); ++i) {
    if (group_of_[i] == first_node) members.push_back(static_cast<int>(i));
  }
  return members;
}

}  // namespace weft
