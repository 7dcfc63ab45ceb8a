#include "libs/feature_column/column.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "libs/base/keys_of.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"

namespace weft::feature_column {
namespace {

std::string WhatIsIn(const Features& features) {
  if (features.empty()) return "it is empty";
  return absl::StrCat("it has: ", KeysOf(features));
}

// Returns the shape of `values`. If it has only the batch dimension, a
// dimension of size 1 is appended.
Output WithColumnIfVector(const Scope& scope, const Output& values) {
  const Output is_vector = ops::Cast(
      scope, ops::Equal(scope, ops::Rank(scope, values), 1), DT_INT32);
  const Output ones = ops::Fill(scope, ops::ExpandDims(scope, is_vector, 0), 1);
  return ops::Reshape(scope, values,
                      ops::Concat(scope, {ops::Shape(scope, values), ones}, 0));
}

Output WithDimensions(const Scope& scope, const std::string& key,
                      const Output& values) {
  if (!values) return values;
  if (!values.shape().has_rank()) return WithColumnIfVector(scope, values);
  if (values.shape().rank() == 1) return ops::ExpandDims(scope, values, -1);
  if (values.shape().rank() > 1) return values;
  scope.UpdateStatus(absl::InvalidArgumentError(
      absl::StrCat("Feature (key: ", key,
                   ") cannot have rank 0: its first dimension is the batch.")));
  return Output();
}

ops::SparseOutputs WithDimensions(const Scope& scope,
                                  const ops::SparseOutputs& values) {
  if (!values.shape || !values.shape.shape().has_rank() ||
      values.shape.shape().dim(0) != 1) {
    return values;
  }
  const auto reshaped = ops::SparseReshape(scope, values.indices, values.shape,
                                           Tensor::Vector<int64_t>({-1, 1}));
  return {reshaped.output_indices, values.values, reshaped.output_shape};
}

Tensor NoValue(DataType dtype) {
  if (dtype == DT_STRING) return Tensor::Scalar(std::string());
  return Tensor::Scalar(int32_t{-1});
}

Output IsValue(const Scope& scope, const Output& values) {
  switch (values.dtype()) {
    case DT_STRING:
      return ops::NotEqual(scope, values, NoValue(DT_STRING));
    case DT_FLOAT:
    case DT_DOUBLE:
    case DT_HALF:
    case DT_BFLOAT16:
      return ops::NotEqual(scope, values, 0);
    case DT_UINT8:
    case DT_UINT16:
    case DT_UINT32:
    case DT_UINT64:
      // The missing value -1, cast to an unsigned type as in TensorFlow, is the
      // largest value of that type.
      return ops::NotEqual(scope, values,
                           ops::Cast(scope, NoValue(DT_INT32), values.dtype()));
    default:
      return ops::NotEqual(scope, values, -1);
  }
}

bool ByName(const FeatureColumn& a, const FeatureColumn& b) {
  return a.name() < b.name();
}

absl::Status CheckColumn(const FeatureColumn& column, absl::string_view what) {
  if (column.column() != nullptr) return column.status();
  return absl::InvalidArgumentError(absl::StrCat(
      what,
      " contain a default-constructed FeatureColumn; use NumericColumn or "
      "a similar function."));
}

}  // namespace

const std::string& FeatureColumn::name() const { return column_->name(); }
const absl::Status& FeatureColumn::status() const { return column_->status(); }
bool FeatureColumn::is_categorical() const { return column_->is_categorical(); }
bool FeatureColumn::is_dense() const { return column_->is_dense(); }

Feature FeatureCache::Raw(const Scope& scope, const std::string& key,
                          absl::string_view column) {
  const auto known = raw_.find(key);
  if (known != raw_.end()) return known->second;
  const auto found = features_.find(key);
  if (found == features_.end()) {
    scope.UpdateStatus(ColumnError(
        column,
        absl::StrCat("Feature ", key, " is not in features dictionary (",
                     WhatIsIn(features_),
                     "). Return it from the input function.")));
    return Feature();
  }
  if (!scope.ok() || !found->second) return Feature();
  const Feature& given = found->second;
  return raw_[key] = given.is_sparse()
                         ? Feature(WithDimensions(scope, given.sparse()))
                         : Feature(WithDimensions(scope, key, given.dense()));
}

Feature FeatureCache::Transformed(const Scope& scope, const Column& column) {
  const auto known = transformed_.find(&column);
  if (known != transformed_.end()) return known->second;
  if (!scope.ok()) return Feature();
  return transformed_[&column] = column.Transform(scope, *this);
}

IdsAndWeights Column::Ids(const Scope& scope, FeatureCache& cache) const {
  const Feature ids = cache.Transformed(scope, *this);
  if (!ids) return {};
  return {ids.sparse(), {}};
}

std::vector<CrossedKey> Column::Leaves() const { return {}; }

Output Column::DenseTensor(const Scope& scope, FeatureCache& cache,
                           const DenseOptions&) const {
  const Feature values = cache.Transformed(scope, *this);
  return values ? values.dense() : Output();
}

std::string SafeScopeName(absl::string_view name) {
  std::string safe(name);
  for (char& c : safe) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.' && c != '-') c = '_';
  }
  return safe;
}

