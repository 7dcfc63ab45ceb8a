#include "libs/resource/lookup_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// A number, as far as a table knows it: the bits of a float, double or bool;
// integers of any size as int64, which keeps their order. So a few maps serve
// all types.
using Number = int64_t;

// The elements of a tensor, as strings or Numbers.
template <typename T>
class Elements;

template <>
class Elements<std::string> {
 public:
  explicit Elements(const Tensor& tensor)
      : values_(tensor.flat<std::string>()) {}
  size_t size() const { return values_.size(); }
  const std::string& operator[](size_t i) const { return values_[i]; }

 private:
  const absl::Span<const std::string> values_;
};

template <>
class Elements<Number> {
 public:
  explicit Elements(const Tensor& tensor)
      : bytes_(DataTypeSize(tensor.dtype())),
        count_(static_cast<size_t>(tensor.num_elements())),
        data_(static_cast<const char*>(tensor.data())) {}
  size_t size() const { return count_; }
  Number operator[](size_t i) const {
    switch (bytes_) {
      case 1:
        return Load<int8_t>(i);
      case 4:
        return Load<int32_t>(i);
      default:
        return Load<int64_t>(i);
    }
  }

 private:
  template <typename T>
  Number Load(size_t i) const {
    T value;
    std::memcpy(&value, data_ + i * sizeof(T), sizeof(T));
    return value;
  }

  const size_t bytes_, count_;
  const char* const data_;
};

// The same, to write them.
template <typename T>
class MutableElements;

template <>
class MutableElements<std::string> {
 public:
  explicit MutableElements(Tensor& tensor)
      : values_(tensor.mutable_flat<std::string>()) {}
  void Set(size_t i, const std::string& value) { values_[i] = value; }

 private:
  const absl::Span<std::string> values_;
};

template <>
class MutableElements<Number> {
 public:
  explicit MutableElements(Tensor& tensor)
      : bytes_(DataTypeSize(tensor.dtype())),
        data_(static_cast<char*>(tensor.mutable_data())) {}
  void Set(size_t i, Number value) {
    switch (bytes_) {
      case 1:
        return Store(i, static_cast<int8_t>(value));
      case 4:
        return Store(i, static_cast<int32_t>(value));
      default:
        return Store(i, value);
    }
  }

 private:
  template <typename T>
  void Store(size_t i, T value) {
    std::memcpy(data_ + i * sizeof(T), &value, sizeof(T));
  }

  const size_t bytes_;
  char* const data_;
};

float AsFloat(Number value) {
  return std::bit_cast<float>(static_cast<int32_t>(value));
}

// Whether two values of a type are equal: a NaN equals nothing, and the zeros
// of both signs each other.
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

// K and V are std::string or Number.
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

  absl::Status Find(const Tensor& keys, const Tensor& fallback,
                    Tensor& values) const override {
    const Elements<K> in(keys);
    const Elements<V> fallbacks(fallback);
    MutableElements<V> out(values);
    absl::ReaderMutexLock lock(&mutex_);
    if (!is_mutable_ && !is_initialized_) {
      return absl::FailedPreconditionError("Table not initialized.");
    }
    for (size_t i = 0; i < in.size(); ++i) {
      const auto found = map_.find(in[i]);
      out.Set(i, found == map_.end() ? fallbacks[0] : found->second);
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

  std::pair<Tensor, Tensor> Export() const override {
    absl::ReaderMutexLock lock(&mutex_);
    std::vector<const Entry*> entries;
    entries.reserve(map_.size());
    for (const Entry& entry : map_) entries.push_back(&entry);
    std::sort(
        entries.begin(), entries.end(),
        [](const Entry* a, const Entry* b) { return a->first < b->first; });
    const TensorShape shape({static_cast<int64_t>(entries.size())});
    std::pair<Tensor, Tensor> result = {Tensor(key_type(), shape),
                                        Tensor(value_type(), shape)};
    MutableElements<K> keys(result.first);
    MutableElements<V> values(result.second);
    for (size_t i = 0; i < entries.size(); ++i) {
      keys.Set(i, entries[i]->first);
      values.Set(i, entries[i]->second);
    }
    return result;
  }

 private:
  using Map = absl::flat_hash_map<K, V>;
  using Entry = typename Map::value_type;

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
    for (size_t i = 0; i < k.size(); ++i) map_[k[i]] = v[i];
  }

  const DataType key_type_, value_type_;
  const bool is_mutable_;
  mutable absl::Mutex mutex_;
  bool is_initialized_ ABSL_GUARDED_BY(mutex_) = false;
  Map map_ ABSL_GUARDED_BY(mutex_);
};

using TablePtr = std::shared_ptr<LookupTable>;

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
  if (!absl::c_linear_search(TableKeyTypes(), key_type) ||
      !absl::c_linear_search(TableValueTypes(), value_type)) {
    return absl::UnimplementedError(absl::StrCat("there is no table from ",
                                                 DataTypeName(key_type), " to ",
                                                 DataTypeName(value_type)));
  }
  return key_type == DT_STRING
             ? NewTable<std::string>(key_type, value_type, is_mutable)
             : NewTable<Number>(key_type, value_type, is_mutable);
}

}  // namespace weft
