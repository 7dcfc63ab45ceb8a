#include "libs/partition/partition.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/graph_copy.h"

namespace weft {
namespace {

// For each node, how many loops it is inside of.
std::vector<int> LoopDepths(const Graph& graph) {
  std::vector<int> depths(graph.num_nodes(), 0);
  for (const Node* node : graph.nodes()) {
    int depth = 0;
    for (const Endpoint& input : node->inputs()) {
      // A back edge comes from a later node, whose depth is this one's.
      if (input.node->id() < node->id()) {
        depth = std::max(depth, depths[input.node->id()]);
      }
    }
    for (const Node* control : node->control_inputs()) {
      depth = std::max(depth, depths[control->id()]);
    }
    if (node->type() == "Enter" || node->type() == "RefEnter") ++depth;
    if (node->type() == "Exit" || node->type() == "RefExit") --depth;
    depths[node->id()] = depth;
  }
  return depths;
}

class Partitioner {
 public:
  explicit Partitioner(const Graph& graph)
      : graph_(graph), loop_depths_(LoopDepths(graph)) {}

  absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> Run() {
    for (const Node* node : graph_.nodes()) RETURN_IF_ERROR(Place(*node));
    std::map<std::string, std::unique_ptr<Graph>> result;
    for (auto& [device, part] : parts_) {
      RETURN_IF_ERROR(part.copier->Finish());
      result[device] = std::move(part.graph);
    }
    return result;
  }

 private:
  struct Part {
    std::unique_ptr<Graph> graph;
    std::unique_ptr<GraphCopier> copier;
    // Sources of control edges that already have a _Recv here.
    std::map<const Node*, const Node*> control_receives;
  };

  Part& PartFor(const std::string& device) {
    Part& part = parts_[device];
    if (part.graph == nullptr) {
      part.graph = std::make_unique<Graph>(graph_.registry());
      part.copier = std::make_unique<GraphCopier>(*part.graph);
    }
    return part;
  }

  absl::Status Place(const Node& node) {
    Part& part = PartFor(node.assigned_device());
    for (const Endpoint& input : node.inputs()) {
      if (input.node->assigned_device() == node.assigned_device()) continue;
      if (part.copier->Has(input)) continue;
      RETURN_IF_ERROR(CheckCrossing(*input.node, node));
      RETURN_IF_ERROR(JoinData(input, node.assigned_device(), part));
    }
    for (const Node* control : node.control_inputs()) {
      if (control->assigned_device() == node.assigned_device()) continue;
      if (part.control_receives.count(control) > 0) continue;
      RETURN_IF_ERROR(CheckCrossing(*control, node));
      RETURN_IF_ERROR(JoinControl(*control, node.assigned_device(), part));
    }
    return part.copier->Copy(node).status();
  }

  absl::Status CheckCrossing(const Node& from, const Node& to) const {
    if (from.id() < to.id() && loop_depths_[from.id()] == 0) {
      return absl::OkStatus();
    }
    return absl::UnimplementedError(absl::StrCat(
        "The edge from node ", from.name(), " on ", from.assigned_device(),
        " to node ", to.name(), " on ", to.assigned_device(),
        " is inside a loop. Place the nodes of a loop on one device."));
  }

  absl::Status JoinData(const Endpoint& source, const std::string& device,
                        Part& part) {
    Part& sender = PartFor(source.node->assigned_device());
    ASSIGN_OR_RETURN(
        const Node* receive,
        Join(sender, sender.copier->Lookup(source), source, device, part));
    part.copier->Replace(source, {receive, 0});
    return absl::OkStatus();
  }

  // Sends an empty tensor made after `source` has run.
  absl::Status JoinControl(const Node& source, const std::string& device,
                           Part& part) {
    Part& sender = PartFor(source.assigned_device());
    ASSIGN_OR_RETURN(
        Node * signal,
        sender.graph->AddNode(
            {.name = absl::StrCat("_control_", source.name(), "_", next_edge_),
             .op = "Const",
             .control_inputs = {sender.copier->Find(&source)},
             .attrs = {{"dtype", DT_FLOAT},
                       {"value", Tensor(DT_FLOAT, TensorShape({0}))}}}));
    sender.graph->set_assigned_device(signal, source.assigned_device());
    ASSIGN_OR_RETURN(const Node* receive,
                     Join(sender, {signal, 0}, {&source, 0}, device, part));
    part.control_receives[&source] = receive;
    part.copier->ReplaceControl(&source, receive);
    return absl::OkStatus();
  }

  // Adds the pair of nodes; `named` is what the edge is called in errors.
  absl::StatusOr<const Node*> Join(Part& sender, const Endpoint& value,
                                   const Endpoint& named,
                                   const std::string& device, Part& receiver) {
    const int64_t edge = next_edge_++;
    const std::string& from = named.node->assigned_device();
    const DataType type = RemoveRefType(value.node->output_type(value.index));
    const AttrMap attrs = {{"T", type},
                           {"edge", edge},
                           {"tensor_name", TensorName(named)},
                           {"send_device", from},
                           {"recv_device", device}};
    const std::string suffix = absl::StrCat(named.node->name(), "_", edge);
    ASSIGN_OR_RETURN(Node * send, sender.graph->AddNode(
                                      {.name = absl::StrCat("_send_", suffix),
                                       .op = "_Send",
                                       .inputs = {value},
                                       .attrs = attrs}));
    sender.graph->set_assigned_device(send, from);
    ASSIGN_OR_RETURN(
        Node * receive,
        receiver.graph->AddNode({.name = absl::StrCat("_recv_", suffix),
                                 .op = "_Recv",
                                 .attrs = attrs}));
    receiver.graph->set_assigned_device(receive, device);
    return receive;
  }

  const Graph& graph_;
  const std::vector<int> loop_depths_;
  std::map<std::string, Part> parts_;
  int64_t next_edge_ = 1;
};

}  // namespace

absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> PartitionGraph(
    const Graph& graph) {
  return Partitioner(graph).Run();
}

}  // namespace weft
