// NumberGroups assigns group numbers to distinct numbers, in the order of their
// first occurrence, for Unique and related ops.
//
// Not synchronized. Its size follows from the maximum number of keys.
#ifndef WEFT_LIBS_KERNELS_ARRAY_NUMBER_GROUPS_H_
#define WEFT_LIBS_KERNELS_ARRAY_NUMBER_GROUPS_H_

#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"

namespace weft {

// The maximum number of groups for which memory is reserved initially. There
// may be far fewer groups than numbers, because a few values may occur many
// times.
inline constexpr int64_t kMaxReserved = 1 << 16;
// Batches with this many ids allocate no memory: a step of a model with many
// features has dozens of such batches.
inline constexpr size_t kInlinedGroups = 128;

// A hash map from keys to groups: linear probing in one array of group numbers,
// which fits into the first-level cache for the ids of a step. absl::Hash is
// salted, so that an attacker cannot construct colliding keys. Slot is uint32_t
// or uint64_t, for fewer groups than it has values.
template <typename Slot>
class NumberGroups {
 public:
  // `most` is the maximum number of keys.
  explicit NumberGroups(int64_t most) {
    const int64_t reserved = std::clamp<int64_t>(most, 8, kMaxReserved);
    slots_.resize(std::bit_ceil(static_cast<uint64_t>(2 * reserved)), 0);
    keys_.reserve(reserved);
  }

  // Returns the key's group, creating the next one for a new key.
  int64_t FindOrAdd(uint64_t key) {
    uint64_t slot = SlotOf(key);
    for (; slots_[slot] != 0; slot = Next(slot)) {
      const uint64_t group = slots_[slot] - 1;
      if (keys_[group] == key) return static_cast<int64_t>(group);
    }
    slots_[slot] = static_cast<Slot>(keys_.size() + 1);
    return Add(key);
  }
  // Adds a group for a key that equals no key, not even itself (NaN).
  int64_t Add(uint64_t key) {
    keys_.push_back(key);
    if (2 * keys_.size() > slots_.size()) Grow();
    return static_cast<int64_t>(keys_.size()) - 1;
  }

  // The key of each group.
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

  Slots slots_;                                         // group + 1; 0: free
  absl::InlinedVector<uint64_t, kInlinedGroups> keys_;  // by group
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ARRAY_NUMBER_GROUPS_H_
