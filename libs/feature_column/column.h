// Column: what a feature column does: the implementations behind FeatureColumn
// (feature_column.h) and FeatureCache, which they take features from.
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

// The features of a batch and what columns have made of them: each
// transformation is made once, whichever columns use it.
class FeatureCache {
 public:
  // `features` outlive it.
  explicit FeatureCache(const Features& features) : features_(features) {}

  // The feature itself, with a dimension more where it had only the batch.
  // `column`: who asks, for the error where there is no such feature.
  Feature Raw(const Scope& scope, const std::string& key,
              absl::string_view column);
  // What `column` makes of it.
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
  // Variables that were made are appended; may be null.
  std::vector<ops::Variable>* variables = nullptr;
};

class Column {
 public:
  explicit Column(std::string name, absl::Status status = absl::OkStatus())
      : name_(std::move(name)), status_(std::move(status)) {}
  virtual ~Column() = default;

  const std::string& name() const { return name_; }
  const absl::Status& status() const { return status_; }
  // The scope of its variables, as a name.
  virtual std::string VarScopeName() const { return name_; }
  // Columns of one class may share an embedding.
  virtual std::string Kind() const = 0;
  virtual absl::Status AddParseSpec(ParseSpec& spec) const = 0;
  // What FeatureCache keeps.
  virtual Feature Transform(const Scope& scope, FeatureCache& cache) const = 0;

  // ---- categorical ----
  virtual bool is_categorical() const { return false; }
  virtual int64_t num_buckets() const { return 0; }
  virtual IdsAndWeights Ids(const Scope& scope, FeatureCache& cache) const;
  // The names of the features under it, where it is crossed.
  virtual std::vector<CrossedKey> Leaves() const;
  // OK where it may be part of a cross.
  virtual absl::Status CheckCrossable() const { return absl::OkStatus(); }
  // The column whose ids it gives.
  virtual const Column& IdColumn() const { return *this; }

  // ---- dense ----
  virtual bool is_dense() const { return false; }
  virtual int64_t num_elements() const { return 0; }  // of one example
  // [batch, ...]; variables are made in `scope`.
  virtual Output DenseTensor(const Scope& scope, FeatureCache& cache,
                             const DenseOptions& options) const;

 protected:
  const std::string name_;
  const absl::Status status_;
};

// `name` as a scope can have it: other characters become "_".
std::string SafeScopeName(absl::string_view name);
// "Feature column 'NAME': TEXT".
absl::Status ColumnError(absl::string_view name, absl::string_view text);
// Checks all columns, and that no two have one name; sorted by name. Null
// pointers never. `what` calls the list.
absl::StatusOr<FeatureColumns> SortedColumns(const FeatureColumns& columns,
                                             absl::string_view what);
// Of a column that may be none, as a list that is given may hold it: "?".
std::string NameOrMark(const FeatureColumn& column);
// A dense feature as a sparse one, without its elements that are no value ("",
// -1; for weights, 0).
ops::SparseOutputs ToSparse(const Scope& scope, const Feature& feature);
// How many values an example has, of a batch of that shape; none where the
// graph does not know it.
std::optional<int64_t> ValuesOfExample(const PartialShape& shape);
// [batch, size]: the values of each example as a row. Examples of another size
// never become more, or fewer: they are an error of column `name` where the
// graph knows it, else of the step.
Output RowsOf(const Scope& scope, absl::string_view name, const Output& values,
              int64_t size);

inline FeatureColumn MakeColumn(std::shared_ptr<const Column> column) {
  return FeatureColumn(std::move(column));
}

}  // namespace weft::feature_column

#endif  // WEFT_LIBS_FEATURE_COLUMN_COLUMN_H_
