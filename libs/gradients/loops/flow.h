// Flow finds the nodes of a graph that a gradient has to pass through, and
// their order. Internal to libs/gradients.
//
// Threads: as for the graph.
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
  // Covers the nodes between the xs and the ys of the graph as it is now.
  // `stops` returns whether no gradient flows through a node.
  Flow(const Graph& graph, absl::Span<const Output> ys,
       absl::Span<const Output> xs,
       const std::function<bool(const Node&)>& stops);

  // Returns whether the output depends on an x.
  bool IsReached(const OutputTensor& output) const;
  // Returns whether the node depends on an x, and a y depends on the node.
  bool Includes(const Node& node) const {
    return node.id() < num_nodes() && reached_[node.id()] && wanted_[node.id()];
  }
  // Returns whether a y depends on the node.
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

// A part of a region: a node, or a whole loop inside the region.
struct Unit {
  const Node* node = nullptr;  // null: the loop
  int loop = 0;
};

// Returns the nodes of a region that a gradient passes through, and the loops
// directly inside it. A region is a loop, or everything outside loops;
// `is_of_region` returns whether a frame belongs to it. Users of a value come
// before its producer; otherwise the order is by descending id.
std::vector<Unit> UnitsFromLastToFirst(
    const Graph& graph, const Frames& frames, const Flow& flow,
    const std::function<bool(int frame)>& is_of_region);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_LOOPS_FLOW_H_
