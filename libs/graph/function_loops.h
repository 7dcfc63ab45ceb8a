// FunctionLoops: which nodes of a function run in loops of frames that it has
// itself. What runs when the function is called waits for the call outside of
// them: inside, all that runs comes from their Enters. Internal to this room.
//
// Immutable.
#ifndef WEFT_LIBS_GRAPH_FUNCTION_LOOPS_H_
#define WEFT_LIBS_GRAPH_FUNCTION_LOOPS_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "libs/graph/function_library.h"

namespace weft {

class FunctionLoops {
 public:
  // `function` outlives it.
  explicit FunctionLoops(const FunctionDef& function);

  bool IsInside(absl::string_view node) const { return Depth(node) > 0; }
  // Whether it is a constant without control inputs, which exists in all
  // frames, and a node inside a loop takes it.
  bool IsConstantOfLoop(absl::string_view node) const {
    return constants_of_loops_.contains(node);
  }
  // An Enter of a loop that lies in no other.
  bool IsOuterEnter(absl::string_view node) const;
  // The Exits of the outermost loop that `node` is inside.
  const std::vector<std::string>& ExitsAround(absl::string_view node) const;
  // Whether an Exit comes of what it does.
  bool LeadsToAnExit(absl::string_view node) const {
    return leads_to_exits_.contains(node);
  }

 private:
  struct Place {
    bool is_enter = false;
    int depth = 0;            // how many loops it is in
    absl::string_view outer;  // the frame name of the outermost
    int outputs_depth = 0;    // that of what takes its outputs
  };
  int Depth(absl::string_view node) const;
  void Add(const FunctionNode& node);
  // From each Exit back, around the loops.
  void FindWhatLeadsToExits(const FunctionDef& function);

  absl::flat_hash_map<absl::string_view, Place> places_;  // empty: no loops
  absl::flat_hash_set<absl::string_view> free_constants_;
  absl::flat_hash_set<absl::string_view> constants_of_loops_;
  absl::flat_hash_set<absl::string_view> leads_to_exits_;
  // By the outermost loop's frame name.
  absl::flat_hash_map<absl::string_view, std::vector<std::string>> exits_;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_FUNCTION_LOOPS_H_
