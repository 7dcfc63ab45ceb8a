// Flow: through which nodes of a graph a gradient has to pass, and in which
// order. Internal to libs/gradients.
//
// Threads: as the graph's.
#ifndef WEFT_LIBS_GRADIENTS_LOOPS_FLOW_H_
#define WEFT_LIBS_GRADIENTS_LOOPS_FLOW_H_

#include <functional>
#include <vector>

#include "absl/types/span.h"
#include "libs/gradients/loops/frames.h"
#include "libs/ops/output.h"

namespace weft {

// Gradients flow along edges of these types.
bool IsTrainable(DataType type);

class Flow {
 public:
  // Between the xs and the ys of a graph as it is now. `stops` says of a node
  // that no gradient goes through it.
  Flow(const Graph& graph, absl::Span<const Output> ys,
       absl::Span<const Output> xs,
       const std::function<bool(const Node&)>& stops);

  // Whether an x flows into the output.
  bool IsReached(const OutputTensor& output) const;
  // Whether an x flows into the node, and the node into a y.
  bool Includes(const Node& node) const {
    return node.id() < num_nodes() && reached_[node.id()] && wanted_[node.id()];
  }
  // Whether the node flows into a y.
  bool IsWanted(const Node& node) const {
    return node.id() < num_nodes() && wanted_[node.id()];
  }
  int num_nodes() const { return static_cast<int>(reached_.size()); }

 private:
  bool SpreadReached();
  bool SpreadWanted(const std::function<bool(const Node&)>& stops);

  const Graph& graph_;
  std::vector<bool> reached_;  // by node id
  std::vector<bool> wanted_;   // by node id
};

// A part of a region: a node, or a whole loop inside it.
struct Unit {
  const Node* node = nullptr;  // null: the loop
  int loop = 0;
};

// The nodes of a loop, or of what lies outside loops, that a gradient passes
// through, and the loops directly inside; all that uses a value comes before
// what makes it. `is_of_region` says which frames make up the region. Where
// there is a choice, in the descending order of ids.
std::vector<Unit> UnitsFromLastToFirst(
    const Graph& graph, const Frames& frames, const Flow& flow,
    const std::function<bool(int frame)>& is_of_region);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_LOOPS_FLOW_H_
