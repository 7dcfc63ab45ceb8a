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

constexpr size_t kMinTableCapacity = 31;

// Whether a table of absl may need memory for `count` elements more. One that
// stays three quarters full takes them without: at most it sorts out what
// erased elements have left.
template <typename Table>
bool NeedsRoomInTable(const Table& table, size_t count = 1) {
  return table.capacity() < kMinTableCapacity ||
         table.size() + count > table.capacity() / 4 * 3;
}

// The same as MakeRoom for absl::flat_hash_map, flat_hash_set and their node_
// relatives, for `count` elements. It invalidates references as an insertion
// does. New elements must be moved there: a constructor that throws breaks the
// table, too. FlatHashMap and FlatHashSet (hash_tables.h) do both by
// themselves.
template <typename Table>
void MakeRoomInTable(Table& table, size_t count = 1) {
  if (!NeedsRoomInTable(table, count)) return;
  Table larger(std::max(kMinTableCapacity, 2 * (table.size() + count)));
  larger.merge(table);
  table.swap(larger);
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_MAKE_ROOM_H_
