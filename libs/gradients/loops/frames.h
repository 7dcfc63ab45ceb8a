// Frames: what a graph's loops and branches are, read from its nodes alone, so
// that it holds for graphs of TensorFlow as for those built here. Internal to
// libs/gradients.
//
// Follows a graph that grows. Threads: as the graph's.
#ifndef WEFT_LIBS_GRADIENTS_LOOPS_FRAMES_H_
#define WEFT_LIBS_GRADIENTS_LOOPS_FRAMES_H_

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/graph/frame_analysis.h"
#include "libs/graph/graph.h"

namespace weft {

// That a Switch went this way: 0 false, 1 true.
struct Branch {
  OutputTensor pred;  // without Identities
  int taken = 0;
  friend bool operator==(const Branch&, const Branch&) = default;
};
// Of a node that runs only if all of these were taken; in order of pred.
using Conditions = std::vector<Branch>;

struct LoopVariable {
  const Node* enter = nullptr;
  const Node* merge = nullptr;
  const Node* next_iteration = nullptr;
  const Node* to_body = nullptr;   // the Switch by the loop's condition
  std::vector<const Node*> exits;  // often one, none when nobody asks
};

struct LoopParts {
  int frame = 0;
  std::string name;
  int parallel_iterations = 1;
  const Node* loop_cond = nullptr;
  std::vector<LoopVariable> variables;
  std::vector<const Node*> invariants;  // constant Enters
};

class Frames {
 public:
  explicit Frames(const Graph& graph) : graph_(graph) {}

  // Looks at the nodes that were added since. INVALID_ARGUMENT, naming the
  // node, for a loop that is none.
  absl::Status Update();

  // REQUIRES for the rest: Update since the node was added.
  int RunsIn(const Node& node) const { return analysis().runs_in[node.id()]; }
  int OutputsTo(const Node& node) const {
    return analysis().outputs_to[node.id()];
  }
  // The loop that an Enter, an Exit or a node inside is a part of.
  int LoopOf(const Node& node) const {
    return IsEnter(node) ? OutputsTo(node) : RunsIn(node);
  }
  int num_frames() const { return static_cast<int>(analysis().frames.size()); }
  int Parent(int frame) const { return analysis().frames[frame].parent; }
  const std::string& Name(int frame) const {
    return analysis().frames[frame].name;
  }
  // Whether `frame` is `ancestor` or inside it.
  bool IsWithin(int frame, int ancestor) const;

  // When, in the iterations of its frame in which the body runs, the output
  // has a value; nullopt where that is no conjunction of branches.
  std::optional<Conditions> ConditionsOf(const OutputTensor& output) const;
  // When, in iterations of the frame outside, the loop is entered.
  const std::optional<Conditions>& ConditionsOfLoop(int frame) const {
    return loop_conditions_[frame];
  }

  // INVALID_ARGUMENT or UNIMPLEMENTED, naming the node, for a loop that has
  // not TensorFlow's form.
  absl::StatusOr<LoopParts> PartsOf(int frame) const;

  absl::Status CheckInputs(const Node& node) const {
    return tracker_.CheckInputs(node);
  }

 private:
  const FrameAnalysis& analysis() const { return tracker_.analysis(); }
  std::optional<Conditions> WhenItRuns(const Node& node) const;
  std::optional<Conditions> WhenMergeRuns(const Node& merge) const;
  std::optional<Conditions> ConditionsOfNode(const Node& node) const;
  absl::Status AddToParts(const Node& node, LoopParts& parts) const;
  static absl::Status AddExit(const Node& exit, LoopParts& parts);

  const Graph& graph_;
  FrameTracker tracker_;
  std::vector<std::optional<Conditions>> runs_;  // by node id
  std::vector<std::optional<Conditions>> loop_conditions_ = {Conditions()};
};

// What `output` is but for Identities.
OutputTensor WithoutIdentities(OutputTensor output);
// Whether it is a Switch between the body of a loop and its end.
bool IsLoopSwitch(const Node& node);
// Whether it is the Merge at the head of a loop.
bool IsLoopMerge(const Node& node);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_LOOPS_FRAMES_H_
