#include "libs/resource/lookup_table.h"

#include <bit>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/resource/table_elements.h"

namespace weft {
namespace {

using tables::Elements;
using tables::MutableElements;
using tables::Number;

float AsFloat(Number value) {
  return std::bit_cast<float>(static_cast<int32_t>(value));
}

// Returns whether two values of a type are equal. NaN equals no value, and the
// zeros of both signs are equal.
bool AreEqual(DataType, const std::string& a, const std::string& b) {
  return a == b;
}
bool AreEqual(DataType type, Number a, Number b) {
  if (type == DT_FLOAT) return AsFloat(a) == AsFloat(b);
  if (type == DT_DOUBLE) {
    return std::bit_cast<double>(a) == std::bit_cast<double>(b);
  }
  return a == b;
}

std::string Text(DataType, const std::string& value) { return value; }
std::string Text(DataType type, Number value) {
  if (type == DT_FLOAT) return absl::StrCat(AsFloat(value));
  if (type == DT_DOUBLE) return absl::StrCat(std::bit_cast<double>(value));
  return absl::StrCat(value);
}

// Returns the entries of a map in the order of their keys. The map must outlive
// the result.
template <typename Map>
std::vector<const typename Map::value_type*> EntriesByKey(const Map& map) {
  std::vector<const typename Map::value_type*> entries;
  entries.reserve(map.size());
  for (const auto& entry : map) entries.push_back(&entry);
  absl::c_sort(entries, [](const auto* a, const auto* b) {
    return a->first < b->first;
  });
  return entries;
}

// HashTable is initialized once and then read-only. K and V are std::string or
// Number.
template <typename K, typename V>
class HashTable : public LookupTable {
 public:
  HashTable(DataType key_type, DataType value_type, bool is_mutable)
      : key_type_(key_type), value_type_(value_type), is_mutable_(is_mutable) {}

  std::string DebugString() const override {
    return absl::StrCat("a table from ", DataTypeName(key_type()), " to ",
                        DataTypeName(value_type()), " of ", size(), " entries");
  }
  DataType key_type() const override { return key_type_; }
  DataType value_type() const override { return value_type_; }
  bool is_mutable() const override { return is_mutable_; }
  int64_t size() const override {
    absl::ReaderMutexLock lock(&mutex_);
    return static_cast<int64_t>(map_.size());
  }

  absl::Status Find(const Tensor& keys, const Tensor& fallback, Tensor& values,
                    HeapCharge& charge) const override {
    const Elements<K> in(keys);
    const Elements<V> fallbacks(fallback);
    MutableElements<V> out(values);
    absl::ReaderMutexLock lock(&mutex_);
    if (!is_mutable_ && !is_initialized_) {
      return absl::FailedPreconditionError("Table not initialized.");
    }
    const bool has_one = fallback.num_elements() == 1;
    for (size_t i = 0; i < in.size(); ++i) {
      const auto found = map_.find(in[i]);
      const V& value =
          found == map_.end() ? fallbacks[has_one ? 0 : i] : found->second;
      RETURN_IF_ERROR(tables::Charge(charge, value));
      out.Set(i, value);
    }
    return absl::OkStatus();
  }

  absl::Status Initialize(const Cancellation& step, const Tensor& keys,
                          const Tensor& values) override {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    if (is_initialized_) {
      if (keys.num_elements() == static_cast<int64_t>(map_.size())) {
        return absl::OkStatus();
      }
      return absl::FailedPreconditionError(
          "Table was already initialized with different data.");
    }
    Map map;
    RETURN_IF_ERROR(AddOnce(keys, values, map));
    map_ = std::move(map);
    is_initialized_ = true;
    return absl::OkStatus();
  }

  absl::Status Insert(const Cancellation& step, const Tensor& keys,
                      const Tensor& values) override {
    RETURN_IF_ERROR(CheckMutable("Insert"));
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    AddAll(keys, values);
    return absl::OkStatus();
  }

  absl::Status Remove(const Cancellation& step, const Tensor& keys) override {
    RETURN_IF_ERROR(CheckMutable("Remove"));
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    const Elements<K> k(keys);
    for (size_t i = 0; i < k.size(); ++i) map_.erase(k[i]);
    return absl::OkStatus();
  }

  absl::Status Import(const Cancellation& step, const Tensor& keys,
                      const Tensor& values) override {
    if (!is_mutable_) return Initialize(step, keys, values);
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    map_.clear();
    AddAll(keys, values);
    return absl::OkStatus();
  }

