// Columns that map one feature to ids: identity, hash bucket, vocabulary.
#include <cstdint>
#include <limits>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/feature_column/column.h"
#include "libs/fs/input_stream.h"
#include "libs/fs/local_file_system.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/resource/lookup_ops.h"
#include "libs/ops/string/string_ops.h"

namespace weft::feature_column {
namespace {

// OfOneFeature is the common base of columns with one feature.
class OfOneFeature : public Column {
 public:
  OfOneFeature(std::string key, DataType dtype, absl::Status status)
      : Column(std::move(key), std::move(status)), dtype_(dtype) {}

  bool is_categorical() const override { return true; }
  absl::Status AddParseSpec(ParseSpec& spec) const override {
    return AddToSpec(
        name_, VarLenFeature{dtype_ == DT_STRING ? DT_STRING : DT_INT64}, spec);
  }
  Feature Transform(const Scope& scope, FeatureCache& cache) const override {
    const Feature raw = cache.Raw(scope, name_, name_);
    if (!raw) return Feature();
    scope.UpdateStatus(CheckType(raw.dtype()));
    if (!scope.ok()) return Feature();
    ops::SparseOutputs ids = ToSparse(scope, raw);
    if (!ids.values) return Feature();
    ids.values = IdsOf(scope, ids.values);
    return ids;
  }

 protected:
  // Returns the ids of a vector of values. The values are strings or integers,
  // according to dtype_.
  virtual Output IdsOf(const Scope& scope, const Output& values) const = 0;

 private:
  absl::Status CheckType(DataType dtype) const {
    const bool fits =
        dtype_ == DT_STRING ? dtype == DT_STRING : IsIntegerType(dtype);
    if (fits) return absl::OkStatus();
    return ColumnError(
        name_,
        absl::StrCat("the feature is ", DataTypeName(dtype),
                     ", but the column takes ",
                     dtype_ == DT_STRING ? "strings" : "integers",
                     "; give the column a dtype that fits, or the feature "
                     "another type."));
  }

  const DataType dtype_;
};

absl::Status CheckAtLeastOne(const std::string& key, const char* what,
                             int64_t number) {
  if (number >= 1) return absl::OkStatus();
  return ColumnError(
      key, absl::StrCat(what, " must be at least 1, but is ", number, "."));
}

absl::Status CheckIdentity(const std::string& key, int64_t num_buckets,
                           std::optional<int64_t> default_value) {
  RETURN_IF_ERROR(CheckAtLeastOne(key, "num_buckets", num_buckets));
  if (!default_value || (*default_value >= 0 && *default_value < num_buckets)) {
    return absl::OkStatus();
  }
  return ColumnError(key,
                     absl::StrCat("default_value ", *default_value,
                                  " is not in range [0, ", num_buckets, ")."));
}

class Identity : public OfOneFeature {
 public:
  Identity(const std::string& key, int64_t num_buckets,
           std::optional<int64_t> default_value)
      : OfOneFeature(key, DT_INT64,
                     CheckIdentity(key, num_buckets, default_value)),
        num_buckets_(num_buckets),
        default_value_(default_value) {}

  std::string Kind() const override { return "identity"; }
  int64_t num_buckets() const override { return num_buckets_; }

 protected:
  Output IdsOf(const Scope& scope, const Output& values) const override {
    const Output ids = ops::Cast(scope, values, DT_INT64);
    if (!default_value_) return ids;
    const Output is_in_range =
        ops::LogicalAnd(scope, ops::GreaterEqual(scope, ids, 0),
                        ops::Less(scope, ids, Tensor::Scalar(num_buckets_)));
    return ops::SelectV2(scope, is_in_range, ids,
                         Tensor::Scalar(*default_value_));
  }

 private:
  const int64_t num_buckets_;
  const std::optional<int64_t> default_value_;
};

absl::Status CheckDtype(const std::string& key, DataType dtype) {
  if (dtype == DT_STRING || IsIntegerType(dtype)) return absl::OkStatus();
  return ColumnError(key, absl::StrCat("dtype must be string or integer, but "
                                       "is ",
                                       DataTypeName(dtype), "."));
}

class HashBucket : public OfOneFeature {
 public:
  HashBucket(const std::string& key, int64_t size, DataType dtype)
      : OfOneFeature(key, dtype, Check(key, size, dtype)), size_(size) {}

  std::string Kind() const override { return "hash bucket"; }
  int64_t num_buckets() const override { return size_; }
  absl::Status CheckCrossable() const override {
    return ColumnError(name_,
                       "a column of hash buckets cannot be crossed, for it is "
                       "hashed already; cross the feature, by its key.");
  }

 protected:
  Output IdsOf(const Scope& scope, const Output& values) const override {
    const Output text =
        values.dtype() == DT_STRING ? values : ops::AsString(scope, values);
    return ops::StringToHashBucketFast(scope, text, size_);
  }

