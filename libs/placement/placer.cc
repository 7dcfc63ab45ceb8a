#include "libs/placement/placer.h"

#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "libs/base/status.h"
#include "libs/placement/candidates.h"
#include "libs/placement/colocation_groups.h"
#include "libs/placement/explanation.h"
#include "libs/placement/fits.h"
#include "libs/placement/refusals.h"

namespace weft {
namespace {

bool HasAssignedDevice(const PlacementNode& node) {
  return !node.assigned_device.empty();
}

bool NamesTask(const DeviceName& request) {
  return request.job && request.task;
}

// Returns why the first of several devices precedes the second.
Cause CauseOfOrder(const Candidate& first, const Candidate& second) {
  if (TypeRank(first.type) != TypeRank(second.type)) return Cause::kBetterType;
  return first.is_own != second.is_own ? Cause::kOwnTask : Cause::kFirstByName;
}

class Placer {
 public:
  Placer(const PlacementGraph& graph, const Candidates& candidates,
         const ColocationGroups& groups, LivesOnFn lives_on,
         bool soft_placement)
      : graph_(graph),
        candidates_(candidates),
        groups_(groups),
        lives_on_(lives_on),
        fits_(candidates, soft_placement),
        decisions_(graph.nodes.size()),
        devices_(graph.nodes.size()) {}

  absl::Status Run() {
    FindPlaced();
    FindResources();
    std::vector<int> generators;
    for (int i = 0; i < num_nodes(); ++i) {
      if (HasAssignedDevice(node(i))) continue;
      if (node(i).is_generator) {
        generators.push_back(i);
      } else {
        RETURN_IF_ERROR(Place(i, DeviceOfInput(i), Cause::kWithInput));
      }
    }
    const std::vector<const Candidate*> wishes = DevicesOfConsumers();
    for (int i : generators) {
      RETURN_IF_ERROR(Place(i, wishes[i], Cause::kWithConsumers));
    }
    return absl::OkStatus();
  }

  std::vector<std::string> Devices() const {
    std::vector<std::string> names;
    names.reserve(graph_.nodes.size());
    for (int i = 0; i < num_nodes(); ++i) {
      names.push_back(HasAssignedDevice(node(i)) ? node(i).assigned_device
                                                 : devices_[i]->name);
    }
    return names;
  }

  std::vector<std::string> Reasons() const {
    const auto facts = FactsOfGroups();
    std::vector<std::string> reasons;
    reasons.reserve(graph_.nodes.size());
    for (int i = 0; i < num_nodes(); ++i) {
      if (HasAssignedDevice(node(i))) {
        reasons.push_back(ExplainPlaced(node(i)));
        continue;
      }
      const int group = groups_.GroupOf(i);
      const Decision& decision = decisions_[group];
      reasons.push_back(
          Explain(node(i), facts.at(group), decision, node(decision.node)));
    }
    return reasons;
  }

 private:
  int num_nodes() const { return static_cast<int>(graph_.nodes.size()); }
  const PlacementNode& node(int i) const { return graph_.nodes[i]; }

  void FindPlaced() {
    for (int i = 0; i < num_nodes(); ++i) {
      if (!HasAssignedDevice(node(i))) continue;
      devices_[i] = candidates_.Find(node(i).assigned_device);
      placed_of_group_.emplace(groups_.GroupOf(i), i);
    }
  }

  void FindResources() {
    for (int i = 0; i < num_nodes(); ++i) {
      if (node(i).resource && !HasAssignedDevice(node(i))) {
        resources_of_group_[groups_.GroupOf(i)].push_back(i);
      }
    }
  }

  const Candidate* DeviceOfInput(int i) const {
    if (!node(i).is_metadata || node(i).inputs.empty()) return nullptr;
    return devices_[node(i).inputs[0].node];
  }

  // Returns, for each node, the device that all of its consumers share, or
  // null.
  std::vector<const Candidate*> DevicesOfConsumers() const {
    std::vector<const Candidate*> shared(graph_.nodes.size());
    std::vector<bool> is_consumed(graph_.nodes.size(), false);
    for (int i = 0; i < num_nodes(); ++i) {
      for (const PlacementNode::Input& input : node(i).inputs) {
        const Candidate*& device = shared[input.node];
        if (!is_consumed[input.node]) device = devices_[i];
        if (device != devices_[i]) device = nullptr;
        is_consumed[input.node] = true;
      }
    }
    return shared;
  }

  // Places the node with its group if that has a device, or else on `wish` if
  // that fits.
  absl::Status Place(int i, const Candidate* wish, Cause cause_of_wish) {
    Decision& decision = decisions_[groups_.GroupOf(i)];
    if (decision.device == nullptr) {
      ASSIGN_OR_RETURN(const Fit* fit, FitOf(i));
      decision = Decide(i, *fit, wish, cause_of_wish);
    }
    devices_[i] = decision.device;
    return absl::OkStatus();
  }

