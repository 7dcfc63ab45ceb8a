// FunctionLoops finds the nodes of a function that run in the function's own
// loops. Nodes outside of them wait for the call when the function is called:
// inside, everything is triggered by the Enters. Internal to this module.
//
// Immutable.
#ifndef WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_LOOPS_H_
#define WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_LOOPS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/function_library.h"

namespace weft {

class FunctionLoops {
 public:
  // A loop, or the part outside of all loops.
  struct Frame {
    absl::string_view name;
    int parent = -1;
    int depth = 0;      // of the part outside
    int outermost = 0;  // the outermost loop around it
    // Names of nodes.
    std::vector<std::string> exits;
    std::vector<std::string> next_iterations;
  };

  // `function` must outlive it.
  explicit FunctionLoops(const FunctionDef& function);

  // 0 is outside loops; a loop comes after the one that contains it.
  const std::vector<Frame>& frames() const { return frames_; }
  // The frame that it runs in; 0 for nodes outside of the function.
  int FrameOf(absl::string_view node) const;
  bool IsInside(absl::string_view node) const { return FrameOf(node) > 0; }
  // Whether there is a Switch outside of loops, so that its consumers may be
  // dead.
  bool has_branches() const { return has_branches_; }
  // The same for a Switch inside a loop that does not belong to the loop
  // itself.
  bool has_branches_in_loops() const { return has_branches_in_loops_; }
  // Whether it is a constant without control inputs, which exists in all
  // frames, and a node inside a loop consumes it.
  bool IsConstantOfLoop(absl::string_view node) const {
    return constants_of_loops_.contains(node);
  }
  // An Enter of an outermost loop.
  bool IsOuterEnter(absl::string_view node) const;
  // The Exits of the outermost loop around `node`.
  const std::vector<std::string>& ExitsAround(absl::string_view node) const;

 private:
  struct Place {
    bool is_enter = false;
    int runs_in = 0;
    int outputs_to = 0;  // differs at Enter and Exit
  };
  int ChildFrame(int parent, absl::string_view name);
  int FrameOfInputs(const FunctionNode& node) const;
  bool IsOfLoop(const FunctionNode& switch_node) const;
  void Add(const FunctionNode& node);

  std::vector<Frame> frames_ = {Frame()};
  FlatHashMap<std::pair<int, absl::string_view>, int> children_;
  FlatHashMap<absl::string_view, Place> places_;  // empty: no loops
  FlatHashSet<absl::string_view> loop_conds_;
  FlatHashSet<absl::string_view> free_constants_;
  FlatHashSet<absl::string_view> constants_of_loops_;
  bool has_branches_ = false;
  bool has_branches_in_loops_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_LOOPS_H_
