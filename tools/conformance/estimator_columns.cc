// MakeColumns.
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/ops/math/math_ops.h"
#include "tools/conformance/estimator_model.h"

namespace weft::conformance {
namespace {

using feature_column::FeatureColumn;
using feature_column::FeatureColumns;
using Json = nlohmann::json;

absl::Status CheckFields(const Json& spec, std::set<std::string> known) {
  for (const auto& [field, value] : spec.items()) {
    if (field != "type" && known.count(field) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("a column has the field ", field, ", unknown here"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<FeatureColumn> One(const NamedColumns& made,
                                  const std::string& name) {
  const auto found = made.find(name);
  if (found != made.end() && found->second.size() == 1) return found->second[0];
  return absl::InvalidArgumentError(
      absl::StrCat("no column ", name, " comes before"));
}

feature_column::NormalizerFn Normalizer(const Json& spec) {
  if (spec.contains("log1p")) {
    return [](const Scope& scope, const Output& x) {
      return ops::Log1p(scope, x);
    };
  }
  const float subtract = spec.at("subtract").get<float>();
  const float divide = spec.at("divide").get<float>();
  return [subtract, divide](const Scope& scope, const Output& x) {
    return ops::RealDiv(scope, ops::Sub(scope, x, subtract), divide);
  };
}

absl::StatusOr<FeatureColumn> Numeric(const Json& spec) {
  RETURN_IF_ERROR(CheckFields(spec, {"key", "shape", "normalizer"}));
  feature_column::NumericColumnOptions options;
  options.shape = spec.value("shape", options.shape);
  if (spec.contains("normalizer")) {
    options.normalizer_fn = Normalizer(spec["normalizer"]);
  }
  return feature_column::NumericColumn(spec.at("key").get<std::string>(),
                                       options);
}

feature_column::VocabularyOptions VocabularyOf(const Json& spec) {
  feature_column::VocabularyOptions options;
  options.default_value = spec.value("default_value", options.default_value);
  options.num_oov_buckets =
      spec.value("num_oov_buckets", options.num_oov_buckets);
  return options;
}

absl::StatusOr<FeatureColumn> Categorical(const std::string& type,
                                          const Json& spec,
                                          const std::string& directory) {
  const auto key = spec.at("key").get<std::string>();
  if (type == "identity") {
    RETURN_IF_ERROR(CheckFields(spec, {"key", "num_buckets", "default_value"}));
    std::optional<int64_t> other;
    if (spec.contains("default_value")) {
      other = spec["default_value"].get<int64_t>();
    }
    return feature_column::CategoricalColumnWithIdentity(
        key, spec.at("num_buckets").get<int64_t>(), other);
  }
  if (type == "hash_bucket") {
    RETURN_IF_ERROR(CheckFields(spec, {"key", "hash_bucket_size"}));
    return feature_column::CategoricalColumnWithHashBucket(
        key, spec.at("hash_bucket_size").get<int64_t>());
  }
  if (type == "vocabulary_list") {
    RETURN_IF_ERROR(CheckFields(
        spec, {"key", "vocabulary_list", "default_value", "num_oov_buckets"}));
    return feature_column::CategoricalColumnWithVocabularyList(
        key, spec.at("vocabulary_list").get<std::vector<std::string>>(),
        VocabularyOf(spec));
  }
  RETURN_IF_ERROR(
      CheckFields(spec, {"key", "vocabulary_file", "vocabulary_size",
                         "default_value", "num_oov_buckets"}));
  std::optional<int64_t> size;
  if (spec.contains("vocabulary_size")) {
    size = spec["vocabulary_size"].get<int64_t>();
  }
  return feature_column::CategoricalColumnWithVocabularyFile(
      key, JoinPath(directory, spec.at("vocabulary_file").get<std::string>()),
      size, VocabularyOf(spec));
}

absl::StatusOr<FeatureColumn> Crossed(const Json& spec,
                                      const NamedColumns& made) {
  RETURN_IF_ERROR(CheckFields(spec, {"keys", "hash_bucket_size", "hash_key"}));
  std::vector<feature_column::CrossedKey> keys;
  for (const Json& key : spec.at("keys")) {
    if (key.is_string()) {
      keys.emplace_back(key.get<std::string>());
    } else {
      ASSIGN_OR_RETURN(const FeatureColumn column,
                       One(made, key.at("column").get<std::string>()));
      keys.emplace_back(column);
    }
  }
  std::optional<int64_t> hash_key;
  if (spec.contains("hash_key")) hash_key = spec["hash_key"].get<int64_t>();
  return feature_column::CrossedColumn(
      keys, spec.at("hash_bucket_size").get<int64_t>(), hash_key);
}

feature_column::EmbeddingColumnOptions EmbeddingOf(const Json& spec) {
  feature_column::EmbeddingColumnOptions options;
  options.combiner = spec.value("combiner", options.combiner);
  if (spec.contains("max_norm")) {
    options.max_norm = spec["max_norm"].get<float>();
  }
  return options;
}

absl::StatusOr<FeatureColumns> Shared(const Json& spec,
                                      const NamedColumns& made) {
  RETURN_IF_ERROR(CheckFields(spec, {"of", "dimension", "combiner", "max_norm",
                                     "shared_embedding_collection_name"}));
  FeatureColumns columns;
  for (const Json& name : spec.at("of")) {
    ASSIGN_OR_RETURN(columns.emplace_back(),
                     One(made, name.get<std::string>()));
  }
  return feature_column::SharedEmbeddingColumns(
      columns, spec.at("dimension").get<int64_t>(), EmbeddingOf(spec),
      spec.value("shared_embedding_collection_name", std::string()));
}

absl::StatusOr<FeatureColumn> OfAnother(const std::string& type,
                                        const Json& spec,
                                        const NamedColumns& made) {
  const bool is_bucketized = type == "bucketized";
  ASSIGN_OR_RETURN(
      const FeatureColumn of,
      One(made, spec.at(is_bucketized ? "source" : "of").get<std::string>()));
  if (is_bucketized) {
    RETURN_IF_ERROR(CheckFields(spec, {"source", "boundaries"}));
    return feature_column::BucketizedColumn(
        of, spec.at("boundaries").get<std::vector<float>>());
  }
  if (type == "weighted") {
    RETURN_IF_ERROR(CheckFields(spec, {"of", "weight_feature_key"}));
    return feature_column::WeightedCategoricalColumn(
        of, spec.at("weight_feature_key").get<std::string>());
  }
  if (type == "indicator") {
    RETURN_IF_ERROR(CheckFields(spec, {"of"}));
    return feature_column::IndicatorColumn(of);
  }
  if (type == "embedding") {
    RETURN_IF_ERROR(
        CheckFields(spec, {"of", "dimension", "combiner", "max_norm"}));
    return feature_column::EmbeddingColumn(
        of, spec.at("dimension").get<int64_t>(), EmbeddingOf(spec));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("columns of type ", type, " are unknown here"));
}

absl::StatusOr<FeatureColumns> Make(const Json& spec, const NamedColumns& made,
                                    const std::string& directory) {
  const auto type = spec.at("type").get<std::string>();
  if (type == "shared_embedding") return Shared(spec, made);
  FeatureColumn column;
  if (type == "numeric") {
    ASSIGN_OR_RETURN(column, Numeric(spec));
  } else if (type == "crossed") {
    ASSIGN_OR_RETURN(column, Crossed(spec, made));
  } else if (type == "identity" || type == "hash_bucket" ||
             type == "vocabulary_list" || type == "vocabulary_file") {
    ASSIGN_OR_RETURN(column, Categorical(type, spec, directory));
  } else {
    ASSIGN_OR_RETURN(column, OfAnother(type, spec, made));
  }
  return FeatureColumns{column};
}

}  // namespace

// A JSON object is sorted by name here, but a column comes after those that it
// is made of: what cannot be made yet waits for the next round.
absl::StatusOr<NamedColumns> MakeColumns(const Json& specs,
                                         const std::string& directory) {
  NamedColumns made;
  absl::Status last;
  while (made.size() < specs.size()) {
    const size_t before = made.size();
    for (const auto& [name, spec] : specs.items()) {
      if (made.count(name) > 0) continue;
      auto columns = Make(spec, made, directory);
      if (columns.ok()) {
        made[name] = *std::move(columns);
      } else {
        last = Annotate(columns.status(), name);
      }
    }
    if (made.size() == before) return last;
  }
  return made;
}

}  // namespace weft::conformance
