// FeatureColumn describes how a model uses a feature: as a number, as a
// category, embedded, crossed with others; TensorFlow's tf.feature_column, with
// its names, numbers and defaults.
//
//   auto occupation = CategoricalColumnWithHashBucket("occupation", 1000);
//   std::vector<FeatureColumn> columns = {
//       EmbeddingColumn(occupation, 8),
//       BucketizedColumn(NumericColumn("age"), {18, 25, 30, 35})};
//   Output net = InputLayer(scope, features, columns);     // input_layer.h
//   auto model = LinearModel(scope, features, columns);    // input_layer.h
//
// A column adds nothing to a graph until it is used, and may be used in many
// graphs. It keeps errors of its arguments (status()), and functions that use
// it return them; the text names the column.
//
// There are two kinds. Categorical columns give ids: categorical_..., crossed,
// weighted, bucketized. Dense columns give vectors: numeric, bucketized
// (one-hot), indicator, embedding. A categorical column takes dense or sparse
// features; in a dense one, "" and -1 are missing values. Numeric columns take
// dense features only.
//
// Immutable values; any thread.
#ifndef WEFT_LIBS_FEATURE_COLUMN_FEATURE_COLUMN_H_
#define WEFT_LIBS_FEATURE_COLUMN_FEATURE_COLUMN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "libs/feature_column/features.h"
#include "libs/fs/file_system.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/initializers.h"
#include "libs/tensor/tensor.h"

namespace weft::feature_column {

class Column;  // the implementation (column.h)

class FeatureColumn {
 public:
  FeatureColumn() = default;
  explicit FeatureColumn(std::shared_ptr<const Column> column)
      : column_(std::move(column)) {}

  // REQUIRES for all: not default constructed.
  const std::string& name() const;
  const absl::Status& status() const;
  bool is_categorical() const;
  bool is_dense() const;

  const std::shared_ptr<const Column>& column() const { return column_; }

 private:
  std::shared_ptr<const Column> column_;
};

using FeatureColumns = std::vector<FeatureColumn>;

// Normalizes the raw values of a batch, which may be of any numeric type.
using NormalizerFn =
    std::function<Output(const Scope& scope, const Output& values)>;

struct NumericColumnOptions {
  std::vector<int64_t> shape = {1};  // of one example
  // Value for Examples that lack the feature: a scalar for all elements, or a
  // tensor of the shape. Used only when reading Examples (parse_spec.h).
  // Without a default a missing feature is an error there.
  std::optional<Tensor> default_value;
  DataType dtype = DT_FLOAT;   // in Examples
  NormalizerFn normalizer_fn;  // may be null
};
// Numbers as floats; bools as 1 and 0. Named `key`.
FeatureColumn NumericColumn(const std::string& key,
                            const NumericColumnOptions& options = {});

// Bucket index of the values of a numeric column: the number of boundaries that
// are less than or equal. Named "KEY_bucketized".
FeatureColumn BucketizedColumn(const FeatureColumn& source_column,
                               const std::vector<float>& boundaries);

// Integers that are ids already. An id outside [0, num_buckets) counts as
// `default_value`. Without a default, negative ids are dropped, and other ids
// fail the step that looks them up with INVALID_ARGUMENT (embeddings, weights
// of linear models); an indicator drops them, too. Named `key`, like all
// categorical columns.
FeatureColumn CategoricalColumnWithIdentity(
    const std::string& key, int64_t num_buckets,
    std::optional<int64_t> default_value = std::nullopt);
// Fingerprint64 of the string, or of the decimal text of an integer, modulo the
// size. dtype: DT_STRING or an integer type.
FeatureColumn CategoricalColumnWithHashBucket(const std::string& key,
                                              int64_t hash_bucket_size,
                                              DataType dtype = DT_STRING);

struct VocabularyOptions {
  // DT_STRING or an integer type; DT_INVALID: the type of the list, or strings
  // for a file.
  DataType dtype = DT_INVALID;
  // Id of values that are not in the vocabulary; -1: they are dropped.
  int64_t default_value = -1;
  // Such values are hashed into this many ids after the vocabulary; not with a
  // default_value.
  int64_t num_oov_buckets = 0;
};
// The id is the position in the list.
FeatureColumn CategoricalColumnWithVocabularyList(
    const std::string& key, const std::vector<std::string>& vocabulary_list,
    const VocabularyOptions& options = {});
FeatureColumn CategoricalColumnWithVocabularyList(
    const std::string& key, const std::vector<int64_t>& vocabulary_list,
    const VocabularyOptions& options = {});
// The id is the line number; with an integer dtype each line must be an
// integer, or table initialization fails. vocabulary_size: number of lines to
// use; none: all, counted when the column is created.
FeatureColumn CategoricalColumnWithVocabularyFile(
    const std::string& key, const std::string& vocabulary_file,
    std::optional<int64_t> vocabulary_size = std::nullopt,
    const VocabularyOptions& options = {});

// A crossed feature: its key, or a categorical column (except hash buckets: use
// the key).
using CrossedKey = std::variant<std::string, FeatureColumn>;
// Hash of each combination of the values of an example. Named by the sorted
// features: "education_X_occupation".
FeatureColumn CrossedColumn(const std::vector<CrossedKey>& keys,
                            int64_t hash_bucket_size,
                            std::optional<int64_t> hash_key = std::nullopt);

// Ids weighted by another feature with the same positions; 0 in a dense weight
// feature means no weight. If the number of weights and ids differs, the step
// fails with INVALID_ARGUMENT. Named "COLUMN_weighted_by_KEY".
FeatureColumn WeightedCategoricalColumn(const FeatureColumn& categorical_column,
                                        const std::string& weight_feature_key,
                                        DataType dtype = DT_FLOAT);

// Count of each id in the example. Named "COLUMN_indicator".
FeatureColumn IndicatorColumn(const FeatureColumn& categorical_column);

struct EmbeddingColumnOptions {
  std::string combiner = "mean";  // or "sqrtn" or "sum"
  // Null: truncated normal with standard deviation 1 / sqrt(dimension).
  ops::Initializer initializer;
  // Initializes from that tensor of that checkpoint: a prefix, or a directory
  // whose newest checkpoint is used when the model is built. Both or none.
  std::string ckpt_to_load_from;
  std::string tensor_name_in_ckpt;
  // Rows with a larger L2 norm are scaled down to it at lookup.
  std::optional<float> max_norm;
  bool trainable = true;
  // File system of that directory; must outlive the building of models. Null:
  // local, so a directory of a checkpoint writer or an object store needs it
  // (Process::file_system); a prefix is read by the tasks, wherever it is.
  FileSystem* file_system = nullptr;
};
// A trained vector per id; the vectors of an example are combined. Named
// "COLUMN_embedding".
FeatureColumn EmbeddingColumn(const FeatureColumn& categorical_column,
                              int64_t dimension,
                              const EmbeddingColumnOptions& options = {});
// One table for several columns with the same ids; returns a column for each of
// them, in order, named "COLUMN_shared_embedding". The table is named
// `shared_embedding_collection_name`; empty: the sorted names joined by "_",
// and "_shared_embedding".
FeatureColumns SharedEmbeddingColumns(
    const FeatureColumns& categorical_columns, int64_t dimension,
    const EmbeddingColumnOptions& options = {},
    const std::string& shared_embedding_collection_name = "");

}  // namespace weft::feature_column

#endif  // WEFT_LIBS_FEATURE_COLUMN_FEATURE_COLUMN_H_
