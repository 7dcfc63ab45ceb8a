#include "libs/graph/frame_analysis.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// The maximum nesting of loops. It is limited because the executor recurses:
// the last iteration of the innermost loop ends the enclosing loops.
constexpr int kMaxNesting = 1000;

int NestingOf(int frame, const FrameAnalysis& analysis) {
  int depth = 0;
  for (; frame > 0; frame = analysis.frames[frame].parent) ++depth;
  return depth;
}

// Returns an analysis with only frame 0, which is outside of loops.
FrameAnalysis OutsideLoops() {
  FrameAnalysis analysis;
  analysis.frames.emplace_back();
  return analysis;
}

bool IsOneOf(const Node& node, absl::string_view type,
             absl::string_view ref_type) {
  return node.type() == type || node.type() == ref_type;
}

// UnconditionalNodes finds the nodes of loops that are live in every iteration,
// whatever the loop's condition is. Their inputs come only from constant Enters
// or from their own loop, without a Switch in between. At first all nodes of
// loops are assumed to be such nodes. A node with another input is removed, and
// its consumers are then checked.
class UnconditionalNodes {
 public:
  UnconditionalNodes(const Graph& graph, const FrameAnalysis& analysis,
                     const std::vector<bool>& is_everywhere)
      : analysis_(analysis),
        is_everywhere_(is_everywhere),
        is_unconditional_(graph.num_nodes(), true),
        live_inputs_(graph.num_nodes(), 0),
        consumers_(graph.num_nodes()) {
    for (const Node* node : graph.nodes()) Connect(*node);
    for (const Node* node : graph.nodes()) {
      if (DependsOnMore(*node)) Remove(*node);
    }
    while (!removed_.empty()) {
      const Node* producer = removed_.back();
      removed_.pop_back();
      for (const Consumer& consumer : consumers_[producer->id()]) {
        InputIsRemoved(consumer);
      }
    }
  }

  bool Contains(const Node& node) const { return is_unconditional_[node.id()]; }

 private:
  struct Consumer {
    const Node* node = nullptr;
    bool is_control = false;
  };

  void Connect(const Node& node) {
    for (const OutputTensor& input : node.inputs()) {
      if (input.node == nullptr || is_everywhere_[input.node->id()]) continue;
      consumers_[input.node->id()].push_back({&node, false});
      ++live_inputs_[node.id()];
    }
    for (const Node* input : node.control_inputs()) {
      if (is_everywhere_[input->id()]) continue;
      consumers_[input->id()].push_back({&node, true});
    }
  }

  bool DependsOnMore(const Node& node) const {
    if (IsEnter(node)) return !IsConstantEnter(node);
    return analysis_.runs_in[node.id()] == 0 || IsSwitch(node) ||
           IsExit(node) || node.type() == "_Recv";
  }

  void Remove(const Node& node) {
    if (!is_unconditional_[node.id()]) return;
    is_unconditional_[node.id()] = false;
    removed_.push_back(&node);
  }

  // A Merge stays as long as one of its inputs is live. A constant Enter and a
  // ControlTrigger stay in any case.
  void InputIsRemoved(const Consumer& consumer) {
    const Node& node = *consumer.node;
    if (IsConstantEnter(node) || node.type() == "ControlTrigger") return;
    if (!consumer.is_control && IsMerge(node) &&
        --live_inputs_[node.id()] > 0) {
      return;
    }
    Remove(node);
  }

  const FrameAnalysis& analysis_;
  const std::vector<bool>& is_everywhere_;
  std::vector<bool> is_unconditional_;            // by node id
  std::vector<int> live_inputs_;                  // by node id
  std::vector<std::vector<Consumer>> consumers_;  // by node id
  std::vector<const Node*> removed_;              // not propagated yet
};

absl::Status CheckLoopsCanEnd(const Graph& graph, const FrameAnalysis& analysis,
                              const std::vector<bool>& is_everywhere) {
  if (analysis.frames.size() == 1) return absl::OkStatus();
  const UnconditionalNodes unconditional(graph, analysis, is_everywhere);
  for (const Node* node : graph.nodes()) {
    if (!IsNextIteration(*node) || !unconditional.Contains(*node)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "node ", node->name(), " (", node->type(),
        ") continues in every iteration of the loop '",
        analysis.frames[analysis.runs_in[node->id()]].name,
        "', so the loop never ends: its input depends on no Switch of the "
        "loop. Use an output of a Switch as its input, or add a control input "
        "from there, as tf.while_loop (ops::WhileLoop) does"));
  }
  return absl::OkStatus();
}

}  // namespace

FrameTracker::FrameTracker() : analysis_(OutsideLoops()) {}

absl::Status FrameTracker::Add(const Node& node, bool is_everywhere) {
  is_everywhere_.push_back(is_everywhere);
  const int frame = FrameOfInputs(node);
  analysis_.runs_in.push_back(frame);
  analysis_.outputs_to.push_back(frame);
  return PlaceOutputs(node);
}

