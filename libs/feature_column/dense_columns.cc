// Columns that convert ids to vectors: indicator, embedding, shared embedding.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/feature_column/column.h"
#include "libs/fs/local_file_system.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/nn/embedding_ops.h"
#include "libs/ops/state/get_variable.h"

namespace weft::feature_column {
namespace {

std::string NameWith(const FeatureColumn& column, absl::string_view suffix) {
  return absl::StrCat(NameOrMark(column), suffix);
}

absl::Status CheckCategorical(const std::string& name,
                              const FeatureColumn& column) {
  if (column.column() == nullptr) return ColumnError(name, "it has no column.");
  RETURN_IF_ERROR(column.status());
  if (column.is_categorical()) return absl::OkStatus();
  return ColumnError(name, absl::StrCat("'", column.name(),
                                        "' must be categorical; bucketize "
                                        "numbers first, or use them as they "
                                        "are."));
}

// OfIds is the common base of columns that wrap a categorical column.
class OfIds : public Column {
 public:
  OfIds(std::string name, absl::Status status, FeatureColumn column)
      : Column(std::move(name), std::move(status)),
        column_(std::move(column)) {}

  bool is_dense() const override { return true; }
  absl::Status AddParseSpec(ParseSpec& spec) const override {
    return column_.column()->AddParseSpec(spec);
  }

 protected:
  const FeatureColumn column_;
};

class Indicator : public OfIds {
 public:
  explicit Indicator(const FeatureColumn& column)
      : OfIds(NameWith(column, "_indicator"),
              Check(NameWith(column, "_indicator"), column), column) {}

  std::string Kind() const override { return "indicator"; }
  int64_t num_elements() const override {
    return column_.column()->num_buckets();
  }

  Feature Transform(const Scope& scope, FeatureCache& cache) const override {
    const IdsAndWeights all = column_.column()->Ids(scope, cache);
    if (!all.ids.values) return Feature();
    if (all.weights.values) return SumOfWeights(scope, all);
    const Output dense =
        ops::SparseToDense(scope, all.ids.indices, all.ids.shape,
                           all.ids.values, Tensor::Scalar(int64_t{-1}));
    const Output one_hot = ops::OneHot(
        scope, dense, static_cast<int32_t>(num_elements()), 1.0f, 0.0f);
    return ops::Sum(scope, one_hot, Tensor::Vector<int32_t>({-2}));
  }

 private:
  static absl::Status Check(const std::string& name,
                            const FeatureColumn& column) {
    RETURN_IF_ERROR(CheckCategorical(name, column));
    if (column.column()->num_buckets() < int64_t{1} << 31) {
      return absl::OkStatus();
    }
    return ColumnError(name,
                       "it has more than 2^31 ids, too many for a vector of "
                       "them all; use an EmbeddingColumn.");
  }

