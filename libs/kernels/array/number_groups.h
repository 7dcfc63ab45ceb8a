// NumberGroups: which numbers are the same, in the order in which they first
// come: what Unique and its like have in common.
//
// Not synchronized; of the size of what it is told will come.
#ifndef WEFT_LIBS_KERNELS_ARRAY_NUMBER_GROUPS_H_
#define WEFT_LIBS_KERNELS_ARRAY_NUMBER_GROUPS_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"

namespace weft {

// Groups that there is room for at first; a few values may be many times there.
inline constexpr int64_t kMaxReserved = 1 << 16;
// Those of a batch of so many ids need no memory of the system's: a step of a
// model with many features has dozens of them.
inline constexpr size_t kInlinedGroups = 128;

// Keys to the groups that have them: linear probing in one array of the groups'
// numbers, which is small enough for the first cache where a step's ids are
// looked up. absl::Hash is salted, so that nobody can make up keys that
// collide. Slot: uint32_t or uint64_t, for fewer groups than it has values.
template <typename Slot>
class NumberGroups {
 public:
  // The most keys that will come.
  explicit NumberGroups(int64_t most) {
    const int64_t reserved = std::clamp<int64_t>(most, 8, kMaxReserved);
    slots_.resize(std::bit_ceil(static_cast<uint64_t>(2 * reserved)), 0);
    keys_.reserve(reserved);
  }

  // The key's group; one more than there were where it has none yet.
  int64_t FindOrAdd(uint64_t key) {
    uint64_t slot = SlotOf(key);
    for (; slots_[slot] != 0; slot = Next(slot)) {
      const uint64_t group = slots_[slot] - 1;
      if (keys_[group] == key) return static_cast<int64_t>(group);
    }
    slots_[slot] = static_cast<Slot>(keys_.size() + 1);
    return Add(key);
  }
  // A group of what equals nothing, not even itself: it is not found again.
  int64_t Add(uint64_t key) {
    keys_.push_back(key);
    if (2 * keys_.size() > slots_.size()) Grow();
    return static_cast<int64_t>(keys_.size()) - 1;
  }

  // By group.
  absl::Span<const uint64_t> keys() const { return keys_; }

 private:
  using Slots = absl::InlinedVector<Slot, 2 * kInlinedGroups>;

  uint64_t SlotOf(uint64_t key) const {
    return absl::Hash<uint64_t>()(key) & (slots_.size() - 1);
  }
  uint64_t Next(uint64_t slot) const {
    return (slot + 1) & (slots_.size() - 1);
  }
  void Grow() {
    Slots old(2 * slots_.size(), 0);
    old.swap(slots_);
    for (const Slot group_and_one : old) {
      if (group_and_one == 0) continue;
      uint64_t slot = SlotOf(keys_[group_and_one - 1]);
      while (slots_[slot] != 0) slot = Next(slot);
      slots_[slot] = group_and_one;
    }
  }

  Slots slots_;  // a group and 1; 0: free
  absl::InlinedVector<uint64_t, kInlinedGroups> keys_;  // by group
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_NUMBER_GROUPS_H_
