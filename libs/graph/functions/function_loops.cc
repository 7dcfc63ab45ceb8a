#include "libs/graph/functions/function_loops.h"

#include <algorithm>

#include "libs/graph/functions/function_body.h"

namespace weft {
namespace {

bool IsEnterOp(absl::string_view op) {
  return op == "Enter" || op == "RefEnter";
}
bool IsExitOp(absl::string_view op) { return op == "Exit" || op == "RefExit"; }
bool IsSwitchOp(absl::string_view op) {
  return op == "Switch" || op == "RefSwitch";
}
bool IsNextIterationOp(absl::string_view op) {
  return op == "NextIteration" || op == "RefNextIteration";
}

absl::string_view FrameName(const FunctionNode& enter) {
  const auto it = enter.attrs.find("frame_name");
  const auto* name =
      it == enter.attrs.end() ? nullptr : it->second.Get<std::string>();
  return name == nullptr ? absl::string_view() : *name;
}

}  // namespace

FunctionLoops::FunctionLoops(const FunctionDef& function) {
  const auto has = [&function](bool (*is)(absl::string_view)) {
    return std::any_of(function.nodes.begin(), function.nodes.end(),
                       [is](const FunctionNode& node) { return is(node.op); });
  };
  if (!has(IsEnterOp)) {
    has_branches_ = has(IsSwitchOp);
    return;
  }
  for (const FunctionNode& node : function.nodes) Add(node);
}

// Returns the frame of the node's inputs. Arguments are outside of loops. The
// input that closes a loop was not visited yet when its Merge is, so it is also
// taken to be outside.
int FunctionLoops::FrameOfInputs(const FunctionNode& node) const {
  int frame = 0;
  for (const std::string& input : node.inputs) {
    const auto from = places_.find(NodeOfInput(input));
    if (from == places_.end()) continue;
    const int outputs_to = from->second.outputs_to;
    if (frames_[outputs_to].depth > frames_[frame].depth) frame = outputs_to;
  }
  return frame;
}

// Returns whether the Switch belongs to a loop: its second input is a LoopCond.
bool FunctionLoops::IsOfLoop(const FunctionNode& switch_node) const {
  return switch_node.inputs.size() > 1 &&
         loop_conds_.contains(NodeOfInput(switch_node.inputs[1]));
}

void FunctionLoops::Add(const FunctionNode& node) {
  Place place;
  const int frame = FrameOfInputs(node);
  place.runs_in = frame;
  place.outputs_to = frame;
  if (IsEnterOp(node.op)) {
    place.is_enter = true;
    place.outputs_to = ChildFrame(frame, FrameName(node));
  } else if (IsExitOp(node.op) && frame > 0) {
    place.outputs_to = frames_[frame].parent;
    frames_[frame].exits.push_back(node.name);
  } else if (IsNextIterationOp(node.op) && frame > 0) {
    frames_[frame].next_iterations.push_back(node.name);
  } else if (node.op == "Const" && node.inputs.empty()) {
    free_constants_.insert(node.name);
  } else if (node.op == "LoopCond") {
    loop_conds_.insert(node.name);
  } else if (IsSwitchOp(node.op) && !IsOfLoop(node)) {
    (frame == 0 ? has_branches_ : has_branches_in_loops_) = true;
  }
  if (frame > 0) {
    for (const std::string& input : node.inputs) {
      const absl::string_view from = NodeOfInput(input);
      if (free_constants_.contains(from)) constants_of_loops_.insert(from);
    }
  }
  places_.emplace(node.name, place);
}

int FunctionLoops::ChildFrame(int parent, absl::string_view name) {
  const int next = static_cast<int>(frames_.size());
  const auto [child, is_new] = children_.try_emplace({parent, name}, next);
  if (is_new) {
    const Frame& outer = frames_[parent];
    frames_.push_back({.name = name,
                       .parent = parent,
                       .depth = outer.depth + 1,
                       .outermost = parent == 0 ? next : outer.outermost,
                       .exits = {},
                       .next_iterations = {}});
  }
  return child->second;
}

int FunctionLoops::FrameOf(absl::string_view node) const {
  const auto it = places_.find(node);
  return it == places_.end() ? 0 : it->second.runs_in;
}

bool FunctionLoops::IsOuterEnter(absl::string_view node) const {
  const auto it = places_.find(node);
  return it != places_.end() && it->second.is_enter && it->second.runs_in == 0;
}

const std::vector<std::string>& FunctionLoops::ExitsAround(
    absl::string_view node) const {
  const int outermost = frames_[FrameOf(node)].outermost;
  return frames_[outermost].exits;  // empty outside loops
}

}  // namespace weft
