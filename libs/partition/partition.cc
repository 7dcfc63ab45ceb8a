#include "libs/partition/partition.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/graph/graph_copy.h"
#include "libs/partition/control_loops.h"
#include "libs/partition/loop_structure.h"
#include "libs/partition/node_devices.h"

namespace weft {
namespace {

class Partitioner {
 public:
  Partitioner(const Graph& graph, const LoopStructure& loops,
              const NodeDevices& devices)
      : graph_(graph), loops_(loops), devices_(devices) {}

  absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> Run(
      const ControlLoops& control_loops) {
    RETURN_IF_ERROR(BeginLoops(control_loops));
    for (const Node* node : graph_.nodes()) {
      for (const std::string& device : devices_.Of(*node)) {
        RETURN_IF_ERROR(Place(*node, device));
      }
    }
    RETURN_IF_ERROR(EndLoops(control_loops));
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
    // The sources of control edges for which this device already has a _Recv,
    // with that _Recv.
    std::map<const Node*, const Node*> control_receives;
    // Maps each frame to the node that triggers its _Recv nodes; null outside
    // loops.
    std::map<int, const Node*> triggers = {{0, nullptr}};
  };

  Part& PartFor(const std::string& device) {
    Part& part = parts_[device];
    if (part.graph == nullptr) {
      part.graph =
          std::make_unique<Graph>(graph_.registry(), graph_.shared_functions());
      part.graph->set_producer(graph_.producer());
      part.copier = std::make_unique<GraphCopier>(*part.graph);
    }
    return part;
  }

  absl::Status BeginLoops(const ControlLoops& control_loops) {
    for (const auto& [frame, device] : control_loops) {
      Part& part = PartFor(device);
      const int parent = loops_.analysis.frames[frame].parent;
      ASSIGN_OR_RETURN(part.triggers[frame],
                       BeginControlLoop(loops_, frame, part.triggers.at(parent),
                                        device, *part.graph));
    }
    return absl::OkStatus();
  }

  absl::Status EndLoops(const ControlLoops& control_loops) {
    for (const auto& [frame, device] : control_loops) {
      Part& part = PartFor(device);
      const OutputTensor condition{loops_.conditions[frame].front(), 0};
      if (!part.copier->Has(condition)) {
        RETURN_IF_ERROR(JoinData(condition, device, part));
      }
      RETURN_IF_ERROR(EndControlLoop(frame, part.triggers.at(frame),
                                     part.copier->Lookup(condition),
                                     *part.graph));
    }
    return absl::OkStatus();
  }

  absl::Status Place(const Node& node, const std::string& device) {
    Part& part = PartFor(device);
    absl::Status status;
    ForEachCrossing(node, device, loops_, devices_, [&](const Crossing& edge) {
      if (status.ok()) status = Join(edge, part);
    });
    RETURN_IF_ERROR(status);
    ASSIGN_OR_RETURN(const Node* copy, part.copier->Copy(node));
    part.graph->set_assigned_device(copy, device);
    return absl::OkStatus();
  }

  absl::Status Join(const Crossing& edge, Part& part) {
    const Node& source = *edge.source.node;
    if (edge.is_control) {
      if (part.control_receives.count(&source) > 0) return absl::OkStatus();
      return JoinControl(source, edge.device, part);
    }
    if (part.copier->Has(edge.source)) return absl::OkStatus();
    return JoinData(edge.source, edge.device, part);
  }

  absl::Status JoinData(const OutputTensor& source, const std::string& device,
                        Part& part) {
    Part& sender = PartFor(devices_.Home(*source.node));
    ASSIGN_OR_RETURN(
        const Node* receive,
        AddPair(sender, sender.copier->Lookup(source), source, device, part));
    part.copier->Replace(source, {receive, 0});
    return absl::OkStatus();
  }

  // Sends an empty tensor to `part` after `source` has run.
  absl::Status JoinControl(const Node& source, const std::string& device,
                           Part& part) {
    const std::string& from = devices_.Home(source);
    Part& sender = PartFor(from);
    ASSIGN_OR_RETURN(
        Node * signal,
        sender.graph->AddNode(
            {.name = absl::StrCat("_control_", source.name(), "_", next_edge_),
             .op = "Const",
             .control_inputs = {sender.copier->Find(&source)},
             .attrs = {{"dtype", DT_FLOAT},
                       {"value", Tensor(DT_FLOAT, TensorShape({0}))}}}));
    sender.graph->set_assigned_device(signal, from);
    ASSIGN_OR_RETURN(const Node* receive,
                     AddPair(sender, {signal, 0}, {&source, 0}, device, part));
    part.control_receives[&source] = receive;
    part.copier->ReplaceControl(&source, receive);
    return absl::OkStatus();
  }

  // Adds a _Send and a _Recv for `value`. `named` is the output that errors
  // name.
  absl::StatusOr<const Node*> AddPair(Part& sender, const OutputTensor& value,
                                      const OutputTensor& named,
                                      const std::string& device,
                                      Part& receiver) {
    const int64_t edge = next_edge_++;
    const std::string& from = devices_.Home(*named.node);
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
    NodeSpec spec{
        .name = absl::StrCat("_recv_", suffix), .op = "_Recv", .attrs = attrs};
    const Node* trigger = receiver.triggers.at(loops_.OutputFrame(*named.node));
    if (trigger != nullptr) spec.control_inputs = {trigger};
    ASSIGN_OR_RETURN(Node * receive, receiver.graph->AddNode(std::move(spec)));
    receiver.graph->set_assigned_device(receive, device);
    return receive;
  }

  const Graph& graph_;
  const LoopStructure& loops_;
  const NodeDevices& devices_;
  std::map<std::string, Part> parts_;
  int64_t next_edge_ = 1;
};

}  // namespace

absl::StatusOr<std::map<std::string, std::unique_ptr<Graph>>> PartitionGraph(
    const Graph& graph) {
  ASSIGN_OR_RETURN(const LoopStructure loops, AnalyzeLoops(graph));
  const NodeDevices devices(graph, loops);
  ASSIGN_OR_RETURN(const ControlLoops control_loops,
                   FindControlLoops(graph, loops, devices));
  return Partitioner(graph, loops, devices).Run(control_loops);
}

}  // namespace weft
