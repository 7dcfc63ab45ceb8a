#include "libs/resource/lookup_table.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"

namespace weft {
namespace {

template <typename T>
std::string Text(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "1" : "0";
  } else {
    return absl::StrCat(value);
  }
}

template <typename K, typename V>
class HashTable : public LookupTable {
 public:
  explicit HashTable(bool is_mutable) : is_mutable_(is_mutable) {}

  std::string DebugString() const override {
    return absl::StrCat("a table from ", DataTypeName(key_type()), " to ",
                        DataTypeName(value_type()), " of ", size(), " entries");
  }
  DataType key_type() const override { return DataTypeOf<K>::value; }
  DataType value_type() const override { return DataTypeOf<V>::value; }
  bool is_mutable() const override { return is_mutable_; }
  int64_t size() const override {
    absl::ReaderMutexLock lock(&mutex_);
    return static_cast<int64_t>(map_.size());
  }

  absl::Status Find(const Tensor& keys, const Tensor& fallback,
                    Tensor& values) const override {
    const auto in = keys.flat<K>();
    auto out = values.mutable_flat<V>();
    absl::ReaderMutexLock lock(&mutex_);
    if (!is_mutable_ && !is_initialized_) {
      return absl::FailedPreconditionError("Table not initialized.");
    }
    for (size_t i = 0; i < in.size(); ++i) {
      const auto found = map_.find(in[i]);
      out[i] = found == map_.end() ? fallback.scalar<V>() : found->second;
    }
    return absl::OkStatus();
  }

  absl::Status Initialize(const Tensor& keys, const Tensor& values) override {
    absl::MutexLock lock(&mutex_);
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

  absl::Status Insert(const Tensor& keys, const Tensor& values) override {
    RETURN_IF_ERROR(CheckMutable("Insert"));
    absl::MutexLock lock(&mutex_);
    AddAll(keys, values);
    return absl::OkStatus();
  }

  absl::Status Remove(const Tensor& keys) override {
    RETURN_IF_ERROR(CheckMutable("Remove"));
    absl::MutexLock lock(&mutex_);
    for (const K& key : keys.flat<K>()) map_.erase(key);
    return absl::OkStatus();
  }

  absl::Status Import(const Tensor& keys, const Tensor& values) override {
    if (!is_mutable_) return Initialize(keys, values);
    absl::MutexLock lock(&mutex_);
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
    auto keys = result.first.mutable_flat<K>();
    auto values = result.second.mutable_flat<V>();
    size_t i = 0;
    for (const Entry* entry : entries) {
      keys[i] = entry->first;
      values[i++] = entry->second;
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

  static absl::Status AddOnce(const Tensor& keys, const Tensor& values,
                              Map& map) {
    const auto k = keys.flat<K>();
    const auto v = values.flat<V>();
    for (size_t i = 0; i < k.size(); ++i) {
      const auto [at, is_new] = map.emplace(k[i], v[i]);
      if (is_new || at->second == v[i]) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "HashTable has different value for same key. Key ", Text(k[i]),
          " has ", Text(at->second), " and trying to add value ", Text(v[i])));
    }
    return absl::OkStatus();
  }

  void AddAll(const Tensor& keys, const Tensor& values)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto k = keys.flat<K>();
    const auto v = values.flat<V>();
    for (size_t i = 0; i < k.size(); ++i) map_[k[i]] = v[i];
  }

  const bool is_mutable_;
  mutable absl::Mutex mutex_;
  bool is_initialized_ ABSL_GUARDED_BY(mutex_) = false;
  Map map_ ABSL_GUARDED_BY(mutex_);
};

using TablePtr = std::shared_ptr<LookupTable>;

template <typename K>
TablePtr NewTable(DataType value_type, bool is_mutable) {
  switch (value_type) {
    case DT_STRING:
      return std::make_shared<HashTable<K, std::string>>(is_mutable);
    case DT_INT64:
      return std::make_shared<HashTable<K, int64_t>>(is_mutable);
    case DT_INT32:
      return std::make_shared<HashTable<K, int32_t>>(is_mutable);
    case DT_FLOAT:
      return std::make_shared<HashTable<K, float>>(is_mutable);
    case DT_DOUBLE:
      return std::make_shared<HashTable<K, double>>(is_mutable);
    case DT_BOOL:
      return std::make_shared<HashTable<K, bool>>(is_mutable);
    default:
      return nullptr;
  }
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
  TablePtr table;
  if (key_type == DT_STRING) {
    table = NewTable<std::string>(value_type, is_mutable);
  } else if (key_type == DT_INT64) {
    table = NewTable<int64_t>(value_type, is_mutable);
  } else if (key_type == DT_INT32) {
    table = NewTable<int32_t>(value_type, is_mutable);
  }
  if (table != nullptr) return table;
  return absl::UnimplementedError(absl::StrCat("there is no table from ",
                                               DataTypeName(key_type), " to ",
                                               DataTypeName(value_type)));
}

}  // namespace weft
