// Columns that give ids from several features: crossed and weighted columns.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/feature_column/column.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/logging_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft::feature_column {
namespace {

// TensorFlow's default key for the hash of crosses.
constexpr int64_t kDefaultHashKey = 0xDECAFCAFFE;

// Returns the crossed columns, with nested crosses expanded.
std::vector<CrossedKey> LeavesOf(const std::vector<CrossedKey>& keys) {
  std::vector<CrossedKey> leaves;
  for (const CrossedKey& key : keys) {
    const auto* column = std::get_if<FeatureColumn>(&key);
    std::vector<CrossedKey> inner;
    if (column != nullptr && column->column() != nullptr) {
      inner = column->column()->Leaves();
    }
    if (inner.empty()) inner = {key};
    leaves.insert(leaves.end(), inner.begin(), inner.end());
  }
  return leaves;
}

std::string NameOfKey(const CrossedKey& key) {
  if (const auto* text = std::get_if<std::string>(&key)) return *text;
  return NameOrMark(std::get<FeatureColumn>(key));
}

std::string NameOf(const std::vector<CrossedKey>& leaves) {
  std::vector<std::string> names;
  for (const CrossedKey& leaf : leaves) names.push_back(NameOfKey(leaf));
  std::sort(names.begin(), names.end());
  return absl::StrJoin(names, "_X_");
}

absl::Status CheckKey(const std::string& name, const CrossedKey& key) {
  const auto* column = std::get_if<FeatureColumn>(&key);
  if (column == nullptr) return absl::OkStatus();
  if (column->column() == nullptr) {
    return ColumnError(name, "one of its keys is not a column.");
  }
  RETURN_IF_ERROR(column->status());
  if (!column->is_categorical()) {
    return ColumnError(
        name, absl::StrCat("'", column->name(),
                           "' is not categorical, so it cannot be crossed; "
                           "bucketize numbers first."));
  }
  return column->column()->CheckCrossable();
}

absl::Status CheckCross(const std::string& name,
                        const std::vector<CrossedKey>& keys, int64_t size) {
  if (size < 1) {
    return ColumnError(name, absl::StrCat("hash_bucket_size must be at least "
                                          "1, but is ",
                                          size, "."));
  }
  if (keys.size() < 2) {
    return ColumnError(name, "keys must be at least two, to be crossed.");
  }
  for (const CrossedKey& key : keys) RETURN_IF_ERROR(CheckKey(name, key));
  return absl::OkStatus();
}

class Crossed : public Column {
 public:
  Crossed(const std::vector<CrossedKey>& keys, int64_t size,
          std::optional<int64_t> hash_key)
      : Column(NameOf(LeavesOf(keys)),
               CheckCross(NameOf(LeavesOf(keys)), keys, size)),
        leaves_(LeavesOf(keys)),
        size_(size),
        hash_key_(hash_key.value_or(0) == 0 ? kDefaultHashKey : *hash_key) {}

  std::string Kind() const override { return "crossed"; }
  bool is_categorical() const override { return true; }
  int64_t num_buckets() const override { return size_; }
  std::vector<CrossedKey> Leaves() const override { return leaves_; }

  absl::Status AddParseSpec(ParseSpec& spec) const override {
    for (const CrossedKey& leaf : leaves_) {
      if (const auto* key = std::get_if<std::string>(&leaf)) {
        RETURN_IF_ERROR(AddToSpec(*key, VarLenFeature{DT_STRING}, spec));
      } else {
        RETURN_IF_ERROR(
            std::get<FeatureColumn>(leaf).column()->AddParseSpec(spec));
      }
    }
    return absl::OkStatus();
  }

  Feature Transform(const Scope& scope, FeatureCache& cache) const override {
    Operands operands;
    for (const CrossedKey& leaf : leaves_) {
      const Feature feature = FeatureOf(scope, cache, leaf);
      if (!feature) return Feature();
      scope.UpdateStatus(CheckType(leaf, feature.dtype()));
      if (!scope.ok()) return Feature();
      AddTo(scope, feature, operands);
    }
    return ops::SparseCross(scope, operands.indices, operands.values,
                            operands.shapes, operands.dense,
                            {.num_buckets = size_,
                             .hash_key = hash_key_,
                             .internal_type = operands.internal_type});
  }

 private:
  // Operands holds the operands of the cross op: sparse features, then dense
  // ones.
  struct Operands {
    InputList indices, values, shapes, dense;
    DataType internal_type = DT_STRING;
  };

  Feature FeatureOf(const Scope& scope, FeatureCache& cache,
                    const CrossedKey& leaf) const {
    if (const auto* key = std::get_if<std::string>(&leaf)) {
      return cache.Raw(scope, *key, name_);
    }
    const auto& column = std::get<FeatureColumn>(leaf);
    return column.column()->Ids(scope, cache).ids;
  }
  absl::Status CheckType(const CrossedKey& leaf, DataType dtype) const {
    if (dtype == DT_STRING || dtype == DT_INT64 || dtype == DT_INT32 ||
        dtype == DT_INT16 || dtype == DT_INT8 || dtype == DT_UINT8 ||
        dtype == DT_UINT16) {
      return absl::OkStatus();
    }
    return ColumnError(
        name_,
        absl::StrCat("feature '", NameOfKey(leaf), "' is ", DataTypeName(dtype),
                     ", but strings and integers can be "
                     "crossed; bucketize numbers first."));
  }
  static Output Widen(const Scope& scope, const Output& values,
                      Operands& operands) {
    if (values.dtype() == DT_STRING) return values;
    operands.internal_type = DT_INT64;
    return values.dtype() == DT_INT64 ? values
                                      : ops::Cast(scope, values, DT_INT64);
  }
  static void AddTo(const Scope& scope, const Feature& feature,
                    Operands& operands) {
    if (!feature.is_sparse()) {
      operands.dense.emplace_back(Widen(scope, feature.dense(), operands));
      return;
    }
    const ops::SparseOutputs& sparse = feature.sparse();
    operands.indices.emplace_back(sparse.indices);
    operands.values.emplace_back(Widen(scope, sparse.values, operands));
    operands.shapes.emplace_back(sparse.shape);
  }

