// ReserveOne reserves memory for one more element of a container, so that
// adding the element cannot throw. So a change of several containers is made
// either in all of them or in none.
//
// The hash tables of absl need ReserveOne to survive std::bad_alloc at all. A
// growing table sets its new capacity before it has the memory. If the
// allocation throws, the table can be neither used nor destroyed. ReserveOne
// instead uses the constructors of tables, which are safe.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BASE_RESERVE_H_
#define WEFT_LIBS_BASE_RESERVE_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft {

// Reserves memory for one more element. An exception (std::bad_alloc,
// std::length_error) leaves the container unchanged. Like the container's own
// growth, it takes amortized constant time.
template <typename T>
void ReserveOne(std::vector<T>& elements) {
  if (elements.size() < elements.capacity()) return;
  elements.reserve(std::max<size_t>(2 * elements.capacity(), 4));
}

constexpr size_t kMinTableCapacity = 31;

// Returns whether a table of absl may allocate memory for `count` more
// elements. A table that stays at most three quarters full does not allocate;
// at most it cleans up the slots of erased elements.
template <typename Table>
bool MayAllocate(const Table& table, size_t count = 1) {
  return table.capacity() < kMinTableCapacity ||
         table.size() + count > table.capacity() / 4 * 3;
}

// Does the same as ReserveOne for `count` elements of absl::flat_hash_map,
// flat_hash_set and their node_ variants. Like an insertion, it invalidates
// references. The new elements must then be moved in, because a constructor
// that throws also breaks the table. FlatHashMap and FlatHashSet
// (hash_tables.h) do all of this themselves.
template <typename Table>
void ReserveInTable(Table& table, size_t count = 1) {
  if (!MayAllocate(table, count)) return;
  Table larger(std::max(kMinTableCapacity, 2 * (table.size() + count)));
  larger.merge(table);
  table.swap(larger);
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_RESERVE_H_
