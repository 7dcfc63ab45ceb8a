// MakeRoom reserves memory for one more element of a container, so that adding
// it cannot throw, and a change of several containers is made in all of them or
// in none.
//
// The hash tables of absl need it to survive std::bad_alloc at all: a growing
// table sets its new capacity before it has the memory, so that a throw leaves
// a table that can be neither used nor deleted. Their constructors are safe;
// MakeRoom uses these.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BASE_MAKE_ROOM_H_
#define WEFT_LIBS_BASE_MAKE_ROOM_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {

// An exception (std::bad_alloc, std::length_error) leaves the container
// unchanged. Takes amortized constant time, as the container's own growth.
template <typename T>
void MakeRoom(std::vector<T>& elements) {
  if (elements.size() < elements.capacity()) return;
  elements.reserve(std::max<size_t>(2 * elements.capacity(), 4));
}

// The same for absl::flat_hash_map, flat_hash_set and their node_ variants.
// Invalidates references as an insertion does. The new element must then be
// moved in: a constructor that throws also breaks the table.
template <typename Table>
void MakeRoomInTable(Table& table) {
  // A table that is up to three quarters full accepts another element without
  // allocating: at most it cleans up the slots of erased elements.
  constexpr size_t kMinCapacity = 31;
  const size_t needed = table.size() + 1;
  if (table.capacity() >= kMinCapacity && needed <= table.capacity() / 4 * 3) {
    return;
  }
  Table larger(std::max(kMinCapacity, 2 * needed));
  larger.merge(table);
  table.swap(larger);
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_MAKE_ROOM_H_
