// `WeakTable` finds objects by number for as long as others own them.
//
// Entries of destroyed objects are removed only when the table has doubled
// since the last removal. So adding n entries examines at most a constant times
// n of them, however many remain, and the table never has more than twice as
// many entries as there were objects at the last removal, or kLeastSweep.
//
// Not synchronized. No call destroys an object: the table owns none.
#ifndef WEFT_LIBS_MASTER_WEAK_TABLE_H_
#define WEFT_LIBS_MASTER_WEAK_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/btree_map.h"

namespace weft {

template <typename T>
class WeakTable {
 public:
  static constexpr size_t kLeastSweep = 64;

  void Add(uint64_t id, const std::shared_ptr<T>& object) {
    if (entries_.size() >= next_sweep_) Sweep();
    entries_[id] = object;
  }
  // Returns null if unknown or destroyed.
  std::shared_ptr<T> Find(uint64_t id) const {
    const auto it = entries_.find(id);
    return it == entries_.end() ? nullptr : it->second.lock();
  }

  size_t num_entries() const { return entries_.size(); }
  // The number of entries that all calls of Add together have examined.
  uint64_t num_examined() const { return num_examined_; }

 private:
  void Sweep() {
    num_examined_ += entries_.size();
    absl::erase_if(entries_,
                   [](const auto& entry) { return entry.second.expired(); });
    next_sweep_ = std::max(kLeastSweep, 2 * entries_.size());
  }

  // Ordered, so that a simulation can be repeated.
  absl::btree_map<uint64_t, std::weak_ptr<T>> entries_;
  size_t next_sweep_ = kLeastSweep;
  uint64_t num_examined_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_WEAK_TABLE_H_