bool FrameTracker::Counts(const Node* producer) const {
  return producer != nullptr && !is_everywhere_[producer->id()];
}

// Nodes are visited in order of id, so only the producer of a back edge may not
// have been visited yet.
int FrameTracker::FrameOfInputs(const Node& node) const {
  for (const OutputTensor& input : node.inputs()) {
    if (input.node != nullptr && input.node->id() < node.id() &&
        Counts(input.node)) {
      return analysis_.outputs_to[input.node->id()];
    }
  }
  for (const Node* input : node.control_inputs()) {
    if (Counts(input)) return analysis_.outputs_to[input->id()];
  }
  return 0;
}

absl::Status FrameTracker::PlaceOutputs(const Node& node) {
  const int frame = analysis_.runs_in[node.id()];
  int& outputs_to = analysis_.outputs_to[node.id()];
  if (IsEnter(node)) {
    ASSIGN_OR_RETURN(outputs_to, ChildFrame(frame, node));
  } else if (IsExit(node)) {
    if (frame == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "node ", node.name(), " (", node.type(), ") is outside any loop"));
    }
    outputs_to = analysis_.frames[frame].parent;
  }
  return absl::OkStatus();
}

absl::StatusOr<int> FrameTracker::ChildFrame(int parent, const Node& enter) {
  const std::string* name = enter.attr<std::string>("frame_name");
  const int64_t* parallel = enter.attr<int64_t>("parallel_iterations");
  if (name == nullptr || parallel == nullptr || *parallel < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("node ", enter.name(), " (", enter.type(),
                     ") needs a frame_name and parallel_iterations >= 1"));
  }
  for (size_t i = 1; i < analysis_.frames.size(); ++i) {
    FrameAnalysis::Frame& frame = analysis_.frames[i];
    if (frame.parent == parent && frame.name == *name) {
      ++frame.num_enters;
      return static_cast<int>(i);
    }
  }
  if (NestingOf(parent, analysis_) >= kMaxNesting) {
    return absl::InvalidArgumentError(absl::StrCat(
        "node ", enter.name(), " (", enter.type(), ") begins loop '", *name,
        "' inside ", kMaxNesting, " nested loops, the maximum"));
  }
  const int bounded = static_cast<int>(std::min<int64_t>(*parallel, 1 << 20));
  analysis_.frames.push_back({*name, parent, 1, bounded});
  return static_cast<int>(analysis_.frames.size() - 1);
}

absl::Status FrameTracker::CheckInput(const Node& node,
                                      const Node* producer) const {
  if (!Counts(producer)) return absl::OkStatus();
  const int frame = analysis_.runs_in[node.id()];
  const int other = analysis_.outputs_to[producer->id()];
  if (frame == other) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "node ", node.name(), " (", node.type(),
      ") has inputs from different frames: the input ", producer->name(),
      " is in frame '", analysis_.frames[other].name, "', others are in '",
      analysis_.frames[frame].name, "'"));
}

absl::Status FrameTracker::CheckInputs(const Node& node) const {
  for (const OutputTensor& input : node.inputs()) {
    RETURN_IF_ERROR(CheckInput(node, input.node));
  }
  for (const Node* input : node.control_inputs()) {
    RETURN_IF_ERROR(CheckInput(node, input));
  }
  return absl::OkStatus();
}

absl::StatusOr<FrameAnalysis> AnalyzeFrames(
    const Graph& graph, const std::vector<bool>& is_everywhere) {
  FrameTracker tracker;
  for (const Node* node : graph.nodes()) {
    RETURN_IF_ERROR(tracker.Add(*node, is_everywhere[node->id()]));
  }
  for (const Node* node : graph.nodes()) {
    RETURN_IF_ERROR(tracker.CheckInputs(*node));
  }
  RETURN_IF_ERROR(CheckLoopsCanEnd(graph, tracker.analysis(), is_everywhere));
  return tracker.Take();
}

bool IsFreeConstant(const Node& node) {
  return node.type() == "Const" && node.control_inputs().empty();
}
bool IsConstantEnter(const Node& node) {
  const bool* is_constant = node.attr<bool>("is_constant");
  return IsEnter(node) && is_constant != nullptr && *is_constant;
}
bool IsLoopCond(const Node& node) { return node.type() == "LoopCond"; }
bool IsEnter(const Node& node) { return IsOneOf(node, "Enter", "RefEnter"); }
bool IsExit(const Node& node) { return IsOneOf(node, "Exit", "RefExit"); }
bool IsNextIteration(const Node& node) {
  return IsOneOf(node, "NextIteration", "RefNextIteration");
}
bool IsMerge(const Node& node) { return IsOneOf(node, "Merge", "RefMerge"); }
bool IsSwitch(const Node& node) { return IsOneOf(node, "Switch", "RefSwitch"); }

}  // namespace weft