 private:
  static absl::Status Check(const std::string& key, int64_t size,
                            DataType dtype) {
    RETURN_IF_ERROR(CheckAtLeastOne(key, "hash_bucket_size", size));
    return CheckDtype(key, dtype);
  }

  const int64_t size_;
};

absl::Status CheckVocabulary(const std::string& key, int64_t size,
                             const VocabularyOptions& options) {
  RETURN_IF_ERROR(CheckDtype(key, options.dtype));
  if (size < 1) {
    return ColumnError(key, "the vocabulary must not be empty.");
  }
  if (options.num_oov_buckets < 0) {
    return ColumnError(key, absl::StrCat("num_oov_buckets must not be "
                                         "negative, but is ",
                                         options.num_oov_buckets, "."));
  }
  if (options.num_oov_buckets > 0 && options.default_value != -1) {
    return ColumnError(key,
                       "num_oov_buckets and default_value say both what "
                       "becomes of unknown values; give one of them.");
  }
  if (options.default_value < -1 || options.default_value >= size) {
    return ColumnError(key,
                       absl::StrCat("default_value ", options.default_value,
                                    " is not in range [0, ", size, ")."));
  }
  return absl::OkStatus();
}

// Vocabulary maps the `size` values of a list or a file to ids with a table.
// Other values go to out-of-vocabulary buckets, or get the default id.
class Vocabulary : public OfOneFeature {
 public:
  Vocabulary(const std::string& key, int64_t size, VocabularyOptions options,
             const absl::Status& status)
      : OfOneFeature(
            key, options.dtype,
            status.ok() ? CheckVocabulary(key, size, options) : status),
        size_(size),
        options_(std::move(options)) {}

  int64_t num_buckets() const override {
    return size_ + options_.num_oov_buckets;
  }

 protected:
  // Returns the lookup table. Operations in collection "table_initializer"
  // initialize it.
  virtual Output Table(const Scope& scope) const = 0;
  virtual DataType TableKeys() const = 0;

  Output IdsOf(const Scope& scope, const Output& values) const override {
    const Output table = Table(scope.WithoutControlDependencies());
    if (!table) return Output();
    const Output ids =
        ops::LookupTableFind(scope, table, Keys(scope, values),
                             Tensor::Scalar(options_.default_value));
    if (options_.num_oov_buckets == 0 || !ids) return ids;
    const Output bucket = ops::StringToHashBucketFast(
        scope, Text(scope, values), options_.num_oov_buckets);
    return ops::SelectV2(scope, ops::NotEqual(scope, ids, -1), ids,
                         ops::Add(scope, bucket, Tensor::Scalar(size_)));
  }

  const int64_t size_;
  const VocabularyOptions options_;

 private:
  static Output Text(const Scope& scope, const Output& values) {
    return values.dtype() == DT_STRING ? values : ops::AsString(scope, values);
  }
  Output Keys(const Scope& scope, const Output& values) const {
    if (TableKeys() == DT_STRING) return Text(scope, values);
    return values.dtype() == DT_INT64 ? values
                                      : ops::Cast(scope, values, DT_INT64);
  }
};

template <typename T>
class VocabularyList : public Vocabulary {
 public:
  VocabularyList(const std::string& key, const std::vector<T>& list,
                 const VocabularyOptions& options)
      : Vocabulary(key, static_cast<int64_t>(list.size()), options,
                   CheckList(key, list, options.dtype)),
        list_(list) {}

  std::string Kind() const override { return "vocabulary list"; }

 protected:
  DataType TableKeys() const override { return DataTypeOf<T>::value; }
  Output Table(const Scope& scope) const override {
    const Scope inner = scope.SubScope("vocabulary");
    const Output table =
        ops::HashTable(inner.WithName("hash_table"), TableKeys(), DT_INT64);
    Tensor ids(DT_INT64, TensorShape({size_}));
    for (int64_t i = 0; i < size_; ++i) ids.mutable_flat<int64_t>()[i] = i;
    scope.AddToCollection(
        collection::kTableInitializers,
        ops::InitializeTable(
            inner, table, Tensor::Vector<T>(absl::MakeConstSpan(list_)), ids));
    return table;
  }

 private:
  static absl::Status CheckList(const std::string& key,
                                const std::vector<T>& list, DataType dtype) {
    if ((dtype == DT_STRING) != (DataTypeOf<T>::value == DT_STRING)) {
      return ColumnError(
          key,
          absl::StrCat("dtype ", DataTypeName(dtype), " and the vocabulary, ",
                       DataTypeName(DataTypeOf<T>::value), ", do not match."));
    }
    std::set<T> seen;
    for (const T& value : list) {
      if (seen.insert(value).second) continue;
      return ColumnError(key, absl::StrCat("the vocabulary has '", value,
                                           "' twice; leave one out."));
    }
    return absl::OkStatus();
  }

