#include "libs/feature_column/input_layer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/feature_column/column.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/embedding_ops.h"
#include "libs/ops/nn/nn_ops.h"
#include "libs/ops/state/get_variable.h"
#include "libs/ops/state/variable_scope.h"

namespace weft::feature_column {
namespace {

// Returns the columns sorted by name; empty after an error, which sticks to the
// scope.
FeatureColumns Sorted(const Scope& scope, const FeatureColumns& columns) {
  auto sorted = SortedColumns(columns, "feature_columns");
  if (sorted.ok()) return *std::move(sorted);
  scope.UpdateStatus(sorted.status());
  return {};
}

Scope ColumnScope(const Scope& scope, const Column& column) {
  return ops::UniqueVariableScope(scope, SafeScopeName(column.VarScopeName()));
}

bool IsKnownAsFlat(const Column& column, const PartialShape& shape) {
  return shape.has_rank() && shape.rank() == 2 &&
         shape.dim(1) == column.num_elements();
}

// Returns `values` reshaped to [batch, elements of the column].
Output Flat(const Scope& scope, const Column& column, const Output& values) {
  if (!values || IsKnownAsFlat(column, values.shape())) return values;
  return RowsOf(scope, column.name(), values, column.num_elements());
}

absl::Status CheckDense(const FeatureColumn& column) {
  if (column.is_dense()) return absl::OkStatus();
  return ColumnError(column.name(),
                     "Items of feature_columns must be dense, but this one is "
                     "categorical; wrap it with EmbeddingColumn or "
                     "IndicatorColumn.");
}

Output DensePart(const Scope& scope, const FeatureColumn& column,
                 FeatureCache& cache, const InputLayerOptions& options) {
  scope.UpdateStatus(CheckDense(column));
  if (!scope.ok()) return Output();
  const Scope inner = ColumnScope(scope, *column.column());
  std::vector<ops::Variable> variables;
  const Output values = column.column()->DenseTensor(
      inner, cache, {.trainable = options.trainable, .variables = &variables});
  if (options.cols_to_vars != nullptr) {
    (*options.cols_to_vars)[column.name()] = std::move(variables);
  }
  return Flat(inner, *column.column(), values);
}

// Creates a variable of zeros, partitioned by the scope's partitioner.
ops::PartitionedVariable Zeros(const Scope& scope, absl::string_view name,
                               const TensorShape& shape, bool trainable) {
  return ops::GetPartitionedVariable(scope, name, shape,
                                     {.dtype = DT_FLOAT,
                                      .initializer = ops::initializers::Zeros(),
                                      .trainable = trainable});
}

// Returns `ids` as a matrix: all dimensions except the first are flattened.
ops::SparseOutputs AsMatrix(const Scope& scope, const ops::SparseOutputs& ids) {
  if (!ids.values) return {};
  const PartialShape sizes = ids.shape.shape();
  if (sizes.has_rank() && sizes.rank() == 1 && sizes.dim(0) == 2) return ids;
  const Output batch =
      ops::Slice(scope, ids.shape, Tensor::Vector<int32_t>({0}),
                 Tensor::Vector<int32_t>({1}));
  const auto reshaped = ops::SparseReshape(
      scope, ids.indices, ids.shape,
      ops::Concat(scope, {batch, Tensor::Vector<int64_t>({-1})}, 0));
  return {reshaped.output_indices, ids.values, reshaped.output_shape};
}

Output SumOfIds(const Scope& scope, const Column& column, FeatureCache& cache,
                const ops::PartitionedVariable& weights,
                const LinearModelOptions& options) {
  const IdsAndWeights all = column.Ids(scope, cache);
  if (!all.ids.values || !weights) return Output();
  return nn::SafeEmbeddingLookupSparse(scope, weights, AsMatrix(scope, all.ids),
                                       all.weights,
                                       {.combiner = options.sparse_combiner});
}

Output SumOfNumbers(const Scope& scope, const Column& column,
                    FeatureCache& cache,
                    const ops::PartitionedVariable& weights,
                    const LinearModelOptions& options) {
  const Output values =
      Flat(scope, column,
           column.DenseTensor(scope, cache, {.trainable = options.trainable}));
  if (!values || !weights) return Output();
  return ops::MatMul(scope, values, weights.AsTensor(scope));
}

Output LinearPart(const Scope& scope, const Column& column, FeatureCache& cache,
                  const LinearModelOptions& options,
                  LinearModelOutputs& outputs) {
  const Scope inner = ColumnScope(scope, column);
  const int64_t rows =
      column.is_categorical() ? column.num_buckets() : column.num_elements();
  const auto weights = Zeros(
      inner, "weights", TensorShape({rows, options.units}), options.trainable);
  if (weights) outputs.weights[column.name()] = weights.parts();
  return column.is_categorical()
             ? SumOfIds(inner, column, cache, weights, options)
             : SumOfNumbers(inner, column, cache, weights, options);
}

absl::Status CheckOptions(const LinearModelOptions& options) {
  if (options.units >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "LinearModel: units must be at least 1, but is ", options.units, "."));
}

}  // namespace

Output InputLayer(const Scope& scope, const Features& features,
                  const FeatureColumns& feature_columns,
                  const InputLayerOptions& options) {
  if (!scope.ok()) return Output();
  const FeatureColumns columns = Sorted(scope, feature_columns);
  if (!scope.ok()) return Output();
  const Scope inner = ops::UniqueVariableScope(scope, "input_layer");
  FeatureCache cache(features);
  InputList parts;
  for (const FeatureColumn& column : columns) {
    parts.emplace_back(DensePart(inner, column, cache, options));
    if (!scope.ok()) return Output();
  }
  if (parts.size() == 1) {
    return ops::Identity(inner.WithName("concat"), parts[0]);
  }
  return ops::Concat(inner.WithName("concat"), parts, 1);
}

LinearModelOutputs LinearModel(const Scope& scope, const Features& features,
                               const FeatureColumns& feature_columns,
                               const LinearModelOptions& options) {
  LinearModelOutputs outputs;
  if (!scope.ok()) return outputs;
  scope.UpdateStatus(CheckOptions(options));
  const FeatureColumns columns = Sorted(scope, feature_columns);
  if (!scope.ok()) return outputs;
  const Scope inner = ops::UniqueVariableScope(scope, "linear_model");
  FeatureCache cache(features);
  InputList sums;
  for (const FeatureColumn& column : columns) {
    sums.emplace_back(
        LinearPart(inner, *column.column(), cache, options, outputs));
    if (!scope.ok()) return outputs;
  }
  const Output sum = ops::AddN(inner.WithName("weighted_sum_no_bias"), sums);
  outputs.bias = Zeros(inner, "bias_weights", TensorShape({options.units}),
                       options.trainable);
  if (!scope.ok()) return outputs;
  outputs.logits = ops::BiasAdd(inner.WithName("weighted_sum"), sum,
                                outputs.bias.AsTensor(inner));
  return outputs;
}

}  // namespace weft::feature_column
