#include "libs/graph/frame_analysis.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

class Analyzer {
 public:
  Analyzer(const Graph& graph, const std::vector<bool>& is_everywhere)
      : graph_(graph), is_everywhere_(is_everywhere) {
    result_.frames.emplace_back();
    result_.runs_in.assign(graph.num_nodes(), 0);
    result_.outputs_to.assign(graph.num_nodes(), 0);
  }

  absl::StatusOr<FrameAnalysis> Run() {
    // In order of id only back edges come from nodes not seen yet.
    for (const Node* node : graph_.nodes()) {
      RETURN_IF_ERROR(Place(*node));
      RETURN_IF_ERROR(PlaceOutputs(*node));
    }
    for (const Node* node : graph_.nodes()) RETURN_IF_ERROR(CheckInputs(*node));
    return std::move(result_);
  }

 private:
  bool Counts(const Node* producer) const {
    return producer != nullptr && !is_everywhere_[producer->id()];
  }

  absl::Status Place(const Node& node) {
    for (const OutputTensor& input : node.inputs()) {
      if (Counts(input.node) && input.node->id() < node.id()) {
        result_.runs_in[node.id()] = result_.outputs_to[input.node->id()];
        return absl::OkStatus();
      }
    }
    for (const Node* input : node.control_inputs()) {
      if (Counts(input)) {
        result_.runs_in[node.id()] = result_.outputs_to[input->id()];
        return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

  absl::Status PlaceOutputs(const Node& node) {
    const int frame = result_.runs_in[node.id()];
    int& outputs_to = result_.outputs_to[node.id()];
    outputs_to = frame;
    if (IsEnter(node)) {
      ASSIGN_OR_RETURN(outputs_to, ChildFrame(frame, node));
    } else if (IsExit(node)) {
      if (frame == 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "node ", node.name(), " (", node.type(), ") is outside any loop"));
      }
      outputs_to = result_.frames[frame].parent;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int> ChildFrame(int parent, const Node& enter) {
    const std::string* name = enter.attr<std::string>("frame_name");
    const int64_t* parallel = enter.attr<int64_t>("parallel_iterations");
    if (name == nullptr || parallel == nullptr || *parallel < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("node ", enter.name(), " (", enter.type(),
                       ") needs a frame_name and parallel_iterations >= 1"));
    }
    for (size_t i = 1; i < result_.frames.size(); ++i) {
      FrameAnalysis::Frame& frame = result_.frames[i];
      if (frame.parent == parent && frame.name == *name) {
        ++frame.num_enters;
        return static_cast<int>(i);
      }
    }
    const int bounded = static_cast<int>(std::min<int64_t>(*parallel, 1 << 20));
    result_.frames.push_back({*name, parent, 1, bounded});
    return static_cast<int>(result_.frames.size() - 1);
  }

  absl::Status CheckInput(const Node& node, const Node* producer) const {
    if (!Counts(producer)) return absl::OkStatus();
    const int frame = result_.runs_in[node.id()];
    const int other = result_.outputs_to[producer->id()];
    if (frame == other) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "node ", node.name(), " (", node.type(),
        ") has inputs from different frames: the input ", producer->name(),
        " is in frame '", result_.frames[other].name, "', others are in '",
        result_.frames[frame].name, "'"));
  }

  absl::Status CheckInputs(const Node& node) const {
    for (const OutputTensor& input : node.inputs()) {
      RETURN_IF_ERROR(CheckInput(node, input.node));
    }
    for (const Node* input : node.control_inputs()) {
      RETURN_IF_ERROR(CheckInput(node, input));
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const std::vector<bool>& is_everywhere_;
  FrameAnalysis result_;
};

bool IsOneOf(const Node& node, absl::string_view type,
             absl::string_view ref_type) {
  return node.type() == type || node.type() == ref_type;
}

}  // namespace

absl::StatusOr<FrameAnalysis> AnalyzeFrames(
    const Graph& graph, const std::vector<bool>& is_everywhere) {
  return Analyzer(graph, is_everywhere).Run();
}

bool IsEnter(const Node& node) { return IsOneOf(node, "Enter", "RefEnter"); }
bool IsExit(const Node& node) { return IsOneOf(node, "Exit", "RefExit"); }
bool IsNextIteration(const Node& node) {
  return IsOneOf(node, "NextIteration", "RefNextIteration");
}
bool IsMerge(const Node& node) { return IsOneOf(node, "Merge", "RefMerge"); }
bool IsSwitch(const Node& node) { return IsOneOf(node, "Switch", "RefSwitch"); }

}  // namespace weft