  absl::StatusOr<const Fit*> FitOf(int i) {
    const int first = groups_.GroupOf(i);
    const ColocationGroups::Group& group = groups_.group(first);
    const GroupRequest& request = groups_.requests().Get(group.request);
    const Fit& fit = fits_.Find(group.request, request, group.types,
                                groups_.types().Get(group.types));
    if (!fit.devices.empty()) return &fit;
    std::vector<const PlacementNode*> members;
    for (int member : groups_.MembersOf(first)) {
      members.push_back(&node(member));
    }
    return NoDevice(node(i), request.requested(), members, candidates_);
  }

  Decision Decide(int i, const Fit& fit, const Candidate* wish,
                  Cause cause_of_wish) const {
    const int group = groups_.GroupOf(i);
    const auto placed = placed_of_group_.find(group);
    if (placed != placed_of_group_.end()) {
      return {fit.devices[0], Cause::kMemberWasPlaced, placed->second, &fit};
    }
    if (const auto found = DecideForResources(group, fit)) return *found;
    if (fit.devices.size() == 1) {
      return {fit.devices[0], Cause::kOnlyOne, i, &fit};
    }
    if (wish != nullptr && fit.Has(*wish)) {
      return {wish, cause_of_wish, i, &fit};
    }
    return {fit.devices[0], CauseOfOrder(*fit.devices[0], *fit.devices[1]), i,
            &fit};
  }

  // Weft's own rule: named resources that request no task go to the task where
  // one of them lives, else to the session's own task.
  std::optional<Decision> DecideForResources(int group, const Fit& fit) const {
    const auto resources = resources_of_group_.find(group);
    if (resources == resources_of_group_.end() || NamesTask(fit.request) ||
        fit.devices.size() == 1) {
      return std::nullopt;
    }
    for (const bool own : {true, false}) {
      for (const Candidate* device : fit.devices) {
        if (device->is_own != own) continue;
        const int found = FindLiving(resources->second, *device);
        if (found < 0) continue;
        return Decision{device, Cause::kLivesThere, found, &fit};
      }
    }
    for (const Candidate* device : fit.devices) {
      if (device->is_own) {
        return Decision{device, Cause::kOwnTask, resources->second[0], &fit};
      }
    }
    return std::nullopt;
  }

  // Returns the first of the nodes whose resource lives on the device, or -1.
  int FindLiving(const std::vector<int>& nodes, const Candidate& device) const {
    for (int i : nodes) {
      if (lives_on_(*node(i).resource, device.name)) return i;
    }
    return -1;
  }

  absl::flat_hash_map<int, GroupFacts> FactsOfGroups() const {
    absl::flat_hash_map<int, GroupFacts> facts;
    for (int i = 0; i < num_nodes(); ++i) {
      const int first = groups_.GroupOf(i);
      const ColocationGroups::Group& group = groups_.group(first);
      GroupFacts& of_group = facts[first];
      of_group.members.push_back(&node(i));
      of_group.requested = &groups_.requests().Get(group.request).requested();
      of_group.types = &groups_.types().Get(group.types);
      of_group.present = &candidates_.types();
    }
    for (const auto& [group, nodes] : resources_of_group_) {
      const int found = FindLiving(nodes, *decisions_[group].device);
      if (found >= 0) facts[group].living = &node(found);
    }
    return facts;
  }

  const PlacementGraph& graph_;
  const Candidates& candidates_;
  const ColocationGroups& groups_;
  const LivesOnFn lives_on_;
  Fits fits_;
  // By group: a member that has been placed.
  absl::flat_hash_map<int, int> placed_of_group_;
  absl::flat_hash_map<int, std::vector<int>> resources_of_group_;
  std::vector<Decision> decisions_;        // by group
  std::vector<const Candidate*> devices_;  // by node; null while open
};

}  // namespace

absl::StatusOr<Placement> PlaceNodes(const PlacementGraph& graph,
                                     absl::Span<const DeviceAttributes> devices,
                                     LivesOnFn lives_on,
                                     const PlacementOptions& options) {
  const Candidates candidates(devices, options.default_task);
  if (candidates.all().empty() && !graph.nodes.empty()) {
    return absl::FailedPreconditionError("No devices are registered");
  }
  ASSIGN_OR_RETURN(const ColocationGroups groups,
                   ColocationGroups::Create(graph, candidates,
                                            options.allow_soft_placement));
  Placer placer(graph, candidates, groups, lives_on,
                options.allow_soft_placement);
  RETURN_IF_ERROR(placer.Run());
  Placement placement{.devices = placer.Devices()};
  if (options.explain) placement.reasons = placer.Reasons();
  return placement;
}

}  // namespace weft
