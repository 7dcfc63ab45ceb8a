#include "libs/gradients/loops/flow.h"

#include <algorithm>
#include <queue>
#include <utility>

#include "absl/algorithm/container.h"

namespace weft {
namespace {

bool IsBackEdge(const Node& from, const Node& to) {
  return IsNextIteration(from) && IsMerge(to);
}

// Computes the order. Parts have numbers: a node's number is its id, and the
// numbers of loops follow.
class Order {
 public:
  Order(const Graph& graph, const Frames& frames, const Flow& flow,
        const std::function<bool(int frame)>& is_of_region)
      : graph_(graph),
        frames_(frames),
        flow_(flow),
        is_of_region_(is_of_region),
        parts_(flow.num_nodes() + frames.num_frames()) {}

  std::vector<Unit> Run() {
    for (int id = 0; id < flow_.num_nodes(); ++id) Add(*graph_.node(id));
    std::vector<Unit> order;
    std::priority_queue<std::pair<int, int>> ready;  // highest id, unit
    for (size_t unit = 0; unit < parts_.size(); ++unit) {
      if (parts_[unit].last >= 0 && parts_[unit].uses == 0) {
        ready.emplace(parts_[unit].last, static_cast<int>(unit));
      }
    }
    while (!ready.empty()) {
      const int unit = ready.top().second;
      ready.pop();
      order.push_back(UnitOf(unit));
      for (int maker : parts_[unit].makers) {
        if (--parts_[maker].uses == 0) ready.emplace(parts_[maker].last, maker);
      }
    }
    return order;
  }

 private:
  struct Part {
    int last = -1;            // the highest id of its nodes; -1: none
    int uses = 0;             // edges from it to other parts
    std::vector<int> makers;  // the source of each of its in-edges
  };

  // -1 for nodes outside the region.
  int NumberOf(const Node& node) const {
    int frame = frames_.LoopOf(node);
    if (is_of_region_(frame)) return node.id();
    while (frame != 0) {
      const int parent = frames_.Parent(frame);
      if (is_of_region_(parent)) return flow_.num_nodes() + frame;
      frame = parent;
    }
    return -1;
  }

  void Add(const Node& node) {
    if (!flow_.Includes(node)) return;
    const int unit = NumberOf(node);
    if (unit < 0) return;
    parts_[unit].last = node.id();
    for (const OutputTensor& input : node.inputs()) {
      if (input.node == nullptr || !flow_.Includes(*input.node)) continue;
      const int maker = NumberOf(*input.node);
      if (maker < 0 || maker == unit || IsBackEdge(*input.node, node)) continue;
      ++parts_[maker].uses;
      parts_[unit].makers.push_back(maker);
    }
  }

  Unit UnitOf(int unit) const {
    if (unit < flow_.num_nodes()) return {graph_.node(unit), 0};
    return {nullptr, unit - flow_.num_nodes()};
  }

  const Graph& graph_;
  const Frames& frames_;
  const Flow& flow_;
  const std::function<bool(int frame)>& is_of_region_;
  std::vector<Part> parts_;
};

}  // namespace

bool IsTrainable(DataType type) {
  type = RemoveRefType(type);
  return IsFloatingType(type) || IsComplexType(type) || type == DT_RESOURCE ||
         type == DT_VARIANT;
}

Flow::Flow(const Graph& graph, absl::Span<const Output> ys,
           absl::Span<const Output> xs,
           const std::function<bool(const Node&)>& stops)
    : graph_(graph),
      reached_(graph.num_nodes(), false),
      wanted_(graph.num_nodes(), false) {
  for (const Output& x : xs) reached_[x.node()->id()] = true;
  for (const Output& y : ys) wanted_[y.node()->id()] = true;
  // Repeated for each back edge that reaches new nodes.
  while (SpreadReached()) {
  }
  while (SpreadWanted(stops)) {
  }
}

bool Flow::IsReached(const OutputTensor& output) const {
  return output.node->id() < num_nodes() && reached_[output.node->id()] &&
         IsTrainable(output.node->output_type(output.index));
}

// Returns whether a back edge reaches an already visited node.
bool Flow::SpreadReached() {
  for (int id = 0; id < num_nodes(); ++id) {
    const Node& node = *graph_.node(id);
    for (const OutputTensor& input : node.inputs()) {
      if (input.node != nullptr && IsReached(input)) reached_[id] = true;
    }
  }
  for (int id = 0; id < num_nodes(); ++id) {
    if (reached_[id] || !IsLoopMerge(*graph_.node(id))) continue;
    for (const OutputTensor& input : graph_.node(id)->inputs()) {
      if (input.node != nullptr && IsReached(input)) return true;
    }
  }
  return false;
}

// Returns whether an already visited node is needed by a back edge.
bool Flow::SpreadWanted(const std::function<bool(const Node&)>& stops) {
  bool again = false;
  for (int id = num_nodes() - 1; id >= 0; --id) {
    const Node& node = *graph_.node(id);
    if (!wanted_[id] || stops(node)) continue;
    for (const OutputTensor& input : node.inputs()) {
      if (input.node == nullptr || input.node->id() >= num_nodes() ||
          !IsTrainable(input.node->output_type(input.index)) ||
          wanted_[input.node->id()]) {
        continue;
      }
      wanted_[input.node->id()] = true;
      again = again || input.node->id() > id;
    }
  }
  return again;
}

std::vector<Unit> UnitsFromLastToFirst(
    const Graph& graph, const Frames& frames, const Flow& flow,
    const std::function<bool(int frame)>& is_of_region) {
  return Order(graph, frames, flow, is_of_region).Run();
}

}  // namespace weft
