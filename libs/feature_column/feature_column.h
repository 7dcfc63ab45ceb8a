// FeatureColumn: how a model is to take a feature: as a number, as one of so
// many categories, embedded, crossed with others; TensorFlow's
// tf.feature_column, with its names, numbers and defaults.
//
//   auto occupation = CategoricalColumnWithHashBucket("occupation", 1000);
//   std::vector<FeatureColumn> columns = {
//       EmbeddingColumn(occupation, 8),
//       BucketizedColumn(NumericColumn("age"), {18, 25, 30, 35})};
//   Output net = InputLayer(scope, features, columns);     // input_layer.h
//   auto model = LinearModel(scope, features, columns);    // input_layer.h
//
// A column adds nothing to a graph until it is used, and may be used in many
// graphs. What is wrong with its arguments it keeps (status()), and whoever
// uses it fails with that; the text names the column.
//
// Two kinds. Categorical ones give ids: categorical_..., crossed, weighted,
// bucketized. Dense ones give vectors: numeric, bucketized (one-hot),
// indicator, embedding. A feature may be dense or sparse for a categorical
// column; of a dense one "" and -1 are no value. Numeric columns take dense
// features only.
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

class Column;  // what a column does (column.h)

class FeatureColumn {
 public:
  FeatureColumn() = default;
  explicit FeatureColumn(std::shared_ptr<const Column> column)
      : column_(std::move(column)) {}

  // REQUIRES for all: not one that was default constructed.
  const std::string& name() const;
  const absl::Status& status() const;
  bool is_categorical() const;
  bool is_dense() const;

  const std::shared_ptr<const Column>& column() const { return column_; }

 private:
  std::shared_ptr<const Column> column_;
};

using FeatureColumns = std::vector<FeatureColumn>;

// Of the raw values of a batch, which may be of any numeric type.
using NormalizerFn =
    std::function<Output(const Scope& scope, const Output& values)>;

struct NumericColumnOptions {
  std::vector<int64_t> shape = {1};  // of one example
  // Where an Example lacks the feature: one value for all, or one of the shape.
  // Only reading Examples uses it (parse_spec.h). Without one it is an error
  // there.
  std::optional<Tensor> default_value;
  DataType dtype = DT_FLOAT;   // in Examples
  NormalizerFn normalizer_fn;  // may be null
};
// Numbers, as floats; of bools 1 and 0. Named `key`.
FeatureColumn NumericColumn(const std::string& key,
                            const NumericColumnOptions& options = {});

// In which bucket the values of a numeric column are: how many boundaries are
// at most as large. Named "KEY_bucketized".
FeatureColumn BucketizedColumn(const FeatureColumn& source_column,
                               const std::vector<float>& boundaries);

// Integers that are ids already. One that is not in [0, num_buckets) counts as
// `default_value`; without one, negative ones are left out, and others are
// INVALID_ARGUMENT in the step that looks them up (embeddings, weights of
// linear models); an indicator leaves them out, too. Named `key`, as all of
// these.
FeatureColumn CategoricalColumnWithIdentity(
    const std::string& key, int64_t num_buckets,
    std::optional<int64_t> default_value = std::nullopt);
// Fingerprint64 of the string, or of the decimal text of an integer, modulo
// the size. dtype: DT_STRING or an integer.
FeatureColumn CategoricalColumnWithHashBucket(const std::string& key,
                                              int64_t hash_bucket_size,
                                              DataType dtype = DT_STRING);

struct VocabularyOptions {
  // DT_STRING or an integer; DT_INVALID: that of the list, strings of a file.
  DataType dtype = DT_INVALID;
  // The id of values that are not in the vocabulary; -1: they are left out.
  int64_t default_value = -1;
  // They are hashed into so many ids after the vocabulary's; not with a
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
// The id is the number of the line; with an integer dtype each line is an
// integer, or the table cannot be filled. vocabulary_size: lines that count;
// none: all, which are counted when the column is made.
FeatureColumn CategoricalColumnWithVocabularyFile(
    const std::string& key, const std::string& vocabulary_file,
    std::optional<int64_t> vocabulary_size = std::nullopt,
    const VocabularyOptions& options = {});

// One of the features that are crossed: by its key, or by a categorical column
// (but for those of hash buckets: use the key).
using CrossedKey = std::variant<std::string, FeatureColumn>;
// Each combination of the values of an example, hashed. Named by the features,
// sorted: "education_X_occupation".
FeatureColumn CrossedColumn(const std::vector<CrossedKey>& keys,
                            int64_t hash_bucket_size,
                            std::optional<int64_t> hash_key = std::nullopt);

// Ids that count as much as another feature, of the same positions, says: of a
// dense one, 0 is no weight. Where there are not as many weights as ids, the
// step is INVALID_ARGUMENT. Named "COLUMN_weighted_by_KEY".
FeatureColumn WeightedCategoricalColumn(const FeatureColumn& categorical_column,
                                        const std::string& weight_feature_key,
                                        DataType dtype = DT_FLOAT);

// How often each id occurs in the example. Named "COLUMN_indicator".
FeatureColumn IndicatorColumn(const FeatureColumn& categorical_column);

struct EmbeddingColumnOptions {
  std::string combiner = "mean";  // or "sqrtn" or "sum"
  // Null: truncated normal, of deviation 1 / sqrt(dimension).
  ops::Initializer initializer;
  // Begins with that tensor of that checkpoint: its prefix, or a folder whose
  // newest it is when the model is built. Both or none.
  std::string ckpt_to_load_from;
  std::string tensor_name_in_ckpt;
  // Rows of a larger L2 norm are scaled down to it as they are looked up.
  std::optional<float> max_norm;
  bool trainable = true;
  // Where that folder lies; outlives the building of models. Null: the
  // machine's, so a folder of a checkpoint writer or an object store needs it
  // (Process::file_system); a prefix is read by the tasks, wherever it is.
  FileSystem* file_system = nullptr;
};
// A vector for each id, learned; those of an example combined. Named
// "COLUMN_embedding".
FeatureColumn EmbeddingColumn(const FeatureColumn& categorical_column,
                              int64_t dimension,
                              const EmbeddingColumnOptions& options = {});
// One table for several columns, which have the same ids; one column for each
// of them, in order, named "COLUMN_shared_embedding". The table goes by
// `shared_embedding_collection_name`; empty: their names, sorted, joined by
// "_", and "_shared_embedding".
FeatureColumns SharedEmbeddingColumns(
    const FeatureColumns& categorical_columns, int64_t dimension,
    const EmbeddingColumnOptions& options = {},
    const std::string& shared_embedding_collection_name = "");

}  // namespace weft::feature_column

#endif  // WEFT_LIBS_FEATURE_COLUMN_FEATURE_COLUMN_H_
