#include "libs/resource/dense_table.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"
#include "libs/resource/table_elements.h"

namespace weft {
namespace {

using tables::Elements;

constexpr int64_t kMinBuckets = 4;

// Returns a tensor of `rows` rows, each with the elements of `shape`.
absl::StatusOr<Tensor> NewRows(DataType type, int64_t rows,
                               const TensorShape& shape) {
  ASSIGN_OR_RETURN(const TensorShape whole,
                   TensorShape::Create({rows, shape.num_elements()}));
  return Tensor::Allocate(HeapAllocator(), type, whole);
}

// Charges the strings of row `row`, which has `size` elements. Numbers need no
// charge.
absl::Status ChargeRow(HeapCharge& charge, const Tensor& tensor, int64_t row,
                       int64_t size) {
  if (tensor.dtype() != DT_STRING) return absl::OkStatus();
  size_t bytes = 0;
  for (const std::string& text : tensor.flat<std::string>().subspan(
           static_cast<size_t>(row * size), static_cast<size_t>(size))) {
    bytes += HeapCharge::BytesOfString(text.size());
  }
  return charge.Add(bytes);
}

// Copies row `from` of tensor `in` to row `to` of tensor `out`. Rows have
// `size` elements.
void CopyRow(const Tensor& in, int64_t from, int64_t size, Tensor& out,
             int64_t to) {
  if (in.dtype() == DT_STRING) {
    std::copy_n(in.flat<std::string>().begin() + from * size, size,
                out.mutable_flat<std::string>().begin() + to * size);
    return;
  }
  const size_t bytes = DataTypeSize(in.dtype()) * static_cast<size_t>(size);
  if (bytes == 0) return;
  std::memcpy(static_cast<char*>(out.mutable_data()) + to * bytes,
              static_cast<const char*>(in.data()) + from * bytes, bytes);
}

// DenseTable is the implementation of the table. K, the type of its keys, is
// std::string or tables::Number.
template <typename K>
class DenseTable : public LookupTable {
 public:
  explicit DenseTable(const DenseTableOptions& options)
      : options_(options),
        key_size_(options.empty_key.num_elements()),
        value_size_(options.value_shape.num_elements()) {}

  // Allocates the buckets. Must be called before all other methods.
  absl::Status Begin() {
    absl::MutexLock lock(&mutex_);
    return AllocateBuckets(options_.num_buckets);
  }

  std::string DebugString() const override {
    return absl::StrCat("a dense table from ", DataTypeName(key_type()), " to ",
                        DataTypeName(value_type()), " of ", size(), " entries");
  }
  DataType key_type() const override { return options_.empty_key.dtype(); }
  DataType value_type() const override { return options_.value_type; }
  TensorShape key_shape() const override { return options_.empty_key.shape(); }
  TensorShape value_shape() const override { return options_.value_shape; }
  bool is_mutable() const override { return true; }
  bool is_dense() const override { return true; }
  int64_t size() const override {
    absl::ReaderMutexLock lock(&mutex_);
    return num_entries_;
  }

  absl::Status Find(const Tensor& keys, const Tensor& fallback, Tensor& values,
                    HeapCharge& charge) const override {
    const int64_t count = CountOf(keys);
    const bool has_one = fallback.num_elements() == value_size_;
    absl::ReaderMutexLock lock(&mutex_);
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(CheckKey(keys, i));
      const int64_t bucket = BucketOf(keys, i);
      const Tensor& from = bucket >= 0 ? values_ : fallback;
      const int64_t row = bucket >= 0 ? bucket : has_one ? 0 : i;
      RETURN_IF_ERROR(ChargeRow(charge, from, row, value_size_));
      CopyRow(from, row, value_size_, values, i);
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
    const int64_t count = CountOf(keys);
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    RETURN_IF_ERROR(MakeRoomFor(count));
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(CheckKey(keys, i));
      // The key may be in a bucket after one whose key was removed, so the
      // search must not stop at the removed key.
      const int64_t bucket = BucketOf(keys, i);
      if (bucket >= 0) {
        CopyRow(values, i, value_size_, values_, bucket);
      } else {
        RETURN_IF_ERROR(Set(keys, values, i));
      }
    }
    return absl::OkStatus();
  }