  // Returns a tensor of shape [batch, ids] with the sum of the weights of each
  // id.
  Output SumOfWeights(const Scope& scope, const IdsAndWeights& all) const {
    const Tensor depth = Tensor::Scalar(num_elements());
    const Output is_id =
        ops::LogicalAnd(scope, ops::GreaterEqual(scope, all.ids.values, 0),
                        ops::Less(scope, all.ids.values, depth));
    const Output at = ops::Reshape(scope, ops::Where(scope, is_id),
                                   Tensor::Vector<int32_t>({-1}));
    const Output rows = ops::Slice(
        scope, ops::GatherV2(scope, all.ids.indices, at, 0),
        Tensor::Vector<int32_t>({0, 0}), Tensor::Vector<int32_t>({-1, 1}));
    const Output ids =
        ops::ExpandDims(scope, ops::GatherV2(scope, all.ids.values, at, 0), 1);
    const Output batch =
        ops::Slice(scope, all.ids.shape, Tensor::Vector<int32_t>({0}),
                   Tensor::Vector<int32_t>({1}));
    return ops::ScatterNd(
        scope, ops::Concat(scope, {rows, ids}, 1),
        ops::GatherV2(scope, all.weights.values, at, 0),
        ops::Concat(scope, {batch, Tensor::Vector<int64_t>({num_elements()})},
                    0));
  }
};

absl::Status CheckEmbedding(const std::string& name, int64_t dimension,
                            const EmbeddingColumnOptions& options) {
  if (dimension < 1) {
    return ColumnError(
        name,
        absl::StrCat("dimension must be at least 1, but is ", dimension, "."));
  }
  if (options.combiner != "mean" && options.combiner != "sqrtn" &&
      options.combiner != "sum") {
    return ColumnError(name, absl::StrCat("combiner must be 'mean', 'sqrtn' "
                                          "or 'sum', not '",
                                          options.combiner, "'."));
  }
  if (options.ckpt_to_load_from.empty() !=
      options.tensor_name_in_ckpt.empty()) {
    return ColumnError(name,
                       "ckpt_to_load_from and tensor_name_in_ckpt go "
                       "together; give both or none.");
  }
  return absl::OkStatus();
}

// Returns the slice specification that RestoreV2 takes.
std::string SliceSpec(const ops::PartitionInfo* partition,
                      const TensorShape& shape) {
  if (partition == nullptr) return "";
  return checkpoint::FormatShapeAndSlice(partition->full_shape,
                                         partition->offset, shape);
}

// Returns the checkpoint prefix for `path`, which is a prefix, or a directory
// whose newest checkpoint is used.
absl::StatusOr<std::string> PrefixOf(const std::string& path,
                                     FileSystem* given) {
  LocalFileSystem local;
  FileSystem& files = given != nullptr ? *given : local;
  return checkpoint::CheckpointPrefix(files, path);
}

// Returns an initializer that reads a tensor from a checkpoint. `name` is the
// name of the column, for errors.
ops::Initializer FromCheckpoint(const std::string& name,
                                const std::string& path,
                                const std::string& tensor, FileSystem* files) {
  return [name, path, tensor, files](const Scope& scope,
                                     const TensorShape& shape, DataType dtype,
                                     const ops::PartitionInfo* partition) {
    const auto prefix = PrefixOf(path, files);
    if (!prefix.ok()) {
      scope.UpdateStatus(ColumnError(
          name, absl::StrCat("ckpt_to_load_from is a folder whose newest "
                             "checkpoint cannot be determined (",
                             prefix.status().message(),
                             "); give the checkpoint's prefix.")));
      return Output();
    }
    const Output restored = scope.AddOutput(
        "RestoreV2",
        {*prefix, Tensor::Vector<std::string>({tensor}),
         Tensor::Vector<std::string>({SliceSpec(partition, shape)})},
        {{"dtypes", DataTypeVector{dtype}}});
    return restored ? ops::EnsureShape(scope, restored, shape) : restored;
  };
}

ops::Initializer InitializerOf(const std::string& name, int64_t dimension,
                               const EmbeddingColumnOptions& options) {
  if (!options.ckpt_to_load_from.empty()) {
    return FromCheckpoint(name, options.ckpt_to_load_from,
                          options.tensor_name_in_ckpt, options.file_system);
  }
  if (options.initializer) return options.initializer;
  return ops::initializers::TruncatedNormal(
      0.0, 1.0 / std::sqrt(static_cast<double>(dimension)));
}

std::vector<ops::Variable> MakeTable(const Scope& scope,
                                     const std::string& name, int64_t rows,
                                     int64_t dimension,
                                     const EmbeddingColumnOptions& options,
                                     const DenseOptions& dense) {
  const auto table = ops::GetPartitionedVariable(
      scope, "embedding_weights", TensorShape({rows, dimension}),
      {.dtype = DT_FLOAT,
       .initializer = InitializerOf(name, dimension, options),
       .trainable = options.trainable && dense.trainable});
  return table ? table.parts() : std::vector<ops::Variable>();
}

Output LookUp(const Scope& scope, const std::vector<ops::Variable>& table,
              const IdsAndWeights& all, const EmbeddingColumnOptions& options) {
  if (!scope.ok()) return Output();
  return nn::SafeEmbeddingLookupSparse(
      scope, table, all.ids, all.weights,
      {.combiner = options.combiner, .max_norm = options.max_norm});
}

class Embedding : public OfIds {
 public:
  Embedding(const FeatureColumn& column, int64_t dimension,
            EmbeddingColumnOptions options)
      : OfIds(NameWith(column, "_embedding"),
              Check(NameWith(column, "_embedding"), column, dimension, options),
              column),
        dimension_(dimension),
        options_(std::move(options)) {}

  std::string Kind() const override { return "embedding"; }
  int64_t num_elements() const override { return dimension_; }
  Feature Transform(const Scope&, FeatureCache&) const override {
    return Feature();
  }

  Output DenseTensor(const Scope& scope, FeatureCache& cache,
                     const DenseOptions& dense) const override {
    const IdsAndWeights all = column_.column()->Ids(scope, cache);
    if (!all.ids.values) return Output();
    const auto table = MakeTable(scope, name_, column_.column()->num_buckets(),
                                 dimension_, options_, dense);
    if (dense.variables != nullptr) *dense.variables = table;
    return LookUp(scope, table, all, options_);
  }

 private:
  static absl::Status Check(const std::string& name,
                            const FeatureColumn& column, int64_t dimension,
                            const EmbeddingColumnOptions& options) {
    RETURN_IF_ERROR(CheckCategorical(name, column));
    return CheckEmbedding(name, dimension, options);
  }

