// ParseSpec: which features of serialized Examples columns need, and reading
// them; TensorFlow's make_parse_example_spec and parse_example.
//
//   ParseSpec spec = MakeParseExampleSpec(columns).value();
//   Features features = ParseExample(scope, serialized, spec);
//
// Threads: values; building as the scope's.
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

// As many values in each example; without a default it is required.
struct FixedLenFeature {
  std::vector<int64_t> shape;
  DataType dtype = DT_FLOAT;
  std::optional<Tensor> default_value;  // of the shape
};
// Any number of values: a sparse feature.
struct VarLenFeature {
  DataType dtype = DT_STRING;
};
using ParseFeature = std::variant<FixedLenFeature, VarLenFeature>;
bool operator==(const FixedLenFeature& a, const FixedLenFeature& b);
bool operator==(const VarLenFeature& a, const VarLenFeature& b);

using ParseSpec = std::map<std::string, ParseFeature>;

// Of all columns together. INVALID_ARGUMENT, naming the feature, where two
// columns want it in different ways, and for a column that is wrong.
absl::StatusOr<ParseSpec> MakeParseExampleSpec(const FeatureColumns& columns);
// Adds one feature. INVALID_ARGUMENT where the spec has it in another way.
absl::Status AddToSpec(const std::string& key, const ParseFeature& feature,
                       ParseSpec& spec);

// The features of a vector of serialized Examples. Errors stick to the scope.
Features ParseExample(const Scope& scope, const Input& serialized,
                      const ParseSpec& spec);

}  // namespace weft::feature_column

#endif  // WEFT_LIBS_FEATURE_COLUMN_PARSE_SPEC_H_
