// FunctionLoops: which nodes of a function run in loops of frames that it has
// itself. What runs when the function is called waits for the call outside of
// them: inside, all that runs comes from their Enters. Internal to this room.
//
// Immutable.
#ifndef WEFT_LIBS_GRAPH_FUNCTION_LOOPS_H_
#define WEFT_LIBS_GRAPH_FUNCTION_LOOPS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/base/hash_tables.h"
#include "libs/graph/function_library.h"

namespace weft {

class FunctionLoops {
 public:
  // A loop, or what lies outside of all.
  struct Frame {
    absl::string_view name;
    int parent = -1;
    int depth = 0;      // of what lies outside
    int outermost = 0;  // the loop around it that lies in no other
    // Names of nodes.
    std::vector<std::string> exits;
    std::vector<std::string> next_iterations;
  };

  // `function` outlives it.
  explicit FunctionLoops(const FunctionDef& function);

  // 0 is outside loops; a loop comes after the one that it lies in.
  const std::vector<Frame>& frames() const { return frames_; }
  // The frame that it runs in; 0 for what the function does not have.
  int FrameOf(absl::string_view node) const;
  bool IsInside(absl::string_view node) const { return FrameOf(node) > 0; }
  // Whether a Switch lies outside of loops, so that what comes of it may be
  // dead.
  bool has_branches() const { return has_branches_; }
  // The same of a Switch inside a loop that is not one of the loop itself.
  bool has_branches_in_loops() const { return has_branches_in_loops_; }
  // Whether it is a constant without control inputs, which exists in all
  // frames, and a node inside a loop takes it.
  bool IsConstantOfLoop(absl::string_view node) const {
    return constants_of_loops_.contains(node);
  }
  // An Enter of a loop that lies in no other.
  bool IsOuterEnter(absl::string_view node) const;
  // The Exits of the outermost loop that `node` is inside.
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

#endif  // WEFT_LIBS_GRAPH_FUNCTION_LOOPS_H_
