// Ended remembers the ids of objects that were ended, so that a late request
// does not create them again. The requests to create and to end an object may
// be served by two threads or arrive on two connections, and thus in reverse
// order. An object created after its end would never be ended.
//
// Threads: thread-compatible.
#ifndef WEFT_LIBS_BASE_ASYNC_ENDED_H_
#define WEFT_LIBS_BASE_ASYNC_ENDED_H_

#include <cstddef>
#include <deque>

#include "absl/container/flat_hash_set.h"

namespace weft {

// Ids of type Id must never be reused for another object.
template <typename Id>
class Ended {
 public:
  // Creates a set that keeps only the latest `most` ids.
  explicit Ended(size_t most) : most_(most) {}

  // Adds an id. An id that is already present keeps its position.
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

#endif  // WEFT_LIBS_BASE_ASYNC_ENDED_H_
