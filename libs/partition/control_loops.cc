#include "libs/partition/control_loops.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const LoopStructure& loops,
         const NodeDevices& devices)
      : graph_(graph), loops_(loops), devices_(devices) {}

  absl::StatusOr<ControlLoops> Run() {
    if (!loops_.has_loops()) return std::move(found_);
    NoteDrivers();
    for (const Node* node : graph_.nodes()) {
      for (const std::string& device : devices_.Of(*node)) {
        ForEachCrossing(*node, device, loops_, devices_,
                        [this](const Crossing& edge) { Visit(edge); });
      }
    }
    if (!status_.ok()) return status_;
    return std::move(found_);
  }

 private:
  // Records on which device each loop has its own back edges; these devices
  // need no control loop for iterating.
  void NoteDrivers() {
    for (const Node* node : graph_.nodes()) {
      if (!IsNextIteration(*node)) continue;
      for (const std::string& device : devices_.Of(*node)) {
        driven_.emplace(loops_.InputFrame(*node), device);
      }
    }
  }

  void Visit(const Crossing& edge) {
    status_.Update(Check(edge));
    const int frame = loops_.OutputFrame(*edge.source.node);
    if (frame == 0) return;
    Require(frame, edge.device);
    RequireForSending(frame, devices_.Home(*edge.source.node));
  }

  absl::Status Check(const Crossing& edge) const {
    const Node& from = *edge.source.node;
    const int silent = loops_.silent_in[from.id()];
    const bool is_back_edge = from.id() > edge.consumer->id();
    if (silent == LoopStructure::kNone && !is_back_edge) {
      return absl::OkStatus();
    }
    const int frame = is_back_edge ? loops_.OutputFrame(from) : silent;
    return absl::UnimplementedError(absl::StrCat(
        "The edge from node ", from.name(), " on ", devices_.Home(from),
        " to node ", edge.consumer->name(), " on ", edge.device,
        " is inside the loop '", loops_.analysis.frames[frame].name, "', but ",
        from.name(),
        " does not run in each of its iterations. Place the two nodes on one "
        "device."));
  }

  void Require(int frame, const std::string& device) {
    if (frame == 0 || !found_.emplace(frame, device).second) return;
    Require(loops_.analysis.frames[frame].parent, device);
    status_.Update(CheckCondition(frame, device));
    if (!status_.ok()) return;
    const std::string& home = devices_.Home(*loops_.conditions[frame].front());
    if (home != device) RequireForSending(frame, home);
  }

  void RequireForSending(int frame, const std::string& device) {
    if (!driven_.contains({frame, device})) Require(frame, device);
  }

  absl::Status CheckCondition(int frame, const std::string& device) const {
    const std::vector<const Node*>& conditions = loops_.conditions[frame];
    if (conditions.size() == 1) return absl::OkStatus();
    const std::string start =
        absl::StrCat("The loop '", loops_.analysis.frames[frame].name,
                     "' has a part on ", device);
    if (conditions.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          start,
          " and so needs a LoopCond node, whose value determines whether it "
          "continues. Add one, or place its nodes on one device."));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        start, " but two LoopCond nodes, ", conditions[0]->name(), " and ",
        conditions[1]->name(),
        ". Are these two loops? Give each a frame_name of its own."));
  }

  const Graph& graph_;
  const LoopStructure& loops_;
  const NodeDevices& devices_;
  std::set<std::pair<int, std::string>> driven_;
  ControlLoops found_;
  absl::Status status_;  // the first error, if any
};

// Adds the nodes of the control loop of one frame on one device.
class NodeAdder {
 public:
  NodeAdder(Graph& part, const std::string& device, int frame)
      : part_(part), device_(device), frame_(frame) {}

  absl::StatusOr<const Node*> Add(const std::string& op,
                                  std::vector<OutputTensor> inputs,
                                  AttrMap attrs = {}) {
    ASSIGN_OR_RETURN(
        Node * node,
        part_.AddNode({.name = absl::StrCat("_loop_", op, "_", frame_),
                       .op = op,
                       .inputs = std::move(inputs),
                       .attrs = std::move(attrs)}));
    part_.set_assigned_device(node, device_);
    return node;
  }

 private:
  Graph& part_;
  const std::string& device_;
  const int frame_;
};

}  // namespace

absl::StatusOr<ControlLoops> FindControlLoops(const Graph& graph,
                                              const LoopStructure& loops,
                                              const NodeDevices& devices) {
  return Finder(graph, loops, devices).Run();
}

absl::StatusOr<const Node*> BeginControlLoop(const LoopStructure& loops,
                                             int frame, const Node* outer,
                                             const std::string& device,
                                             Graph& part) {
  const FrameAnalysis::Frame& info = loops.analysis.frames[frame];
  NodeAdder nodes(part, device, frame);
  if (outer == nullptr) {
    ASSIGN_OR_RETURN(
        outer, nodes.Add("Const", {},
                         {{"dtype", DT_FLOAT},
                          {"value", Tensor(DT_FLOAT, TensorShape({0}))}}));
  }
  ASSIGN_OR_RETURN(
      const Node* enter,
      nodes.Add("Enter", {{outer, 0}},
                {{"frame_name", info.name},
                 {"parallel_iterations", info.parallel_iterations}}));
  return nodes.Add("Merge", {{enter, 0}, {}}, {{"T", DT_FLOAT}});
}

absl::Status EndControlLoop(int frame, const Node* merge,
                            const OutputTensor& condition, Graph& part) {
  NodeAdder nodes(part, merge->assigned_device(), frame);
  ASSIGN_OR_RETURN(const Node* choose,
                   nodes.Add("Switch", {{merge, 0}, condition}));
  ASSIGN_OR_RETURN(const Node* next, nodes.Add("NextIteration", {{choose, 1}}));
  return part.SetBackEdge(merge, 1, {next, 0});
}

}  // namespace weft
