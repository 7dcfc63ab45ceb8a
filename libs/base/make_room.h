// MakeRoom: memory for one more element of a container, so that adding it does
// not throw, and a change of several containers is made in all or in none.
//
// The hash tables of absl need it to survive std::bad_alloc at all: where one
// grows, it has its new capacity before it has the memory, so that a throw
// leaves a table that can neither be used nor deleted. Their constructors are
// safe, and are what this uses.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BASE_MAKE_ROOM_H_
#define WEFT_LIBS_BASE_MAKE_ROOM_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {

// An exception (std::bad_alloc, std::length_error) leaves the container as it
// was. As with the container's own growth, the time is constant on average.
template <typename T>
void MakeRoom(std::vector<T>& elements) {
  if (elements.size() < elements.capacity()) return;
  elements.reserve(std::max<size_t>(2 * elements.capacity(), 4));
}

// The same for absl::flat_hash_map, flat_hash_set and their node_ relatives. It
// invalidates references as an insertion does. The new
// element must be moved there: a constructor that throws breaks the table, too.
template <typename Table>
void MakeRoomInTable(Table& table) {
  // A table that is up to three quarters full takes another element without
  // memory: at most it sorts out what erased elements have left.
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
