#include "libs/graph/frame_analysis.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Of the first frame, which is outside loops.
FrameAnalysis OutsideLoops() {
  FrameAnalysis analysis;
  analysis.frames.emplace_back();
  return analysis;
}

bool IsOneOf(const Node& node, absl::string_view type,
             absl::string_view ref_type) {
  return node.type() == type || node.type() == ref_type;
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

// In order of id only back edges come from nodes not seen yet.
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
