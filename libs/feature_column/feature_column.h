// FeatureColumn describes how a model uses a feature: as a number, as a
// category, embedded, or crossed with other features. The names, numbers and
// defaults are those of TensorFlow's tf.feature_column.
//
//   auto occupation = CategoricalColumnWithHashBucket("occupation", 1000);
//   std::vector<FeatureColumn> columns = {
//       EmbeddingColumn(occupation, 8),
//       BucketizedColumn(NumericColumn("age"), {18, 25, 30, 35})};
//   Output net = InputLayer(scope, features, columns);     // input_layer.h
//   auto model = LinearModel(scope, features, columns);    // input_layer.h
//
// A column adds nothing to a graph until it is used, and may be used in many
// graphs. Errors in a column's arguments are kept in its status(). Functions
// that use the column return that error, and its text names the column.
//
// There are two kinds. Categorical columns give ids: categorical_..., crossed,
// weighted, bucketized. Dense columns give vectors: numeric, bucketized
// (one-hot), indicator, embedding. A categorical column takes dense or sparse
// features; in a dense feature, "" and -1 are missing values. Numeric columns
// take dense features only.
//
// A FeatureColumn is an immutable value that any thread may use.
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

  // REQUIRES for all accessors: the column is not default-constructed.
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
  std::vector<int64_t> shape = {1};  // shape of the feature in one example
  // Value for Examples that lack the feature: a scalar for all elements, or a
  // tensor of the shape. It is used only when reading Examples (parse_spec.h).
  // Without a default, reading an Example without the feature is an error.
  std::optional<Tensor> default_value;
  DataType dtype = DT_FLOAT;   // type of the values in Examples
  NormalizerFn normalizer_fn;  // may be null
};
// Returns a column of numbers as floats; bools become 1 and 0. The column is
// named `key`.
FeatureColumn NumericColumn(const std::string& key,
                            const NumericColumnOptions& options = {});

// Returns a column of the bucket indices of a numeric column's values. The
// index is the number of boundaries that are less than or equal to the value.
// The column is named "KEY_bucketized".
FeatureColumn BucketizedColumn(const FeatureColumn& source_column,
                               const std::vector<float>& boundaries);

// Returns a column for integers that are ids already. An id outside [0,
// num_buckets) counts as `default_value`. Without a default, negative ids are
// dropped. Other ids outside are dropped by an indicator; embeddings and
// weights of linear models fail the step with INVALID_ARGUMENT when they look
// them up. The column is named `key`, like all categorical columns.
FeatureColumn CategoricalColumnWithIdentity(
    const std::string& key, int64_t num_buckets,
    std::optional<int64_t> default_value = std::nullopt);
// Returns a column of hashes: Fingerprint64 of the string, or of the decimal
// text of an integer, modulo the size. `dtype` is DT_STRING or an integer type.
FeatureColumn CategoricalColumnWithHashBucket(const std::string& key,
                                              int64_t hash_bucket_size,
                                              DataType dtype = DT_STRING);

struct VocabularyOptions {
  // DT_STRING or an integer type. DT_INVALID means the type of the list, or
  // strings for a file.
  DataType dtype = DT_INVALID;
  // Id of values that are not in the vocabulary. With -1 these values are
  // dropped.
  int64_t default_value = -1;
  // Values that are not in the vocabulary are hashed into this many ids after
  // the vocabulary. Not allowed together with a default_value.
  int64_t num_oov_buckets = 0;
};
// Returns a column in which the id of a value is its position in the list.
FeatureColumn CategoricalColumnWithVocabularyList(
    const std::string& key, const std::vector<std::string>& vocabulary_list,
    const VocabularyOptions& options = {});
FeatureColumn CategoricalColumnWithVocabularyList(
    const std::string& key, const std::vector<int64_t>& vocabulary_list,
    const VocabularyOptions& options = {});
// Returns a column in which the id of a value is its line number in the file.
// With an integer dtype each line must be an integer; otherwise table
// initialization fails. vocabulary_size is the number of lines to use; without
// it all lines are used, counted when the column is created.
FeatureColumn CategoricalColumnWithVocabularyFile(
    const std::string& key, const std::string& vocabulary_file,
    std::optional<int64_t> vocabulary_size = std::nullopt,
    const VocabularyOptions& options = {});

// CrossedKey is a feature to cross: its key, or a categorical column other than
// a hash bucket column, for which the key must be used.
using CrossedKey = std::variant<std::string, FeatureColumn>;
// Returns a column of hashes, one for each combination of the features' values
// in an example. The column is named after the sorted features:
// "education_X_occupation".
FeatureColumn CrossedColumn(const std::vector<CrossedKey>& keys,
                            int64_t hash_bucket_size,
                            std::optional<int64_t> hash_key = std::nullopt);

// Returns a column of ids weighted by another feature with the same positions.
// In a dense weight feature, 0 means no weight. If the number of weights and
// ids differs, the step fails with INVALID_ARGUMENT. The column is named
// "COLUMN_weighted_by_KEY".
FeatureColumn WeightedCategoricalColumn(const FeatureColumn& categorical_column,
                                        const std::string& weight_feature_key,
                                        DataType dtype = DT_FLOAT);

// Returns a column that counts each id in the example. The column is named
// "COLUMN_indicator".
FeatureColumn IndicatorColumn(const FeatureColumn& categorical_column);

struct EmbeddingColumnOptions {
  std::string combiner = "mean";  // or "sqrtn" or "sum"
  // Initializer of the table; null: truncated normal with standard deviation 1
  // / sqrt(dimension).
  ops::Initializer initializer;
  // If set, the table is initialized from tensor `tensor_name_in_ckpt` of this
  // checkpoint: a prefix, or a directory whose newest checkpoint is used when
  // the model is built. Set both fields or neither.
  std::string ckpt_to_load_from;
  std::string tensor_name_in_ckpt;
  // Rows with a larger L2 norm are scaled down to this norm at lookup.
  std::optional<float> max_norm;
  bool trainable = true;
  // File system of the directory `ckpt_to_load_from`; must outlive the building
  // of models. Null: the local file system, so a directory of a checkpoint
  // writer or an object store needs this field (Process::file_system). A prefix
  // needs no file system, because the tasks read it.
  FileSystem* file_system = nullptr;
};
// Returns a column with a trained vector per id; the vectors of an example are
// combined. The column is named "COLUMN_embedding".
FeatureColumn EmbeddingColumn(const FeatureColumn& categorical_column,
                              int64_t dimension,
                              const EmbeddingColumnOptions& options = {});
// Returns one column for each of `categorical_columns`, in order. The columns
// share one embedding table, so they must have the same ids. Each is named
// "COLUMN_shared_embedding". The table is named
// `shared_embedding_collection_name`; if that is empty, its name is the sorted
// column names joined by "_", and "_shared_embedding".
FeatureColumns SharedEmbeddingColumns(
    const FeatureColumns& categorical_columns, int64_t dimension,
    const EmbeddingColumnOptions& options = {},
    const std::string& shared_embedding_collection_name = "");

}  // namespace weft::feature_column

#endif  // WEFT_LIBS_FEATURE_COLUMN_FEATURE_COLUMN_H_
