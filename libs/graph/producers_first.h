// ProducersFirst: puts nodes, which are known by their numbers, in an order in
// which each comes after those that it takes from. Internal to this room.
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

  // Among those that are ready the lowest number first, so that nodes that are
  // in order stay in theirs. Without those on a cycle, and behind one, of which
  // waiting() is then above 0. To be called once.
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
  // For each node how many edges from nodes that are not in the order.
  const std::vector<int>& waiting() const { return waiting_; }

 private:
  std::vector<int> waiting_;
  std::vector<std::vector<int>> consumers_;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_PRODUCERS_FIRST_H_
