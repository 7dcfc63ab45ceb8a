// Which frame each node runs in: outside loops, or in the body of which loop.
// TensorFlow's BuildControlFlowInfo. Pure functions of a graph.
#ifndef WEFT_LIBS_GRAPH_FRAME_ANALYSIS_H_
#define WEFT_LIBS_GRAPH_FRAME_ANALYSIS_H_

#include <string>
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

// `is_everywhere[id]` marks nodes whose value exists in all frames
// (constants). INVALID_ARGUMENT, with TensorFlow's text, when a node's inputs
// come from different frames.
absl::StatusOr<FrameAnalysis> AnalyzeFrames(
    const Graph& graph, const std::vector<bool>& is_everywhere);

bool IsEnter(const Node& node);
bool IsExit(const Node& node);
bool IsNextIteration(const Node& node);
bool IsMerge(const Node& node);
bool IsSwitch(const Node& node);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FRAME_ANALYSIS_H_
