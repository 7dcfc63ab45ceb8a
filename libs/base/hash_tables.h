// FlatHashMap and FlatHashSet are the hash tables of absl with a strong
// exception guarantee. If there is no memory to grow or copy a table, they
// throw std::bad_alloc and leave the table unchanged.
//
// After such an exception, absl's own tables are broken, and so are their
// destructors (reserve.h). Use FlatHashMap and FlatHashSet for tables whose
// sizes depend on a program's values, in code that runs inside CatchExceptions.
//
// Unlike absl's tables, they construct an inserted element first and then move
// it into the table. `insert` constructs the element even if the key is
// present.
// REQUIRES: moves of keys and values do not throw.
//
// Threads: the same rules as for absl's tables.
#ifndef WEFT_LIBS_BASE_HASH_TABLES_H_
#define WEFT_LIBS_BASE_HASH_TABLES_H_

#include <cstddef>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "libs/base/reserve.h"

namespace weft {

// SafeHashTable is the base class of FlatHashMap and FlatHashSet. `Table` is
// the hash table of absl.
template <typename Table>
class SafeHashTable : public Table {
 public:
  using typename Table::iterator;
  using typename Table::value_type;
  // The type of a map's elements with a key that is not const.
  using typename Table::init_type;

  SafeHashTable() = default;
  explicit SafeHashTable(size_t min_capacity) : Table(min_capacity) {}
  SafeHashTable(std::initializer_list<init_type> elements)
      : SafeHashTable(elements.begin(), elements.end()) {}
  template <typename Iterator>
  SafeHashTable(Iterator begin, Iterator end) {
    insert(begin, end);
  }
  SafeHashTable(const SafeHashTable& other) : Table() {
    reserve(other.size());
    insert(other.begin(), other.end());
  }
  SafeHashTable(SafeHashTable&&) = default;
  SafeHashTable& operator=(const SafeHashTable& other) {
    SafeHashTable copy(other);
    this->swap(copy);
    return *this;
  }
  SafeHashTable& operator=(SafeHashTable&&) = default;
  ~SafeHashTable() = default;

  std::pair<iterator, bool> insert(init_type element) {
    if (MayAllocate(table())) {
      const iterator found = this->find(KeyOf(element));
      if (found != this->end()) return {found, false};
      ReserveInTable(table());
    }
    return Table::insert(std::move(element));
  }
  template <typename Iterator>
  void insert(Iterator begin, Iterator end) {
    for (; begin != end; ++begin) insert(init_type(*begin));
  }
  template <typename... Args>
  std::pair<iterator, bool> emplace(Args&&... args) {
    return insert(init_type(std::forward<Args>(args)...));
  }
  void reserve(size_t size) {
    if (size > this->size()) ReserveInTable(table(), size - this->size());
  }

  // These functions of absl grow the table without reserving memory first.
  void merge(SafeHashTable&) = delete;
  void rehash(size_t) = delete;

 private:
  Table& table() { return *this; }
  static const auto& KeyOf(const init_type& element) {
    if constexpr (std::is_same_v<init_type, typename Table::key_type>) {
      return element;
    } else {
      return element.first;
    }
  }
};

template <typename T>
using FlatHashSet = SafeHashTable<absl::flat_hash_set<T>>;

template <typename K, typename V>
class FlatHashMap : public SafeHashTable<absl::flat_hash_map<K, V>> {
 public:
  using Table = SafeHashTable<absl::flat_hash_map<K, V>>;
  using Table::Table;
  using typename Table::iterator;

  template <typename Key = K, typename... Args>
  std::pair<iterator, bool> try_emplace(Key&& key, Args&&... args) {
    const iterator found = this->find(key);
    if (found != this->end()) return {found, false};
    return this->insert(
        {K(std::forward<Key>(key)), V(std::forward<Args>(args)...)});
  }
  using Table::emplace;
  template <typename Key, typename Value>
  std::pair<iterator, bool> emplace(Key&& key, Value&& value) {
    return try_emplace(std::forward<Key>(key), std::forward<Value>(value));
  }
  template <typename Key = K>
  V& operator[](Key&& key) {
    return try_emplace(std::forward<Key>(key)).first->second;
  }
  template <typename Key = K, typename Value = V>
  std::pair<iterator, bool> insert_or_assign(Key&& key, Value&& value) {
    const iterator found = this->find(key);
    if (found == this->end()) {
      return emplace(std::forward<Key>(key), std::forward<Value>(value));
    }
    found->second = std::forward<Value>(value);
    return {found, false};
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_HASH_TABLES_H_
