// Column is the implementation behind FeatureColumn (feature_column.h);
// FeatureCache provides its features.
//
// Errors stick to the scope; outputs are null then. Threads: a column is
// immutable; a cache is as the scope's.
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
  // `features` must outlive this.
  explicit FeatureCache(const Features& features) : features_(features) {}

  // Returns the feature itself, with an added dimension if it had only the
  // batch. `column` is the requesting column, for the error if there is no such
  // feature.
  Feature Raw(const Scope& scope, const std::string& key,
              absl::string_view column);
  // Returns the feature as transformed by `column`.
  Feature Transformed(const Scope& scope, const Column& column);

 private:
  const Features& features_;
  std::map<std::string, Feature> raw_;
  std::map<const Column*, Feature> transformed_;
};

// Ids of a batch, and their weights, which may be null.
struct IdsAndWeights {
  ops::SparseOutputs ids;
  ops::SparseOutputs weights;
};

struct DenseOptions {
  bool trainable = true;
  // Created variables are appended; may be null.
  std::vector<ops::Variable>* variables = nullptr;
};

class Column {
 public:
  explicit Column(std::string name, absl::Status status = absl::OkStatus())
      : name_(std::move(name)), status_(std::move(status)) {}
  virtual ~Column() = default;

  const std::string& name() const { return name_; }
  const absl::Status& status() const { return status_; }
  // Name of the scope of its variables.
  virtual std::string VarScopeName() const { return name_; }
  // Columns of one kind may share an embedding.
  virtual std::string Kind() const = 0;
  virtual absl::Status AddParseSpec(ParseSpec& spec) const = 0;
  // Result that FeatureCache keeps.
  virtual Feature Transform(const Scope& scope, FeatureCache& cache) const = 0;

  // ---- categorical ----
  virtual bool is_categorical() const { return false; }
  virtual int64_t num_buckets() const { return 0; }
  virtual IdsAndWeights Ids(const Scope& scope, FeatureCache& cache) const;
  // Names of the crossed features of a crossed column.
  virtual std::vector<CrossedKey> Leaves() const;
  // OK if it may be part of a cross.
  virtual absl::Status CheckCrossable() const { return absl::OkStatus(); }
  // The column that provides its ids.
  virtual const Column& IdColumn() const { return *this; }

  // ---- dense ----
  virtual bool is_dense() const { return false; }
  virtual int64_t num_elements() const { return 0; }  // per example
  // [batch, ...]; variables are created in `scope`.
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
// Checks all columns, and that names are unique; returns them sorted by name,
// without null pointers. `what` names the list in errors.
absl::StatusOr<FeatureColumns> SortedColumns(const FeatureColumns& columns,
                                             absl::string_view what);
// Name of a column in a given list; "?" for a null column.
std::string NameOrMark(const FeatureColumn& column);
// Returns a dense feature as sparse, without missing values ("", -1; for
// weights, 0).
ops::SparseOutputs ToSparse(const Scope& scope, const Feature& feature);
// Number of values per example in a batch of that shape; none if unknown in the
// graph.
std::optional<int64_t> ValuesOfExample(const PartialShape& shape);
// Returns [batch, size]: the values of each example as a row. A wrong number of
// values is never reshaped into more or fewer examples: it is an error of
// column `name` if the graph knows the size, otherwise of the step.
Output RowsOf(const Scope& scope, absl::string_view name, const Output& values,
              int64_t size);

inline FeatureColumn MakeColumn(std::shared_ptr<const Column> column) {
  return FeatureColumn(std::move(column));
}

}  // namespace weft::feature_column

#endif  // WEFT_LIBS_FEATURE_COLUMN_COLUMN_H_
