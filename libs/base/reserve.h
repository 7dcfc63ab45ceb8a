// ReserveOne reserves memory for one more element of a container, so that
// adding it cannot throw, and a change of several containers is made in all of
// them or in none.
//
// The hash tables of absl need it to survive std::bad_alloc at all: a growing
// table sets its new capacity before it has the memory, so that a throw leaves
// a table that can be neither used nor deleted. Their constructors are safe;
// ReserveOne uses these.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BASE_RESERVE_H_
#define WEFT_LIBS_BASE_RESERVE_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {

// An exception (std::bad_alloc, std::length_error) leaves the container
// unchanged. Takes amortized constant time, as the container's own growth.
template <typename T>
void ReserveOne(std::vector<T>& elements) {
  if (elements.size() < elements.capacity()) return;
  elements.reserve(std::max<size_t>(2 * elements.capacity(), 4));
}

constexpr size_t kMinTableCapacity = 31;

// Returns whether a table of absl may allocate for `count` more elements. A
// table that stays three quarters full accepts them without: at most it cleans
// up the slots of erased elements.
template <typename Table>
bool MayAllocate(const Table& table, size_t count = 1) {
  return table.capacity() < kMinTableCapacity ||
         table.size() + count > table.capacity() / 4 * 3;
}

// The same as ReserveOne for absl::flat_hash_map, flat_hash_set and their node_
// variants, for `count` elements. Invalidates references as an insertion does.
// The new elements must then be moved in: a constructor that throws also breaks
// the table. FlatHashMap and FlatHashSet (hash_tables.h) do both themselves.
template <typename Table>
void ReserveInTable(Table& table, size_t count = 1) {
  if (!MayAllocate(table, count)) return;
  Table larger(std::max(kMinTableCapacity, 2 * (table.size() + count)));
  larger.merge(table);
  table.swap(larger);
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_RESERVE_H_