  absl::Status Remove(const Cancellation& step, const Tensor& keys) override {
    const int64_t count = CountOf(keys);
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(CheckKey(keys, i));
      const int64_t bucket = BucketOf(keys, i);
      if (bucket < 0) continue;
      CopyRow(options_.deleted_key, 0, key_size_, keys_, bucket);
      --num_entries_;
      ++num_deleted_;
    }
    return absl::OkStatus();
  }

  // Replaces all buckets. `keys` and `values` have the format of Export.
  absl::Status Import(const Cancellation& step, const Tensor& keys,
                      const Tensor& values) override {
    const int64_t buckets = CountOf(keys);
    RETURN_IF_ERROR(CheckBuckets(buckets));
    if (keys.num_elements() != buckets * key_size_ ||
        values.num_elements() != buckets * value_size_) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot import keys of shape ", keys.shape().ToString(),
                       " and values of shape ", values.shape().ToString(),
                       ": these are not the buckets of such a table"));
    }
    ASSIGN_OR_RETURN(const Tensor new_keys, CopyOf(keys, buckets, key_size_));
    ASSIGN_OR_RETURN(const Tensor new_values,
                     CopyOf(values, buckets, value_size_));
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    keys_ = new_keys;
    values_ = new_values;
    num_buckets_ = buckets;
    num_entries_ = num_deleted_ = 0;
    for (int64_t i = 0; i < buckets; ++i) {
      if (IsEqual(keys_, i, options_.deleted_key, 0)) ++num_deleted_;
      if (!IsMark(keys_, i)) ++num_entries_;
    }
    return absl::OkStatus();
  }

  // Returns copies of the buckets, because the table may continue to change.
  absl::StatusOr<std::pair<Tensor, Tensor>> Export(
      HeapCharge& charge) const override {
    absl::ReaderMutexLock lock(&mutex_);
    RETURN_IF_ERROR(ChargeRow(charge, keys_, 0, keys_.num_elements()));
    RETURN_IF_ERROR(ChargeRow(charge, values_, 0, values_.num_elements()));
    ASSIGN_OR_RETURN(Tensor keys, keys_.DeepCopy(HeapAllocator()));
    ASSIGN_OR_RETURN(Tensor values, values_.DeepCopy(HeapAllocator()));
    return std::make_pair(std::move(keys), std::move(values));
  }

 private:
  // Returns the number of keys in a tensor: the number of its rows, or 1 for a
  // single key.
  int64_t CountOf(const Tensor& keys) const {
    return key_size_ == 0 ? 0 : keys.num_elements() / key_size_;
  }

  static absl::Status CheckBuckets(int64_t buckets) {
    if (buckets >= kMinBuckets && (buckets & (buckets - 1)) == 0) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "Number of buckets must be at least 4 and a power of 2, got: ",
        buckets));
  }

  static absl::StatusOr<Tensor> CopyOf(const Tensor& tensor, int64_t rows,
                                       int64_t size) {
    ASSIGN_OR_RETURN(const Tensor matrix, tensor.Reshaped({rows, size}));
    return matrix.DeepCopy(HeapAllocator());
  }

  bool IsEqual(const Tensor& a, int64_t i, const Tensor& b, int64_t j) const {
    const Elements<K> x(a), y(b);
    for (int64_t k = 0; k < key_size_; ++k) {
      if (x[i * key_size_ + k] != y[j * key_size_ + k]) return false;
    }
    return true;
  }
  bool IsMark(const Tensor& keys, int64_t i) const {
    return IsEqual(keys, i, options_.empty_key, 0) ||
           IsEqual(keys, i, options_.deleted_key, 0);
  }
  absl::Status CheckKey(const Tensor& keys, int64_t i) const {
    if (IsEqual(keys, i, options_.empty_key, 0)) {
      return absl::InvalidArgumentError(
          "Using the empty_key as a table key is not allowed");
    }
    if (IsEqual(keys, i, options_.deleted_key, 0)) {
      return absl::InvalidArgumentError(
          "Using the deleted_key as a table key is not allowed");
    }
    return absl::OkStatus();
  }

  uint64_t HashOf(const std::string& key) const { return options_.hash(key); }
  static uint64_t HashOf(tables::Number key) {
    return static_cast<uint64_t>(key);
  }
  uint64_t HashKey(const Tensor& keys, int64_t i) const {
    const Elements<K> k(keys);
    if (key_size_ == 1) return HashOf(k[i]);
    uint64_t hash = 0;
    for (int64_t j = 0; j < key_size_; ++j) {
      const uint64_t next = HashOf(k[i * key_size_ + j]);
      hash ^= next + 0x9e3779b97f4a7800u + (hash << 10) + (hash >> 4);
    }
    return hash;
  }

  // Calls `visit` with each bucket that may hold a key, in the order of the
  // search, until `visit` returns true. Returns whether it did.
  template <typename Visit>
  bool Probe(const Tensor& keys, int64_t i, const Visit& visit) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    const auto mask = static_cast<uint64_t>(num_buckets_ - 1);
    uint64_t bucket = HashKey(keys, i) & mask;
    for (uint64_t probes = 0; probes <= mask;) {
      if (visit(static_cast<int64_t>(bucket))) return true;
      ++probes;
      bucket = (bucket + probes) & mask;
    }
    return false;
  }

  // Returns the bucket of a key, or -1 if the table does not have the key.
  int64_t BucketOf(const Tensor& keys, int64_t i) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    int64_t found = -1;
    Probe(keys, i, [&](int64_t bucket) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (IsEqual(keys_, bucket, keys, i)) found = bucket;
      return found >= 0 || IsEqual(keys_, bucket, options_.empty_key, 0);
    });
    return found;
  }

  // Inserts a key that the table does not have into the first free bucket.
  absl::Status Set(const Tensor& keys, const Tensor& values, int64_t i)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const bool is_set =
        Probe(keys, i, [&](int64_t bucket) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          if (!IsMark(keys_, bucket)) return false;
          if (IsEqual(keys_, bucket, options_.deleted_key, 0)) --num_deleted_;
          CopyRow(keys, i, key_size_, keys_, bucket);
          CopyRow(values, i, value_size_, values_, bucket);
          return true;
        });
    if (!is_set) {
      return absl::InternalError(
          "Internal error in MutableDenseHashTable: no bucket is free");
    }
    ++num_entries_;
    return absl::OkStatus();
  }

  absl::Status AllocateBuckets(int64_t buckets)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    RETURN_IF_ERROR(CheckBuckets(buckets));
    ASSIGN_OR_RETURN(Tensor keys,
                     NewRows(key_type(), buckets, options_.empty_key.shape()));
    ASSIGN_OR_RETURN(Tensor values,
                     NewRows(value_type(), buckets, options_.value_shape));
    // Values of empty buckets are set to zero, because checkpoints contain them
    // too.
    if (value_type() != DT_STRING && values.num_bytes() > 0) {
      std::memset(values.mutable_data(), 0, values.num_bytes());
    }
    for (int64_t i = 0; i < buckets; ++i) {
      CopyRow(options_.empty_key, 0, key_size_, keys, i);
    }
    keys_ = std::move(keys);
    values_ = std::move(values);
    num_buckets_ = buckets;
    num_entries_ = num_deleted_ = 0;
    return absl::OkStatus();
  }

  // Ensures that at least one bucket is empty after `more` insertions, because
  // each search ends at an empty bucket. Removed keys are cleared before they
  // take the last empty buckets. (TensorFlow's table fails at that point.)
  absl::Status MakeRoomFor(int64_t more) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto needed = static_cast<float>(num_entries_ + more);
    int64_t buckets = num_buckets_;
    while (needed > static_cast<float>(buckets) * options_.max_load_factor) {
      if (buckets > (int64_t{1} << 40)) {
        return absl::ResourceExhaustedError(absl::StrCat(
            "cannot hold ", num_entries_ + more, " entries in a table with a ",
            "load factor of at most ", options_.max_load_factor));
      }
      buckets *= 2;
    }
    const bool is_crowded = num_entries_ + num_deleted_ + more >= num_buckets_;
    const bool has_removed = num_deleted_ > 0;
    if (buckets == num_buckets_ && !(is_crowded && has_removed)) {
      return absl::OkStatus();
    }
    return MoveTo(buckets);
  }

  absl::Status MoveTo(int64_t buckets) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Tensor old_keys = keys_, old_values = values_;
    const int64_t old_buckets = num_buckets_;
    RETURN_IF_ERROR(AllocateBuckets(buckets));
    for (int64_t i = 0; i < old_buckets; ++i) {
      if (!IsMark(old_keys, i)) RETURN_IF_ERROR(Set(old_keys, old_values, i));
    }
    return absl::OkStatus();
  }

  const DenseTableOptions options_;
  const int64_t key_size_, value_size_;
  mutable absl::Mutex mutex_;
  Tensor keys_ ABSL_GUARDED_BY(mutex_);
  Tensor values_ ABSL_GUARDED_BY(mutex_);
  int64_t num_buckets_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t num_entries_ ABSL_GUARDED_BY(mutex_) = 0;
  // The number of buckets whose keys were removed and that no other key has
  // taken since.
  int64_t num_deleted_ ABSL_GUARDED_BY(mutex_) = 0;
};

