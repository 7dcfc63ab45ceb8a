// Ended: what has been ended by name, so that what comes late does not make it
// again. A request to make something and one to end it may be served by two
// threads, or have come over two connections, and so in another order than they
// were sent; and one that is made late would never be ended.
//
// Threads: thread-compatible.
#ifndef WEFT_LIBS_BASE_ENDED_H_
#define WEFT_LIBS_BASE_ENDED_H_

#include <cstddef>
#include <deque>

#include "absl/container/flat_hash_set.h"

namespace weft {

// Id: never used again for something else.
template <typename Id>
class Ended {
 public:
  // Remembers the latest `most`.
  explicit Ended(size_t most) : most_(most) {}

  // What is there already keeps its place.
  void Add(const Id& id) {
    if (!ended_.insert(id).second) return;
    in_order_.push_back(id);
    if (in_order_.size() <= most_) return;
    ended_.erase(in_order_.front());
    in_order_.pop_front();
  }
  bool Contains(const Id& id) const { return ended_.contains(id); }

 private:
  const size_t most_;
  absl::flat_hash_set<Id> ended_;
  std::deque<Id> in_order_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ENDED_H_