  const std::vector<CrossedKey> leaves_;
  const int64_t size_;
  const int64_t hash_key_;
};

std::string WeightedName(const FeatureColumn& column, const std::string& key) {
  return absl::StrCat(NameOrMark(column), "_weighted_by_", key);
}

absl::Status CheckWeighted(const std::string& name, const FeatureColumn& column,
                           DataType dtype) {
  if (column.column() == nullptr) return ColumnError(name, "it has no column.");
  RETURN_IF_ERROR(column.status());
  if (!column.is_categorical()) {
    return ColumnError(
        name, absl::StrCat("'", column.name(), "' is not categorical."));
  }
  if (dtype == DT_STRING || dtype == DT_BOOL) {
    return ColumnError(name, absl::StrCat("weights are numbers, but dtype is ",
                                          DataTypeName(dtype), "."));
  }
  return absl::OkStatus();
}

class Weighted : public Column {
 public:
  Weighted(const FeatureColumn& column, const std::string& key, DataType dtype)
      : Column(WeightedName(column, key),
               CheckWeighted(WeightedName(column, key), column, dtype)),
        column_(column),
        key_(key),
        dtype_(dtype) {}

  std::string Kind() const override { return "weighted"; }
  bool is_categorical() const override { return true; }
  int64_t num_buckets() const override {
    return column_.column()->num_buckets();
  }
  const Column& IdColumn() const override {
    return column_.column()->IdColumn();
  }
  absl::Status CheckCrossable() const override {
    return ColumnError(name_,
                       "a weighted column cannot be crossed; cross the column "
                       "that it weighs.");
  }
  absl::Status AddParseSpec(ParseSpec& spec) const override {
    RETURN_IF_ERROR(column_.column()->AddParseSpec(spec));
    return AddToSpec(key_, VarLenFeature{dtype_}, spec);
  }

  // Returns the weights as a feature.
  Feature Transform(const Scope& scope, FeatureCache& cache) const override {
    const Feature raw = cache.Raw(scope, key_, name_);
    if (!raw) return Feature();
    if (raw.dtype() == DT_STRING || raw.dtype() == DT_BOOL) {
      scope.UpdateStatus(ColumnError(
          name_, absl::StrCat("weights are numbers, but feature '", key_,
                              "' is ", DataTypeName(raw.dtype()), ".")));
      return Feature();
    }
    ops::SparseOutputs weights = ToSparse(scope, AsFloats(scope, raw));
    return weights.values ? Feature(weights) : Feature();
  }

  IdsAndWeights Ids(const Scope& scope, FeatureCache& cache) const override {
    IdsAndWeights result = column_.column()->Ids(scope, cache);
    const Feature weights = cache.Transformed(scope, *this);
    if (!weights || !result.ids.values) return {};
    result.weights = weights.sparse();
    result.weights.values =
        OneEach(scope, result.ids.values, result.weights.values);
    if (!result.weights.values) return {};
    return result;
  }

 private:
  static Feature AsFloats(const Scope& scope, const Feature& raw) {
    if (raw.dtype() == DT_FLOAT) return raw;
    if (!raw.is_sparse()) return ops::Cast(scope, raw.dense(), DT_FLOAT);
    ops::SparseOutputs weights = raw.sparse();
    weights.values = ops::Cast(scope, weights.values, DT_FLOAT);
    return weights;
  }
  // Returns `weights` with a run-time check that there is one weight per id.
  // Missing values of dense ids and dense weights are dropped independently,
  // which would misalign them.
  Output OneEach(const Scope& scope, const Output& ids,
                 const Output& weights) const {
    const Output wanted = ops::Size(scope, ids);
    const Output given = ops::Size(scope, weights);
    const Operation one_each = ops::Assert(
        scope.WithName("assert_one_weight_each"),
        ops::Equal(scope, wanted, given),
        {absl::StrCat("Feature column ", name_,
                      ": each id needs one weight of ", key_,
                      ". In dense features an empty string and -1 are not ids, "
                      "and 0 is not a weight: pad both at the same places, or "
                      "give sparse ones. Ids, weights:"),
         wanted, given});
    if (!scope.ok()) return Output();
    return ops::Identity(scope.WithControlDependencies({one_each}), weights);
  }

  const FeatureColumn column_;
  const std::string key_;
  const DataType dtype_;
};

}  // namespace

FeatureColumn CrossedColumn(const std::vector<CrossedKey>& keys,
                            int64_t hash_bucket_size,
                            std::optional<int64_t> hash_key) {
  return MakeColumn(
      std::make_shared<Crossed>(keys, hash_bucket_size, hash_key));
}

FeatureColumn WeightedCategoricalColumn(const FeatureColumn& categorical_column,
                                        const std::string& weight_feature_key,
                                        DataType dtype) {
  return MakeColumn(std::make_shared<Weighted>(categorical_column,
                                               weight_feature_key, dtype));
}

}  // namespace weft::feature_column
