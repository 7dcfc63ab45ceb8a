// ParseSpec lists the features of serialized Examples that columns need, and
// ParseExample reads these features. Their models are TensorFlow's
// make_parse_example_spec and parse_example.
//
//   ParseSpec spec = MakeParseExampleSpec(columns).value();
//   Features features = ParseExample(scope, serialized, spec);
//
// Threads: specs are values; ParseExample is as thread-safe as the scope.
#ifndef WEFT_LIBS_FEATURE_COLUMN_PARSE_SPEC_H_
#define WEFT_LIBS_FEATURE_COLUMN_PARSE_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/feature_column/feature_column.h"

namespace weft::feature_column {

// A feature with a fixed number of values in each example. It is required
// unless it has a default.
struct FixedLenFeature {
  std::vector<int64_t> shape;
  DataType dtype = DT_FLOAT;
  std::optional<Tensor> default_value;  // of shape `shape`
};
// A feature with any number of values, which is sparse.
struct VarLenFeature {
  DataType dtype = DT_STRING;
};
using ParseFeature = std::variant<FixedLenFeature, VarLenFeature>;
bool operator==(const FixedLenFeature& a, const FixedLenFeature& b);
bool operator==(const VarLenFeature& a, const VarLenFeature& b);

using ParseSpec = std::map<std::string, ParseFeature>;

// Combines the specs of all columns. INVALID_ARGUMENT, naming the feature, if
// two columns need a feature in different ways; the error of a column if it is
// invalid.
absl::StatusOr<ParseSpec> MakeParseExampleSpec(const FeatureColumns& columns);
// Adds one feature to `spec`. INVALID_ARGUMENT if the spec has the feature in
// another form.
absl::Status AddToSpec(const std::string& key, const ParseFeature& feature,
                       ParseSpec& spec);

// Returns the features of a vector of serialized Examples. Errors stick to the
// scope.
Features ParseExample(const Scope& scope, const Input& serialized,
                      const ParseSpec& spec);

}  // namespace weft::feature_column

#endif  // WEFT_LIBS_FEATURE_COLUMN_PARSE_SPEC_H_