absl::Status CheckMarks(const Tensor& empty, const Tensor& deleted) {
  if (empty.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Empty key must be a scalar or a vector, got shape ",
                     empty.shape().ToString()));
  }
  if (empty.shape() != deleted.shape()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Empty and deleted keys must have same shape, got shapes: ",
        empty.shape().ToString(), " and ", deleted.shape().ToString()));
  }
  if (empty.num_elements() == 0 || SameBits(empty, deleted)) {
    return absl::InvalidArgumentError("Empty and deleted keys cannot be equal");
  }
  return absl::OkStatus();
}

template <typename K>
absl::StatusOr<std::shared_ptr<LookupTable>> New(
    const DenseTableOptions& options) {
  auto table = std::make_shared<DenseTable<K>>(options);
  RETURN_IF_ERROR(table->Begin());
  return table;
}

}  // namespace

absl::StatusOr<std::shared_ptr<LookupTable>> NewDenseTable(
    const DenseTableOptions& options) {
  const DataType key_type = options.empty_key.dtype();
  if (!absl::c_linear_search(TableKeyTypes(), key_type) ||
      !absl::c_linear_search(TableValueTypes(), options.value_type)) {
    return absl::UnimplementedError(
        absl::StrCat("dense tables from ", DataTypeName(key_type), " to ",
                     DataTypeName(options.value_type), " are not supported"));
  }
  RETURN_IF_ERROR(CheckMarks(options.empty_key, options.deleted_key));
  // The condition is written so that NaN is rejected as well.
  if (!(options.max_load_factor > 0 && options.max_load_factor < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_load_factor must be between 0 and 1, got: ",
                     options.max_load_factor));
  }
  if (options.value_shape.rank() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("Empty value must be a scalar or a vector, got shape ",
                     options.value_shape.ToString()));
  }
  // The keys are copied, because the caller may write to their memory later.
  DenseTableOptions own = options;
  ASSIGN_OR_RETURN(own.empty_key, options.empty_key.DeepCopy(HeapAllocator()));
  ASSIGN_OR_RETURN(own.deleted_key,
                   options.deleted_key.DeepCopy(HeapAllocator()));
  return key_type == DT_STRING ? New<std::string>(own)
                               : New<tables::Number>(own);
}

}  // namespace weft