  const int64_t dimension_;
  const EmbeddingColumnOptions options_;
};

// SharedEmbedding is one of several columns that share an embedding table. The
// table is found in the graph collection that is named after it.
class SharedEmbedding : public OfIds {
 public:
  SharedEmbedding(const FeatureColumn& column, int64_t dimension,
                  EmbeddingColumnOptions options, std::string collection,
                  absl::Status status)
      : OfIds(NameWith(column, "_shared_embedding"), std::move(status), column),
        dimension_(dimension),
        options_(std::move(options)),
        collection_(std::move(collection)) {}

  std::string Kind() const override { return "shared embedding"; }
  int64_t num_elements() const override { return dimension_; }
  std::string VarScopeName() const override { return collection_; }
  Feature Transform(const Scope&, FeatureCache&) const override {
    return Feature();
  }

  Output DenseTensor(const Scope& scope, FeatureCache& cache,
                     const DenseOptions& dense) const override {
    const IdsAndWeights all = column_.column()->Ids(scope, cache);
    if (!all.ids.values) return Output();
    auto table = ops::GetVariables(scope, collection_);
    if (table.empty()) table = NewTable(scope, dense);
    scope.UpdateStatus(CheckTable(table));
    return LookUp(scope, table, all, options_);
  }

 private:
  std::vector<ops::Variable> NewTable(const Scope& scope,
                                      const DenseOptions& dense) const {
    auto table = MakeTable(scope, name_, column_.column()->num_buckets(),
                           dimension_, options_, dense);
    for (const ops::Variable& part : table) {
      scope.AddToCollection(collection_, part.handle());
    }
    if (dense.variables != nullptr) *dense.variables = table;
    return table;
  }
  absl::Status CheckTable(const std::vector<ops::Variable>& table) const {
    int64_t rows = 0;
    for (const ops::Variable& part : table) {
      if (part.shape().rank() != 2 || part.shape().dim(1) != dimension_) {
        rows = -1;
        break;
      }
      rows += part.shape().dim(0);
    }
    if (table.empty() || rows == column_.column()->num_buckets()) {
      return absl::OkStatus();
    }
    return ColumnError(
        name_, absl::StrCat("the graph has a shared embedding '", collection_,
                            "' of another shape already; give this one a "
                            "shared_embedding_collection_name of its own."));
  }

  const int64_t dimension_;
  const EmbeddingColumnOptions options_;
  const std::string collection_;
};

absl::Status CheckShared(const std::string& name,
                         const FeatureColumns& columns) {
  for (const FeatureColumn& column : columns) {
    RETURN_IF_ERROR(CheckCategorical(name, column));
    const Column& first = columns[0].column()->IdColumn();
    const Column& ids = column.column()->IdColumn();
    if (ids.Kind() == first.Kind() &&
        ids.num_buckets() == first.num_buckets()) {
      continue;
    }
    return ColumnError(
        name, absl::StrCat("columns that share an embedding must be of the "
                           "same kind and have the same number of ids, but '",
                           first.name(), "' is ", first.Kind(), " with ",
                           first.num_buckets(), " and '", ids.name(), "' ",
                           ids.Kind(), " with ", ids.num_buckets(), "."));
  }
  return absl::OkStatus();
}

std::string SharedName(const FeatureColumns& columns) {
  std::vector<std::string> names;
  for (const auto& column : columns) names.push_back(NameOrMark(column));
  std::sort(names.begin(), names.end());
  return absl::StrCat(absl::StrJoin(names, "_"), "_shared_embedding");
}

}  // namespace

FeatureColumn IndicatorColumn(const FeatureColumn& categorical_column) {
  return MakeColumn(std::make_shared<Indicator>(categorical_column));
}

FeatureColumn EmbeddingColumn(const FeatureColumn& categorical_column,
                              int64_t dimension,
                              const EmbeddingColumnOptions& options) {
  return MakeColumn(
      std::make_shared<Embedding>(categorical_column, dimension, options));
}

FeatureColumns SharedEmbeddingColumns(
    const FeatureColumns& categorical_columns, int64_t dimension,
    const EmbeddingColumnOptions& options,
    const std::string& shared_embedding_collection_name) {
  const std::string name = shared_embedding_collection_name.empty()
                               ? SharedName(categorical_columns)
                               : shared_embedding_collection_name;
  absl::Status status = CheckShared(name, categorical_columns);
  if (status.ok()) status = CheckEmbedding(name, dimension, options);
  FeatureColumns columns;
  for (const FeatureColumn& column : categorical_columns) {
    columns.push_back(MakeColumn(std::make_shared<SharedEmbedding>(
        column, dimension, options, name, status)));
  }
  return columns;
}

}  // namespace weft::feature_column
