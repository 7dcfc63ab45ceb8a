// EarlyEnds: what was ended before it began. A request to make something and
// one to end it may be served by two threads, or have come over two
// connections, and so in another order than they were sent: what is ended first
// is not to be made any more, because nobody would end it again.
//
// Remembers the latest kMost, which are named once only.
//
// Threads: thread-compatible.
#ifndef WEFT_LIBS_RUNTIME_EARLY_ENDS_H_
#define WEFT_LIBS_RUNTIME_EARLY_ENDS_H_

#include <cstddef>
#include <deque>
#include <set>

namespace weft {

// Id: ordered; never used again for something else.
template <typename Id>
class EarlyEnds {
 public:
  static constexpr size_t kMost = 1000;

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

#endif  // WEFT_LIBS_RUNTIME_EARLY_ENDS_H_