std::string NameOrMark(const FeatureColumn& column) {
  return column.column() == nullptr ? "?" : column.name();
}

absl::Status ColumnError(absl::string_view name, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("Feature column '", name, "': ", text));
}

absl::StatusOr<FeatureColumns> SortedColumns(const FeatureColumns& columns,
                                             absl::string_view what) {
  if (columns.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must not be empty; give at least one column."));
  }
  for (const auto& column : columns) RETURN_IF_ERROR(CheckColumn(column, what));
  FeatureColumns sorted = columns;
  std::stable_sort(sorted.begin(), sorted.end(), ByName);
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (sorted[i].name() != sorted[i - 1].name()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Duplicate feature column name found for columns: '", sorted[i].name(),
        "' is twice in ", what, "; leave one out."));
  }
  return sorted;
}

ops::SparseOutputs ToSparse(const Scope& scope, const Feature& feature) {
  if (!feature) return {};
  if (feature.is_sparse()) return feature.sparse();
  const Output& values = feature.dense();
  const Output indices = ops::Where(scope, IsValue(scope, values));
  return {indices, ops::GatherNd(scope, values, indices),
          ops::Shape(scope, values, {.out_type = DT_INT64})};
}

std::optional<int64_t> ValuesOfExample(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return std::nullopt;
  int64_t count = 1;
  for (int i = 1; i < shape.rank(); ++i) {
    if (shape.dim(i) < 0) return std::nullopt;
    count *= shape.dim(i);
  }
  return count;
}

Output RowsOf(const Scope& scope, absl::string_view name, const Output& values,
              int64_t size) {
  if (!values) return values;
  const std::optional<int64_t> known = ValuesOfExample(values.shape());
  if (known == size) {
    return ops::Reshape(scope, values, Tensor::Vector<int64_t>({-1, size}));
  }
  if (known) {
    scope.UpdateStatus(ColumnError(
        name, absl::StrCat("an example comes to ", *known, " values (",
                           values.shape().ToString(), "), but needs ", size,
                           "; give ids as [batch, any], and as many numbers as "
                           "the column's options say.")));
    return Output();
  }
  // The batch size is kept. If the number of values does not allow that, the
  // step fails.
  const Output batch =
      ops::Slice(scope, ops::Shape(scope, values, {.out_type = DT_INT64}),
                 Tensor::Vector<int32_t>({0}), Tensor::Vector<int32_t>({1}));
  const Output kept = ops::Reshape(
      scope, values,
      ops::Concat(scope, {batch, Tensor::Vector<int64_t>({size})}, 0));
  // EnsureShape states again the shape that the graph knows already. After
  // another Reshape instead, an optimization pass could remove this Reshape and
  // its check.
  return ops::EnsureShape(scope, kept,
                          PartialShape({PartialShape::kUnknown, size}));
}

}  // namespace weft::feature_column
