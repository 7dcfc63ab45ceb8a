#include "libs/feature_column/parse_spec.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/feature_column/column.h"
#include "libs/ops/parsing/parsing_ops.h"

namespace weft::feature_column {
namespace {

std::string ToString(const ParseFeature& feature) {
  if (const auto* any = std::get_if<VarLenFeature>(&feature)) {
    return absl::StrCat("any number of ", DataTypeName(any->dtype));
  }
  const auto& fixed = std::get<FixedLenFeature>(feature);
  return absl::StrCat(DataTypeName(fixed.dtype), " [",
                      absl::StrJoin(fixed.shape, ","), "]",
                      fixed.default_value ? " with a default" : "");
}

// Wanted holds the arguments of ParseExample for all features.
struct Wanted {
  InputList sparse_keys, dense_keys, dense_defaults;
  DataTypeVector sparse_types;
  std::vector<PartialShape> dense_shapes;
};

void AddTo(const std::string& key, const FixedLenFeature& feature,
           Wanted& wanted) {
  wanted.dense_keys.emplace_back(key);
  wanted.dense_defaults.emplace_back(
      feature.default_value ? *feature.default_value
                            : Tensor(feature.dtype, TensorShape({0})));
  wanted.dense_shapes.emplace_back(
      Dims(feature.shape.begin(), feature.shape.end()));
}

Wanted WantedBy(const ParseSpec& spec) {
  Wanted wanted;
  for (const auto& [key, feature] : spec) {
    if (const auto* any = std::get_if<VarLenFeature>(&feature)) {
      wanted.sparse_keys.emplace_back(key);
      wanted.sparse_types.push_back(any->dtype);
    } else {
      AddTo(key, std::get<FixedLenFeature>(feature), wanted);
    }
  }
  return wanted;
}

}  // namespace

bool operator==(const FixedLenFeature& a, const FixedLenFeature& b) {
  if (a.shape != b.shape || a.dtype != b.dtype) return false;
  if (a.default_value.has_value() != b.default_value.has_value()) return false;
  return !a.default_value || SameBits(*a.default_value, *b.default_value);
}

bool operator==(const VarLenFeature& a, const VarLenFeature& b) {
  return a.dtype == b.dtype;
}

absl::Status AddToSpec(const std::string& key, const ParseFeature& feature,
                       ParseSpec& spec) {
  const auto [place, is_new] = spec.emplace(key, feature);
  if (is_new || place->second == feature) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("feature_columns contain different parse_spec for key ", key,
                   ": ", ToString(place->second), " and ", ToString(feature),
                   ". Make the columns agree, or use two keys."));
}

absl::StatusOr<ParseSpec> MakeParseExampleSpec(const FeatureColumns& columns) {
  ParseSpec spec;
  for (const FeatureColumn& column : columns) {
    if (column.column() == nullptr) {
      return absl::InvalidArgumentError(
          "feature_columns contain a default-constructed FeatureColumn.");
    }
    RETURN_IF_ERROR(column.status());
    RETURN_IF_ERROR(column.column()->AddParseSpec(spec));
  }
  return spec;
}

Features ParseExample(const Scope& scope, const Input& serialized,
                      const ParseSpec& spec) {
  const Wanted wanted = WantedBy(spec);
  const auto parsed = ops::ParseExample(
      scope, serialized, Tensor(DT_STRING, TensorShape({0})),
      wanted.sparse_keys, wanted.dense_keys, wanted.dense_defaults,
      wanted.sparse_types, wanted.dense_shapes);
  Features features;
  if (!scope.ok()) return features;
  size_t sparse = 0, dense = 0;
  for (const auto& [key, feature] : spec) {
    if (std::holds_alternative<VarLenFeature>(feature)) {
      features[key] = ops::SparseOutputs{parsed.sparse_indices[sparse],
                                         parsed.sparse_values[sparse],
                                         parsed.sparse_shapes[sparse]};
      ++sparse;
    } else {
      features[key] = parsed.dense_values[dense++];
    }
  }
  return features;
}

}  // namespace weft::feature_column
