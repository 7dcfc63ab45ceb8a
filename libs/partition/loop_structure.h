// LoopStructure describes a graph's loops for partitioning by device. Internal
// to this module. A value.
#ifndef WEFT_LIBS_PARTITION_LOOP_STRUCTURE_H_
#define WEFT_LIBS_PARTITION_LOOP_STRUCTURE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "libs/graph/frame_analysis.h"
#include "libs/graph/graph.h"

namespace weft {

struct LoopStructure {
  // Frame 0 is outside loops; the parent of each frame has a lower number.
  FrameAnalysis analysis;
  // Whether each node, by id, is a constant without control inputs. The
  // executor makes such a constant available in all frames.
  std::vector<bool> is_constant;
  // For each node, by id: the outermost frame that has iterations in which the
  // node produces no value, not even a dead one; kNone if there is no such
  // frame. An Enter produces a value only in iteration 0, a NextIteration in
  // all others.
  std::vector<int> silent_in;
  // The LoopCond nodes of each frame. A well-formed loop has exactly one.
  std::vector<std::vector<const Node*>> conditions;

  static constexpr int kNone = -1;

  bool has_loops() const { return analysis.frames.size() > 1; }
  // InputFrame returns the frame in which a node takes its inputs, OutputFrame
  // the frame of its outputs.
  int InputFrame(const Node& node) const { return analysis.runs_in[node.id()]; }
  int OutputFrame(const Node& node) const {
    return is_constant[node.id()] ? 0 : analysis.outputs_to[node.id()];
  }
};

// Returns INVALID_ARGUMENT if a node's inputs come from different frames.
absl::StatusOr<LoopStructure> AnalyzeLoops(const Graph& graph);

}  // namespace weft

#endif  // WEFT_LIBS_PARTITION_LOOP_STRUCTURE_H_
