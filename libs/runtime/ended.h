// Ended: what has been ended by name, so that it is not made again. A request
// to make something and one to end it may be served by two threads, or have
// come over two connections, and so in another order than they were sent; and
// one that is made late would never be ended.
//
// Remembers the latest kMost.
//
// Threads: thread-compatible.
#ifndef WEFT_LIBS_RUNTIME_ENDED_H_
#define WEFT_LIBS_RUNTIME_ENDED_H_

#include <cstddef>
#include <deque>
#include <set>

namespace weft {

// Id: ordered; never used again for something else.
template <typename Id>
class Ended {
 public:
  static constexpr size_t kMost = 1000;

  // What is there already keeps its place.
  void Add(const Id& id) {
    if (!ended_.insert(id).second) return;
    in_order_.push_back(id);
    if (in_order_.size() <= kMost) return;
    ended_.erase(in_order_.front());
    in_order_.pop_front();
  }
  bool Contains(const Id& id) const { return ended_.count(id) > 0; }

 private:
  std::set<Id> ended_;
  std::deque<Id> in_order_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_ENDED_H_