  const std::vector<T> list_;
};

absl::StatusOr<int64_t> CountLines(const std::string& path) {
  LocalFileSystem files;
  ASSIGN_OR_RETURN(auto file, files.NewRandomAccessFile(path));
  auto stream = NewInputStream(std::move(file), Compression::kNone);
  LineReader lines(*stream);
  std::string line;
  int64_t count = 0;
  absl::Status status;
  while ((status = lines.ReadLine(line)).ok()) ++count;
  if (!absl::IsOutOfRange(status)) return status;
  return count;
}

class VocabularyFile : public Vocabulary {
 public:
  // `is_here`: whether this process has read the file.
  VocabularyFile(const std::string& key, std::string path, int64_t size,
                 const VocabularyOptions& options, const absl::Status& status,
                 bool is_here)
      : Vocabulary(key, size, options, status),
        key_(key),
        path_(std::move(path)),
        is_here_(is_here) {}

  std::string Kind() const override { return "vocabulary file"; }

 protected:
  // As in TensorFlow, lines of integers are parsed, so "007" is 7.
  DataType TableKeys() const override {
    return options_.dtype == DT_STRING ? DT_STRING : DT_INT64;
  }
  Output Table(const Scope& scope) const override {
    scope.UpdateStatus(CheckStillThere());
    if (!scope.ok()) return Output();
    const Scope inner = scope.SubScope("vocabulary");
    const Output table =
        ops::HashTable(inner.WithName("hash_table"), TableKeys(), DT_INT64);
    // Exporting a model copies the file, and feeds the new path of the copy to
    // this constant.
    const Output path = inner.ToOutput(path_, "asset_filepath");
    if (path) scope.AddToCollection(ops::kAssetFilepaths, path);
    ops::TextFileTable lines;
    lines.vocab_size = size_;
    scope.AddToCollection(
        collection::kTableInitializers,
        ops::InitializeTableFromTextFile(inner, table, path, lines));
    return table;
  }

 private:
  // Checks that the file still exists, if this process has read it before.
  // Otherwise only the tasks can read the file, and they check it.
  absl::Status CheckStillThere() const {
    if (!is_here_) return absl::OkStatus();
    const absl::Status exists = LocalFileSystem().FileExists(path_);
    if (exists.ok()) return exists;
    return ColumnError(
        key_, absl::StrCat("vocabulary_file '", path_,
                           "' was there when the column was made, but cannot "
                           "be read any more (",
                           exists.message(),
                           "); put it back, or make the column anew with the "
                           "path where it is now."));
  }

  const std::string key_;
  const std::string path_;
  const bool is_here_;
};

}  // namespace

FeatureColumn CategoricalColumnWithIdentity(
    const std::string& key, int64_t num_buckets,
    std::optional<int64_t> default_value) {
  return MakeColumn(
      std::make_shared<Identity>(key, num_buckets, default_value));
}

FeatureColumn CategoricalColumnWithHashBucket(const std::string& key,
                                              int64_t hash_bucket_size,
                                              DataType dtype) {
  return MakeColumn(std::make_shared<HashBucket>(key, hash_bucket_size, dtype));
}

FeatureColumn CategoricalColumnWithVocabularyList(
    const std::string& key, const std::vector<std::string>& vocabulary_list,
    const VocabularyOptions& options) {
  VocabularyOptions typed = options;
  if (typed.dtype == DT_INVALID) typed.dtype = DT_STRING;
  return MakeColumn(std::make_shared<VocabularyList<std::string>>(
      key, vocabulary_list, typed));
}

FeatureColumn CategoricalColumnWithVocabularyList(
    const std::string& key, const std::vector<int64_t>& vocabulary_list,
    const VocabularyOptions& options) {
  VocabularyOptions typed = options;
  if (typed.dtype == DT_INVALID) typed.dtype = DT_INT64;
  return MakeColumn(
      std::make_shared<VocabularyList<int64_t>>(key, vocabulary_list, typed));
}

FeatureColumn CategoricalColumnWithVocabularyFile(
    const std::string& key, const std::string& vocabulary_file,
    std::optional<int64_t> vocabulary_size, const VocabularyOptions& options) {
  VocabularyOptions typed = options;
  if (typed.dtype == DT_INVALID) typed.dtype = DT_STRING;
  absl::Status status;
  const bool is_here = !vocabulary_size;
  if (is_here) {
    const auto lines = CountLines(vocabulary_file);
    if (lines.ok()) {
      vocabulary_size = *lines;
    } else {
      status = ColumnError(
          key, absl::StrCat("vocabulary_file '", vocabulary_file,
                            "' cannot be read (", lines.status().message(),
                            "); give its path, and vocabulary_size where only "
                            "the workers can read it."));
    }
  }
  return MakeColumn(std::make_shared<VocabularyFile>(
      key, vocabulary_file, vocabulary_size.value_or(0), typed, status,
      is_here));
}

}  // namespace weft::feature_column
