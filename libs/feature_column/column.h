// Column is the implementation behind FeatureColumn (feature_column.h);
// FeatureCache provides its features.
//
// Errors stick to the scope; outputs are null then. Threads: a column is
// immutable; a cache is only as thread-safe as the scope.
#ifndef WEFT_LIBS_FEATURE_COLUMN_COLUMN_H_
#define WEFT_LIBS_FEATURE_COLUMN_COLUMN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "libs/feature_column/feature_column.h"
#include "libs/feature_column/parse_spec.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/partitioned_variable.h"

namespace weft::feature_column {

// FeatureCache holds the features of a batch and their transformations: each
// transformation is built once, even if several columns use it.
class FeatureCache {
 public:
  // `features` must outlive the cache.
  explicit FeatureCache(const Features& features) : features_(features) {}

  // Returns the feature with key `key`. A dimension is added if it has only the
  // batch dimension. `column` is the name of the requesting column, for the
  // error if the feature does not exist.
  Feature Raw(const Scope& scope, const std::string& key,
              absl::string_view column);
  // Returns the result of `column`'s Transform().
  Feature Transformed(const Scope& scope, const Column& column);

 private:
  const Features& features_;
  std::map<std::string, Feature> raw_;
  std::map<const Column*, Feature> transformed_;
};

// IdsAndWeights holds the ids of a batch and their weights, which may be null.
struct IdsAndWeights {
  ops::SparseOutputs ids;
  ops::SparseOutputs weights;
};

struct DenseOptions {
  bool trainable = true;
  // Receives the created variables at its end; may be null.
  std::vector<ops::Variable>* variables = nullptr;
};

class Column {
 public:
  explicit Column(std::string name, absl::Status status = absl::OkStatus())
      : name_(std::move(name)), status_(std::move(status)) {}
  virtual ~Column() = default;

  const std::string& name() const { return name_; }
  const absl::Status& status() const { return status_; }
  // Name of the scope that contains the column's variables.
  virtual std::string VarScopeName() const { return name_; }
  // Kind of column. Only columns of the same kind may share an embedding.
  virtual std::string Kind() const = 0;
  virtual absl::Status AddParseSpec(ParseSpec& spec) const = 0;
  // Returns the transformed feature, which FeatureCache keeps.
  virtual Feature Transform(const Scope& scope, FeatureCache& cache) const = 0;

  // ---- categorical ----
  virtual bool is_categorical() const { return false; }
  virtual int64_t num_buckets() const { return 0; }
  virtual IdsAndWeights Ids(const Scope& scope, FeatureCache& cache) const;
  // Returns the keys that a crossed column crosses, with nested crosses
  // expanded.
  virtual std::vector<CrossedKey> Leaves() const;
  // OK if the column may be part of a cross.
  virtual absl::Status CheckCrossable() const { return absl::OkStatus(); }
  // Returns the column that provides the ids, for example the source of a
  // weighted column.
  virtual const Column& IdColumn() const { return *this; }

  // ---- dense ----
  virtual bool is_dense() const { return false; }
  virtual int64_t num_elements() const { return 0; }  // for each example
  // Returns a tensor of shape [batch, ...]. Variables are created in `scope`.
  virtual Output DenseTensor(const Scope& scope, FeatureCache& cache,
                             const DenseOptions& options) const;

 protected:
  const std::string name_;
  const absl::Status status_;
};

// Returns `name` as a valid scope name: other characters become "_".
std::string SafeScopeName(absl::string_view name);
// Returns "Feature column 'NAME': TEXT".
absl::Status ColumnError(absl::string_view name, absl::string_view text);
// Checks all columns, and that names are unique. Returns the columns sorted by
// name; an error if one is null. `what` names the list in errors.
absl::StatusOr<FeatureColumns> SortedColumns(const FeatureColumns& columns,
                                             absl::string_view what);
// Returns the name of a column for an error about a list of columns; "?" for a
// null column.
std::string NameOrMark(const FeatureColumn& column);
// Converts a dense feature to a sparse one, without missing values: "" and -1,
// and 0 for weights.
ops::SparseOutputs ToSparse(const Scope& scope, const Feature& feature);
// Returns the number of values per example in a batch of shape `shape`; null if
// the graph does not know that number.
std::optional<int64_t> ValuesOfExample(const PartialShape& shape);
// Returns [batch, size]: the values of each example as a row. A wrong number of
// values is never reshaped into more or fewer examples. It is an error of
// column `name` if the graph knows the number, otherwise an error of the step.
Output RowsOf(const Scope& scope, absl::string_view name, const Output& values,
              int64_t size);

inline FeatureColumn MakeColumn(std::shared_ptr<const Column> column) {
  return FeatureColumn(std::move(column));
}

}  // namespace weft::feature_column

#endif  // WEFT_LIBS_FEATURE_COLUMN_COLUMN_H_
