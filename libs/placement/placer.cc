#include "libs/placement/placer.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"

namespace weft {
namespace {

constexpr absl::string_view kColocationPrefix = "loc:@";

// Nodes that must share a device: a forest over node ids.
class Groups {
 public:
  explicit Groups(int num_nodes) : parent_(num_nodes) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int Find(int id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  // The lower id stands for the group, so the result does not depend on the
  // order of calls.
  void Join(int a, int b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<int> parent_;
};

// A device that may be chosen, with what the choice goes by.
struct Candidate {
  const DeviceAttributes* attributes;
  DeviceName name;
  bool is_local;
};

// Best first.
bool Precedes(const Candidate& a, const Candidate& b) {
  auto rank = [](const Candidate& c) {
    return std::make_tuple(c.attributes->device_type != "GPU", !c.is_local,
                           c.attributes->name);
  };
  return rank(a) < rank(b);
}

bool TakesResource(const Node& node, int input) {
  return IsRefType(node.input_type(input)) ||
         node.input_type(input) == DT_RESOURCE;
}

// Makes one value and takes none, so it may live wherever that is used.
bool IsGenerator(const Node& node) {
  return node.num_inputs() == 0 && node.num_outputs() == 1 &&
         !IsRefType(node.output_type(0)) && node.output_type(0) != DT_RESOURCE;
}

// Looks only at the shape of its input.
bool IsMetadata(const Node& node) {
  static constexpr absl::string_view kOps[] = {"Shape", "ShapeN", "Size",
                                               "Rank"};
  return std::find(std::begin(kOps), std::end(kOps), node.type()) !=
         std::end(kOps);
}

class Placer {
 public:
  Placer(const Graph& graph, int first_id,
         absl::Span<const DeviceAttributes> devices, DeviceTypesFn device_types,
         const PlacementOptions& options)
      : graph_(graph),
        first_id_(first_id),
        device_types_(device_types),
        options_(options),
        groups_(graph.num_nodes()),
        requests_(graph.num_nodes()),
        assigned_(graph.num_nodes()) {
    for (const DeviceAttributes& device : devices) AddDevice(device);
    std::sort(candidates_.begin(), candidates_.end(), Precedes);
    for (int id = 0; id < first_id; ++id) {
      assigned_[id] = graph.node(id)->assigned_device();
    }
  }

  // The devices of all nodes by id.
  absl::StatusOr<std::vector<std::string>> Run() {
    RETURN_IF_ERROR(JoinGroups());
    RETURN_IF_ERROR(MergeRequests());
    std::vector<const Node*> generators;
    for (const Node* node : NewNodes()) {
      if (IsGenerator(*node) && IsAlone(*node)) {
        generators.push_back(node);
      } else {
        RETURN_IF_ERROR(Assign(*node, PreferredByInput(*node)));
      }
    }
    const std::vector<std::string> wishes = DevicesOfConsumers();
    for (const Node* node : generators) {
      RETURN_IF_ERROR(Assign(*node, wishes[node->id()]));
    }
    return std::move(assigned_);
  }

 private:
  absl::Span<const Node* const> NewNodes() const {
    return graph_.nodes().subspan(first_id_);
  }

  void AddDevice(const DeviceAttributes& device) {
    absl::StatusOr<DeviceName> name = DeviceName::Parse(device.name);
    if (!name.ok()) return;  // not a name that anybody could ask for
    const bool is_local =
        absl::StartsWith(device.name, absl::StrCat(options_.default_task, "/"));
    candidates_.push_back({&device, *std::move(name), is_local});
  }

  absl::Status JoinGroups() {
    for (const Node* node : NewNodes()) {
      for (int i = 0; i < node->num_inputs(); ++i) {
        if (TakesResource(*node, i)) {
          groups_.Join(node->id(), node->input(i).node->id());
        }
      }
      RETURN_IF_ERROR(JoinClass(*node));
    }
    for (int id = 0; id < graph_.num_nodes(); ++id)
      ++group_sizes_[groups_.Find(id)];
    return absl::OkStatus();
  }

  absl::Status JoinClass(const Node& node) {
    const auto* classes = node.attr<std::vector<std::string>>("_class");
    if (classes == nullptr) return absl::OkStatus();
    for (const std::string& name : *classes) {
      absl::string_view other_name = name;
      if (!absl::ConsumePrefix(&other_name, kColocationPrefix)) continue;
      const Node* other = graph_.FindNode(other_name);
      if (other == nullptr) {
        return absl::InvalidArgumentError(
            absl::StrCat("Node ", node.name(), " is to be colocated with ",
                         other_name, ", which is not in the graph."));
      }
      groups_.Join(node.id(), other->id());
    }
    return absl::OkStatus();
  }

  bool IsAlone(const Node& node) {
    return group_sizes_.at(groups_.Find(node.id())) == 1;
  }

  // Leaves in requests_ of each group's first node what all of it asks for.
  // Members that have a device already ask for just that.
  absl::Status MergeRequests() {
    for (const Node* node : graph_.nodes()) {
      const std::string& wanted = node->id() < first_id_
                                      ? node->assigned_device()
                                      : node->requested_device();
      absl::StatusOr<DeviceName> request = DeviceName::Parse(wanted);
      if (!request.ok()) {
        return Annotate(request.status(),
                        absl::StrCat("Device of operation ", node->name()));
      }
      const int group = groups_.Find(node->id());
      absl::Status merged =
          requests_[group].MergeFrom(*request, options_.allow_soft_placement);
      if (!merged.ok()) {
        return Annotate(merged,
                        absl::StrCat("Cannot colocate nodes {{colocation_node ",
                                     node->name(), "}} and {{colocation_node ",
                                     graph_.node(group)->name(), "}}"));
      }
    }
    return absl::OkStatus();
  }

  // The types that have kernels for every node of the group.
  absl::StatusOr<std::set<std::string>> SupportedTypes(int group) {
    auto it = supported_types_.find(group);
    if (it != supported_types_.end()) return it->second;
    std::set<std::string> common;
    bool is_first = true;
    for (const Node* node : NewNodes()) {
      if (groups_.Find(node->id()) != group) continue;
      std::vector<std::string> types = device_types_(*node);
      if (types.empty()) return NoKernel(*node);
      std::set<std::string> supported(types.begin(), types.end());
      if (!is_first) {
        std::erase_if(supported,
                      [&](const std::string& t) { return !common.count(t); });
      }
      common = std::move(supported);
      is_first = false;
    }
    return supported_types_[group] = std::move(common);
  }

  std::vector<const Candidate*> Matching(
      const DeviceName& request, const std::set<std::string>* types) const {
    std::vector<const Candidate*> result;
    for (const Candidate& candidate : candidates_) {
      if (!request.IsSpecificationOf(candidate.name)) continue;
      if (types && !types->count(candidate.attributes->device_type)) continue;
      result.push_back(&candidate);
    }
    return result;
  }

  absl::Status Assign(const Node& node, const std::string& preferred) {
    const int group = groups_.Find(node.id());
    std::string& device = group_devices_[group];
    if (device.empty()) {
      ASSIGN_OR_RETURN(device, Choose(node, group, preferred));
    }
    assigned_[node.id()] = device;
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Choose(const Node& node, int group,
                                     const std::string& preferred) {
    ASSIGN_OR_RETURN(const std::set<std::string> types, SupportedTypes(group));
    DeviceName request = requests_[group];
    std::vector<const Candidate*> fitting = Matching(request, &types);
    if (fitting.empty() && options_.allow_soft_placement) {
      request.type.reset();
      request.index.reset();
      fitting = Matching(request, &types);
    }
    if (fitting.empty()) return NoDevice(node, requests_[group]);
    for (const Candidate* candidate : fitting) {
      if (candidate->attributes->name == preferred) return preferred;
    }
    return fitting.front()->attributes->name;
  }

  std::string PreferredByInput(const Node& node) const {
    if (!IsMetadata(node) || node.num_inputs() == 0) return "";
    return assigned_[node.input(0).node->id()];
  }

  // For each node, the device that all of its consumers share, or "".
  std::vector<std::string> DevicesOfConsumers() const {
    std::vector<std::string> shared(graph_.num_nodes());
    std::vector<bool> differ(graph_.num_nodes(), false);
    for (const Node* node : NewNodes()) {
      const std::string& device = assigned_[node->id()];
      for (const Endpoint& input : node->inputs()) {
        const int id = input.node->id();
        if (shared[id].empty()) shared[id] = device;
        if (shared[id] != device || device.empty()) differ[id] = true;
      }
    }
    for (int id = 0; id < graph_.num_nodes(); ++id) {
      if (differ[id]) shared[id].clear();
    }
    return shared;
  }

  absl::Status NoKernel(const Node& node) const {
    return absl::InvalidArgumentError(
        absl::StrCat("No OpKernel was registered to support Op '", node.type(),
                     "' used by {{node ", node.name(), "}} with these attrs: [",
                     absl::StrJoin(node.attrs(), ", ",
                                   [](std::string* out, const auto& attr) {
                                     absl::StrAppend(out, attr.first, "=",
                                                     attr.second.ToString());
                                   }),
                     "]"));
  }

  absl::Status NoDevice(const Node& node, const DeviceName& request) const {
    const std::string start = absl::StrCat(
        "Cannot assign a device for operation ", node.name(), ": ");
    if (!Matching(request, nullptr).empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          start, "Could not satisfy explicit device specification '",
          request.ToString(), "' because no supported kernel for ",
          request.type.value_or("these"), " devices is available."));
    }
    std::vector<std::string> names;
    for (const Candidate& candidate : candidates_) {
      names.push_back(candidate.attributes->name);
    }
    std::sort(names.begin(), names.end());
    std::string text = absl::StrCat(
        start, "{{node ", node.name(), "}} was explicitly assigned to ",
        request.ToString(), " but available devices are [ ",
        absl::StrJoin(names, ", "),
        " ]. Make sure the device specification refers to a valid device.");
    if (request.type == "GPU") {
      absl::StrAppend(&text,
                      " The requested device appears to be a GPU, but no such "
                      "GPU is available.");
    }
    return absl::InvalidArgumentError(text);
  }

  const Graph& graph_;
  const int first_id_;
  const DeviceTypesFn device_types_;
  const PlacementOptions& options_;
  std::vector<Candidate> candidates_;  // best first
  Groups groups_;
  std::map<int, int> group_sizes_;
  std::vector<DeviceName> requests_;  // by group
  std::map<int, std::set<std::string>> supported_types_;
  std::map<int, std::string> group_devices_;
  std::vector<std::string> assigned_;  // by node; "" while open
};

}  // namespace

absl::Status PlaceNodes(Graph& graph, int first_id,
                        absl::Span<const DeviceAttributes> devices,
                        DeviceTypesFn device_types,
                        const PlacementOptions& options) {
  ASSIGN_OR_RETURN(
      std::vector<std::string> assigned,
      Placer(graph, first_id, devices, device_types, options).Run());
  for (int id = first_id; id < graph.num_nodes(); ++id) {
    graph.set_assigned_device(graph.node(id), std::move(assigned[id]));
  }
  return absl::OkStatus();
}

}  // namespace weft