  absl::StatusOr<std::pair<Tensor, Tensor>> Export(
      HeapCharge& charge) const override {
    absl::ReaderMutexLock lock(&mutex_);
    const auto entries = EntriesByKey(map_);
    const TensorShape shape({static_cast<int64_t>(entries.size())});
    std::pair<Tensor, Tensor> result = {Tensor(key_type(), shape),
                                        Tensor(value_type(), shape)};
    MutableElements<K> keys(result.first);
    MutableElements<V> values(result.second);
    for (size_t i = 0; i < entries.size(); ++i) {
      RETURN_IF_ERROR(tables::Charge(charge, entries[i]->first));
      RETURN_IF_ERROR(tables::Charge(charge, entries[i]->second));
      keys.Set(i, entries[i]->first);
      values.Set(i, entries[i]->second);
    }
    return result;
  }

 private:
  using Map = FlatHashMap<K, V>;

  absl::Status CheckMutable(absl::string_view what) const {
    if (is_mutable_) return absl::OkStatus();
    return absl::UnimplementedError(absl::StrCat(
        what, " not supported by InitializableLookupTable implementations"));
  }

  absl::Status AddOnce(const Tensor& keys, const Tensor& values,
                       Map& map) const {
    const Elements<K> k(keys);
    const Elements<V> v(values);
    for (size_t i = 0; i < k.size(); ++i) {
      const auto [at, is_new] = map.emplace(k[i], v[i]);
      if (is_new || AreEqual(value_type_, at->second, v[i])) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "HashTable has different value for same key. Key ",
          Text(key_type_, k[i]), " has ", Text(value_type_, at->second),
          " and trying to add value ", Text(value_type_, v[i])));
    }
    return absl::OkStatus();
  }

  void AddAll(const Tensor& keys, const Tensor& values)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Elements<K> k(keys);
    const Elements<V> v(values);
    for (size_t i = 0; i < k.size(); ++i) map_.insert_or_assign(k[i], v[i]);
  }

  const DataType key_type_, value_type_;
  const bool is_mutable_;
  mutable absl::Mutex mutex_;
  bool is_initialized_ ABSL_GUARDED_BY(mutex_) = false;
  Map map_ ABSL_GUARDED_BY(mutex_);
};

// RowTable is a mutable table from keys to rows of values.
template <typename K, typename V>
class RowTable : public LookupTable {
 public:
  RowTable(DataType key_type, DataType value_type, const TensorShape& row)
      : key_type_(key_type),
        value_type_(value_type),
        row_shape_(row),
        row_size_(static_cast<size_t>(row.num_elements())) {}

  std::string DebugString() const override {
    return absl::StrCat("a table from ", DataTypeName(key_type_), " to rows ",
                        row_shape_.ToString(), " of ",
                        DataTypeName(value_type_), ", with ", size(),
                        " entries");
  }
  DataType key_type() const override { return key_type_; }
  DataType value_type() const override { return value_type_; }
  TensorShape value_shape() const override { return row_shape_; }
  bool is_mutable() const override { return true; }
  int64_t size() const override {
    absl::ReaderMutexLock lock(&mutex_);
    return static_cast<int64_t>(map_.size());
  }

  absl::Status Find(const Tensor& keys, const Tensor& fallback, Tensor& values,
                    HeapCharge& charge) const override {
    const Elements<K> in(keys);
    const Elements<V> fallbacks(fallback);
    MutableElements<V> out(values);
    const bool has_one = fallbacks.size() == row_size_;
    absl::ReaderMutexLock lock(&mutex_);
    for (size_t i = 0; i < in.size(); ++i) {
      const auto found = map_.find(in[i]);
      for (size_t j = 0; j < row_size_; ++j) {
        const V& value = found == map_.end()
                             ? fallbacks[has_one ? j : i * row_size_ + j]
                             : found->second[j];
        RETURN_IF_ERROR(tables::Charge(charge, value));
        out.Set(i * row_size_ + j, value);
      }
    }
    return absl::OkStatus();
  }

  absl::Status Initialize(const Cancellation&, const Tensor&,
                          const Tensor&) override {
    return absl::UnimplementedError(
        "a mutable table cannot be initialized; insert or import the entries");
  }

  absl::Status Insert(const Cancellation& step, const Tensor& keys,
                      const Tensor& values) override {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    AddAll(keys, values);
    return absl::OkStatus();
  }

  absl::Status Remove(const Cancellation& step, const Tensor& keys) override {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    const Elements<K> k(keys);
    for (size_t i = 0; i < k.size(); ++i) map_.erase(k[i]);
    return absl::OkStatus();
  }

