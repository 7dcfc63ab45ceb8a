#include "libs/partition/loop_structure.h"

#include <utility>

#include "libs/base/status.h"

namespace weft {
namespace {

constexpr int kNone = LoopStructure::kNone;

bool IsConstant(const Node& node) {
  return node.type() == "Const" && node.control_inputs().empty();
}

// Returns the outer one of two frames. Both contain the same node, so one of
// them encloses the other.
int Outermost(int a, int b) {
  if (a == kNone || b == kNone) return a == kNone ? b : a;
  return a < b ? a : b;
}

// Returns silent_in of a Merge, as far as it follows from the inputs. A Merge
// in a loop has one input in its first iteration and another one later, so it
// is silent in its own frame only if all of its inputs are.
int SilenceOfMergeInputs(const Node& merge, const LoopStructure& loops) {
  const int frame = loops.InputFrame(merge);
  int enclosing = kNone;
  bool all_in_frame = true;
  for (const OutputTensor& input : merge.inputs()) {
    // An input from a later node is the back edge of a loop.
    const bool seen = input.node->id() < merge.id();
    const int silent = seen ? loops.silent_in[input.node->id()] : kNone;
    if (silent == frame) continue;
    all_in_frame = false;
    enclosing = Outermost(enclosing, silent);
  }
  return all_in_frame ? frame : enclosing;
}

int SilenceOfInputs(const Node& node, const LoopStructure& loops) {
  int silent = kNone;
  if (IsMerge(node)) {
    silent = SilenceOfMergeInputs(node, loops);
  } else {
    for (const OutputTensor& input : node.inputs()) {
      silent = Outermost(silent, loops.silent_in[input.node->id()]);
    }
  }
  for (const Node* control : node.control_inputs()) {
    silent = Outermost(silent, loops.silent_in[control->id()]);
  }
  return silent;
}

int SilentIn(const Node& node, const LoopStructure& loops) {
  const int frame = loops.InputFrame(node);
  const int silent = SilenceOfInputs(node, loops);
  if (IsNextIteration(node)) return Outermost(silent, frame);
  if (IsEnter(node) && !IsConstantEnter(node)) {
    return Outermost(silent, loops.OutputFrame(node));
  }
  // An Exit has one value for all iterations of its frame.
  if (IsExit(node) && silent == frame) return kNone;
  return silent;
}

}  // namespace

absl::StatusOr<LoopStructure> AnalyzeLoops(const Graph& graph) {
  LoopStructure loops;
  for (const Node* node : graph.nodes()) {
    loops.is_constant.push_back(IsConstant(*node));
  }
  ASSIGN_OR_RETURN(loops.analysis, AnalyzeFrames(graph, loops.is_constant));
  loops.conditions.resize(loops.analysis.frames.size());
  loops.silent_in.assign(graph.num_nodes(), kNone);
  if (!loops.has_loops()) return loops;
  for (const Node* node : graph.nodes()) {
    loops.silent_in[node->id()] = SilentIn(*node, loops);
    if (IsLoopCond(*node)) {
      loops.conditions[loops.InputFrame(*node)].push_back(node);
    }
  }
  return loops;
}

}  // namespace weft
