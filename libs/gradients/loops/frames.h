// Frames describes the loops and branches of a graph, derived from its nodes
// alone. It works for graphs of TensorFlow as well as for graphs built here.
// Internal to libs/gradients.
//
// It follows a graph that is being extended. Threads: as for the graph.
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

// The fact that a Switch took one of its branches: 0 false, 1 true.
struct Branch {
  OutputTensor pred;  // without Identities
  int taken = 0;
  friend bool operator==(const Branch&, const Branch&) = default;
};
// The branches that must all have been taken for a node to run, ordered by
// pred.
using Conditions = std::vector<Branch>;

struct LoopVariable {
  const Node* enter = nullptr;
  const Node* merge = nullptr;
  const Node* next_iteration = nullptr;
  const Node* to_body = nullptr;   // the Switch by the loop's condition
  std::vector<const Node*> exits;  // often one; none if unused
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

  // Analyzes the nodes added since the last call. Returns INVALID_ARGUMENT,
  // naming the node, for a malformed loop.
  absl::Status Update();

  // REQUIRES for the remaining methods: Update was called since the node was
  // added.
  int RunsIn(const Node& node) const { return analysis().runs_in[node.id()]; }
  int OutputsTo(const Node& node) const {
    return analysis().outputs_to[node.id()];
  }
  // The loop that an Enter, an Exit or a node inside a loop belongs to.
  int LoopOf(const Node& node) const {
    return IsEnter(node) ? OutputsTo(node) : RunsIn(node);
  }
  int num_frames() const { return static_cast<int>(analysis().frames.size()); }
  int Parent(int frame) const { return analysis().frames[frame].parent; }
  const std::string& Name(int frame) const {
    return analysis().frames[frame].name;
  }
  // Returns whether `frame` is `ancestor` or inside it.
  bool IsWithin(int frame, int ancestor) const;

  // The conditions under which the output has a value, in iterations of its
  // frame that run the body; nullopt if they are not a conjunction of branches.
  std::optional<Conditions> ConditionsOf(const OutputTensor& output) const;
  // The conditions under which the loop is entered, in iterations of the outer
  // frame.
  const std::optional<Conditions>& ConditionsOfLoop(int frame) const {
    return loop_conditions_[frame];
  }

  // Returns INVALID_ARGUMENT or UNIMPLEMENTED, naming the node, for a loop that
  // does not have TensorFlow's form.
  absl::StatusOr<LoopParts> PartsOf(int frame) const;

  absl::Status CheckInputs(const Node& node) const {
    return tracker_.CheckInputs(node);
  }

 private:
  const FrameAnalysis& analysis() const { return tracker_.analysis(); }
  std::optional<Conditions> ConditionsToRun(const Node& node) const;
  std::optional<Conditions> WhenMergeRuns(const Node& merge) const;
  std::optional<Conditions> ConditionsOfNode(const Node& node) const;
  absl::Status AddToParts(const Node& node, LoopParts& parts) const;
  static absl::Status AddExit(const Node& exit, LoopParts& parts);

  const Graph& graph_;
  FrameTracker tracker_;
  std::vector<std::optional<Conditions>> runs_;  // by node id
  std::vector<std::optional<Conditions>> loop_conditions_ = {Conditions()};
};

// Follows Identities back to the output that they forward.
OutputTensor WithoutIdentities(OutputTensor output);
// Returns whether the node is a Switch between the body of a loop and its exit.
bool IsLoopSwitch(const Node& node);
// Returns whether the node is the Merge at the head of a loop.
bool IsLoopMerge(const Node& node);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_LOOPS_FRAMES_H_
