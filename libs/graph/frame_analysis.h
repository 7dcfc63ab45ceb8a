// AnalyzeFrames finds the frame of each node: outside loops, or the body of a
// loop. It corresponds to TensorFlow's BuildControlFlowInfo. The functions are
// pure and only read the graph.
#ifndef WEFT_LIBS_GRAPH_FRAME_ANALYSIS_H_
#define WEFT_LIBS_GRAPH_FRAME_ANALYSIS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/graph/graph.h"

namespace weft {

struct FrameAnalysis {
  struct Frame {
    std::string name;
    int parent = -1;
    int num_enters = 0;
    int parallel_iterations = 1;
  };
  std::vector<Frame> frames;    // 0 is outside loops
  std::vector<int> runs_in;     // by node id
  std::vector<int> outputs_to;  // by node id; differs at Enter and Exit
};

// FrameTracker determines the frame of each node while a graph grows, from the
// frames of the earlier nodes.
class FrameTracker {
 public:
  FrameTracker();

  // Determines the frame of `node`. Must be called for each node, in the order
  // of ids. `is_everywhere` states that the node's value exists in all frames.
  // Returns INVALID_ARGUMENT as AnalyzeFrames does, but does not check whether
  // the inputs come from different frames.
  absl::Status Add(const Node& node, bool is_everywhere);
  int num_nodes() const { return static_cast<int>(analysis_.runs_in.size()); }
  const FrameAnalysis& analysis() const { return analysis_; }
  FrameAnalysis Take() { return std::move(analysis_); }

  // Returns INVALID_ARGUMENT, with TensorFlow's text, if inputs of an added
  // node come from different frames.
  absl::Status CheckInputs(const Node& node) const;

 private:
  int FrameOfInputs(const Node& node) const;
  absl::Status PlaceOutputs(const Node& node);
  absl::StatusOr<int> ChildFrame(int parent, const Node& enter);
  absl::Status CheckInput(const Node& node, const Node* producer) const;
  bool Counts(const Node* producer) const;

  std::vector<bool> is_everywhere_;  // by node id
  FrameAnalysis analysis_;
};

// Determines the frame of each node. `is_everywhere[id]` marks nodes whose
// value exists in all frames (constants). Returns INVALID_ARGUMENT, with
// TensorFlow's text, if a node's inputs come from different frames. Also
// returns INVALID_ARGUMENT, naming the node, if a NextIteration depends on no
// Switch of its loop: it would start another iteration each time, and the loop
// would never end. TensorFlow runs such a loop forever.
absl::StatusOr<FrameAnalysis> AnalyzeFrames(
    const Graph& graph, const std::vector<bool>& is_everywhere);

// Returns whether the node is a constant without control inputs. The value of
// such a constant exists in all frames.
bool IsFreeConstant(const Node& node);
// Returns whether the node is an Enter whose value goes to every iteration.
bool IsConstantEnter(const Node& node);
bool IsLoopCond(const Node& node);
bool IsEnter(const Node& node);
bool IsExit(const Node& node);
bool IsNextIteration(const Node& node);
bool IsMerge(const Node& node);
bool IsSwitch(const Node& node);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FRAME_ANALYSIS_H_