  absl::Status Import(const Cancellation& step, const Tensor& keys,
                      const Tensor& values) override {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    map_.clear();
    AddAll(keys, values);
    return absl::OkStatus();
  }

  absl::StatusOr<std::pair<Tensor, Tensor>> Export(
      HeapCharge& charge) const override {
    absl::ReaderMutexLock lock(&mutex_);
    const auto entries = EntriesByKey(map_);
    const auto count = static_cast<int64_t>(entries.size());
    std::pair<Tensor, Tensor> result;
    ASSIGN_OR_RETURN(result.first,
                     Tensor::Allocate(HeapAllocator(), key_type_, {count}));
    ASSIGN_OR_RETURN(result.second,
                     Tensor::Allocate(HeapAllocator(), value_type_,
                                      {count, row_shape_.dim(0)}));
    MutableElements<K> keys(result.first);
    MutableElements<V> values(result.second);
    for (size_t i = 0; i < entries.size(); ++i) {
      RETURN_IF_ERROR(tables::Charge(charge, entries[i]->first));
      keys.Set(i, entries[i]->first);
      for (size_t j = 0; j < row_size_; ++j) {
        RETURN_IF_ERROR(tables::Charge(charge, entries[i]->second[j]));
        values.Set(i * row_size_ + j, entries[i]->second[j]);
      }
    }
    return result;
  }

 private:
  using Map = FlatHashMap<K, std::vector<V>>;

  void AddAll(const Tensor& keys, const Tensor& values)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Elements<K> k(keys);
    const Elements<V> v(values);
    for (size_t i = 0; i < k.size(); ++i) {
      // The row is completed before it is inserted, so that an exception leaves
      // no incomplete row in the table.
      std::vector<V> row(row_size_);
      for (size_t j = 0; j < row_size_; ++j) row[j] = v[i * row_size_ + j];
      map_.insert_or_assign(k[i], std::move(row));
    }
  }

  const DataType key_type_, value_type_;
  const TensorShape row_shape_;
  const size_t row_size_;
  mutable absl::Mutex mutex_;
  Map map_ ABSL_GUARDED_BY(mutex_);
};

using TablePtr = std::shared_ptr<LookupTable>;

absl::Status CheckTableTypes(DataType key_type, DataType value_type) {
  if (absl::c_linear_search(TableKeyTypes(), key_type) &&
      absl::c_linear_search(TableValueTypes(), value_type)) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("tables from ", DataTypeName(key_type), " to ",
                   DataTypeName(value_type), " are not supported"));
}

template <typename K>
TablePtr NewRows(DataType key_type, DataType value_type,
                 const TensorShape& row) {
  if (value_type == DT_STRING) {
    return std::make_shared<RowTable<K, std::string>>(key_type, value_type,
                                                      row);
  }
  return std::make_shared<RowTable<K, Number>>(key_type, value_type, row);
}

template <typename K>
TablePtr NewTable(DataType key_type, DataType value_type, bool is_mutable) {
  if (value_type == DT_STRING) {
    return std::make_shared<HashTable<K, std::string>>(key_type, value_type,
                                                       is_mutable);
  }
  return std::make_shared<HashTable<K, Number>>(key_type, value_type,
                                                is_mutable);
}

}  // namespace

std::vector<DataType> TableKeyTypes() {
  return {DT_STRING, DT_INT64, DT_INT32};
}

std::vector<DataType> TableValueTypes() {
  return {DT_STRING, DT_INT64, DT_INT32, DT_FLOAT, DT_DOUBLE, DT_BOOL};
}

absl::StatusOr<TablePtr> NewLookupTable(DataType key_type, DataType value_type,
                                        bool is_mutable) {
  RETURN_IF_ERROR(CheckTableTypes(key_type, value_type));
  return key_type == DT_STRING
             ? NewTable<std::string>(key_type, value_type, is_mutable)
             : NewTable<Number>(key_type, value_type, is_mutable);
}

absl::StatusOr<TablePtr> NewTableOfTensors(DataType key_type,
                                           DataType value_type,
                                           const PartialShape& row) {
  RETURN_IF_ERROR(CheckTableTypes(key_type, value_type));
  if (!row.has_rank() || row.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Default value must be a vector, got shape ",
                     row.has_rank() ? row.ToString() : "[]"));
  }
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(row.dims()));
  return key_type == DT_STRING
             ? NewRows<std::string>(key_type, value_type, shape)
             : NewRows<Number>(key_type, value_type, shape);
}

}  // namespace weft
