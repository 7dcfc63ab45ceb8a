// ProducersFirst orders nodes, which are given by number, so that each node
// comes after its producers. Internal to this module.
#ifndef WEFT_LIBS_GRAPH_PRODUCERS_FIRST_H_
#define WEFT_LIBS_GRAPH_PRODUCERS_FIRST_H_

#include <cstddef>
#include <functional>
#include <queue>
#include <vector>

namespace weft {

class ProducersFirst {
 public:
  explicit ProducersFirst(size_t num_nodes)
      : waiting_(num_nodes), consumers_(num_nodes) {}

  void AddEdge(int producer, int consumer) {
    ++waiting_[consumer];
    consumers_[producer].push_back(consumer);
  }

  // Returns the nodes in order. Among nodes that are ready, the lowest number
  // comes first, so nodes that are in order stay in order. Nodes on a cycle,
  // and nodes that depend on a cycle, are left out; waiting() is above 0 for
  // them. Must be called once.
  std::vector<int> Order() {
    std::priority_queue<int, std::vector<int>, std::greater<>> ready;
    for (size_t i = 0; i < waiting_.size(); ++i) {
      if (waiting_[i] == 0) ready.push(static_cast<int>(i));
    }
    std::vector<int> order;
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (const int consumer : consumers_[order.back()]) {
        if (--waiting_[consumer] == 0) ready.push(consumer);
      }
    }
    return order;
  }
  // Returns for each node the number of edges from nodes that are not in the
  // order.
  const std::vector<int>& waiting() const { return waiting_; }

 private:
  std::vector<int> waiting_;
  std::vector<std::vector<int>> consumers_;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_PRODUCERS_FIRST_H_
