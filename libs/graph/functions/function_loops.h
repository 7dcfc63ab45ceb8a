// FunctionLoops finds the nodes of a function that run inside the function's
// own loops. When the function is called, only its nodes outside of loops have
// to wait for the call. The nodes inside run after the loops' Enters. Internal
// to this module.
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
    int depth = 0;      // 0: the frame outside of loops
    int outermost = 0;  // index of the outermost loop
    // The names of the loop's Exit and NextIteration nodes.
    std::vector<std::string> exits;
    std::vector<std::string> next_iterations;
  };

  // `function` must outlive this object.
  explicit FunctionLoops(const FunctionDef& function);

  // Returns the frames. Index 0 is the part outside of loops. A loop comes
  // after the loop that contains it.
  const std::vector<Frame>& frames() const { return frames_; }
  // Returns the index of the frame in which the node runs; 0 for names that are
  // not nodes of the function.
  int FrameOf(absl::string_view node) const;
  bool IsInside(absl::string_view node) const { return FrameOf(node) > 0; }
  // Returns whether there is a Switch outside of loops. Its consumers may be
  // dead.
  bool has_branches() const { return has_branches_; }
  // Returns whether there is a Switch inside a loop for a branch, and not for
  // the loop's own condition.
  bool has_branches_in_loops() const { return has_branches_in_loops_; }
  // Returns whether the node is a constant without control inputs that a node
  // inside a loop consumes. Such a constant exists in all frames.
  bool IsConstantOfLoop(absl::string_view node) const {
    return constants_of_loops_.contains(node);
  }
  // Returns whether the node is an Enter of an outermost loop.
  bool IsOuterEnter(absl::string_view node) const;
  // Returns the names of the Exits of the outermost loop around `node`.
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
  FlatHashMap<absl::string_view, Place> places_;  // empty without loops
  FlatHashSet<absl::string_view> loop_conds_;
  FlatHashSet<absl::string_view> free_constants_;
  FlatHashSet<absl::string_view> constants_of_loops_;
  bool has_branches_ = false;
  bool has_branches_in_loops_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTIONS_FUNCTION_LOOPS_H_
