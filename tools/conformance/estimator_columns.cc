// Implements MakeColumns.
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"
#include "libs/ops/math/math_ops.h"
#include "tools/conformance/estimator_fields.h"
#include "tools/conformance/estimator_model.h"

namespace weft::conformance {
namespace {

using feature_column::FeatureColumn;
using feature_column::FeatureColumns;
using Json = nlohmann::json;

absl::StatusOr<FeatureColumn> One(const NamedColumns& made,
                                  const std::string& name) {
  const auto found = made.find(name);
  if (found != made.end() && found->second.size() == 1) return found->second[0];
  return absl::InvalidArgumentError(
      absl::StrCat("column ", name, " is not built yet"));
}

absl::StatusOr<feature_column::NormalizerFn> Normalizer(const Json& spec) {
  Fields fields(spec, "the normalizer");
  if (spec.contains("log1p")) {
    fields.Skip("log1p");
    RETURN_IF_ERROR(fields.CheckAllTaken());
    return feature_column::NormalizerFn(
        [](const Scope& scope, const Output& x) {
          return ops::Log1p(scope, x);
        });
  }
  ASSIGN_OR_RETURN(const auto subtract, fields.Get<float>("subtract"));
  ASSIGN_OR_RETURN(const auto divide, fields.Get<float>("divide"));
  RETURN_IF_ERROR(fields.CheckAllTaken());
  return feature_column::NormalizerFn(
      [subtract, divide](const Scope& scope, const Output& x) {
        return ops::RealDiv(scope, ops::Sub(scope, x, subtract), divide);
      });
}

absl::Status TakeDtype(Fields& fields, DataType& dtype) {
  std::optional<std::string> name;
  RETURN_IF_ERROR(fields.Take("dtype", name));
  if (!name) return absl::OkStatus();
  ASSIGN_OR_RETURN(dtype, DtypeOf(*name));
  return absl::OkStatus();
}

// Reads a default, which is either one number for all elements or a number for
// each element.
absl::Status TakeDefault(Fields& fields, std::optional<Tensor>& value) {
  const Json* found = fields.Find("default_value");
  if (found == nullptr) return absl::OkStatus();
  float one = 0;
  std::vector<float> each;
  if (Convert(*found, one)) {
    value = Tensor::Scalar(one);
  } else if (Convert(*found, each)) {
    value = Tensor::FromValues(TensorShape({static_cast<int64_t>(each.size())}),
                               absl::Span<const float>(each));
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat(fields.what(), ": default_value is ", found->dump()));
  }
  return absl::OkStatus();
}

absl::StatusOr<FeatureColumn> Numeric(Fields& fields) {
  ASSIGN_OR_RETURN(const auto key, fields.Get<std::string>("key"));
  feature_column::NumericColumnOptions options;
  RETURN_IF_ERROR(fields.Take("shape", options.shape));
  RETURN_IF_ERROR(TakeDtype(fields, options.dtype));
  RETURN_IF_ERROR(TakeDefault(fields, options.default_value));
  if (const Json* normalizer = fields.Find("normalizer")) {
    ASSIGN_OR_RETURN(options.normalizer_fn, Normalizer(*normalizer));
  }
  return feature_column::NumericColumn(key, options);
}

absl::StatusOr<feature_column::VocabularyOptions> VocabularyOf(Fields& fields) {
  feature_column::VocabularyOptions options;
  RETURN_IF_ERROR(TakeDtype(fields, options.dtype));
  RETURN_IF_ERROR(fields.Take("default_value", options.default_value));
  RETURN_IF_ERROR(fields.Take("num_oov_buckets", options.num_oov_buckets));
  return options;
}

absl::StatusOr<FeatureColumn> Identity(Fields& fields, const std::string& key) {
  ASSIGN_OR_RETURN(const auto buckets, fields.Get<int64_t>("num_buckets"));
  std::optional<int64_t> other;
  RETURN_IF_ERROR(fields.Take("default_value", other));
  return feature_column::CategoricalColumnWithIdentity(key, buckets, other);
}

absl::StatusOr<FeatureColumn> HashBucket(Fields& fields,
                                         const std::string& key) {
  ASSIGN_OR_RETURN(const auto size, fields.Get<int64_t>("hash_bucket_size"));
  DataType dtype = DT_STRING;
  RETURN_IF_ERROR(TakeDtype(fields, dtype));
  return feature_column::CategoricalColumnWithHashBucket(key, size, dtype);
}

absl::StatusOr<FeatureColumn> VocabularyList(Fields& fields,
                                             const std::string& key) {
  ASSIGN_OR_RETURN(const auto options, VocabularyOf(fields));
  ASSIGN_OR_RETURN(const Json* list, fields.GetObject("vocabulary_list"));
  std::vector<int64_t> numbers;
  if (!list->empty() && Convert(*list, numbers)) {
    return feature_column::CategoricalColumnWithVocabularyList(key, numbers,
                                                               options);
  }
  ASSIGN_OR_RETURN(const auto words,
                   fields.Get<std::vector<std::string>>("vocabulary_list"));
  return feature_column::CategoricalColumnWithVocabularyList(key, words,
                                                             options);
}

absl::StatusOr<FeatureColumn> VocabularyFile(Fields& fields,
                                             const std::string& key,
                                             const std::string& directory) {
  ASSIGN_OR_RETURN(const auto options, VocabularyOf(fields));
  ASSIGN_OR_RETURN(const auto file, fields.Get<std::string>("vocabulary_file"));
  std::optional<int64_t> size;
  RETURN_IF_ERROR(fields.Take("vocabulary_size", size));
  return feature_column::CategoricalColumnWithVocabularyFile(
      key, JoinPath(directory, file), size, options);
}

absl::StatusOr<feature_column::CrossedKey> KeyOf(const Json& json,
                                                 const NamedColumns& made) {
  if (json.is_string()) {
    return feature_column::CrossedKey(json.get<std::string>());
  }
  Fields fields(json, "the key of a crossed column");
  ASSIGN_OR_RETURN(const auto name, fields.Get<std::string>("column"));
  RETURN_IF_ERROR(fields.CheckAllTaken());
  ASSIGN_OR_RETURN(const FeatureColumn column, One(made, name));
  return feature_column::CrossedKey(column);
}

absl::StatusOr<FeatureColumn> Crossed(Fields& fields,
                                      const NamedColumns& made) {
  ASSIGN_OR_RETURN(const Json* specs, fields.GetObject("keys"));
  std::vector<feature_column::CrossedKey> keys;
  for (const Json& key : *specs) {
    ASSIGN_OR_RETURN(keys.emplace_back(), KeyOf(key, made));
  }
  ASSIGN_OR_RETURN(const auto size, fields.Get<int64_t>("hash_bucket_size"));
  std::optional<int64_t> hash_key;
  RETURN_IF_ERROR(fields.Take("hash_key", hash_key));
  return feature_column::CrossedColumn(keys, size, hash_key);
}

absl::StatusOr<feature_column::EmbeddingColumnOptions> EmbeddingOf(
    Fields& fields, const std::string& directory) {
  feature_column::EmbeddingColumnOptions options;
  RETURN_IF_ERROR(fields.Take("combiner", options.combiner));
  RETURN_IF_ERROR(fields.Take("max_norm", options.max_norm));
  RETURN_IF_ERROR(fields.Take("trainable", options.trainable));
  RETURN_IF_ERROR(
      fields.Take("tensor_name_in_ckpt", options.tensor_name_in_ckpt));
  std::optional<std::string> checkpoint;
  RETURN_IF_ERROR(fields.Take("ckpt_to_load_from", checkpoint));
  if (checkpoint) options.ckpt_to_load_from = JoinPath(directory, *checkpoint);
  return options;
}

absl::StatusOr<FeatureColumn> Weighted(Fields& fields,
                                       const FeatureColumn& of) {
  ASSIGN_OR_RETURN(const auto key,
                   fields.Get<std::string>("weight_feature_key"));
  DataType dtype = DT_FLOAT;
  RETURN_IF_ERROR(TakeDtype(fields, dtype));
  return feature_column::WeightedCategoricalColumn(of, key, dtype);
}

absl::StatusOr<FeatureColumns> Shared(Fields& fields, const NamedColumns& made,
                                      const std::string& directory) {
  ASSIGN_OR_RETURN(const auto names,
                   fields.Get<std::vector<std::string>>("of"));
  FeatureColumns columns;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(columns.emplace_back(), One(made, name));
  }
  ASSIGN_OR_RETURN(const auto dimension, fields.Get<int64_t>("dimension"));
  ASSIGN_OR_RETURN(const auto options, EmbeddingOf(fields, directory));
  std::string collection;
  RETURN_IF_ERROR(fields.Take("shared_embedding_collection_name", collection));
  return feature_column::SharedEmbeddingColumns(columns, dimension, options,
                                                collection);
}

absl::StatusOr<FeatureColumn> OfAnother(const std::string& type, Fields& fields,
                                        const NamedColumns& made,
                                        const std::string& directory) {
  const bool is_bucketized = type == "bucketized";
  ASSIGN_OR_RETURN(const auto name,
                   fields.Get<std::string>(is_bucketized ? "source" : "of"));
  ASSIGN_OR_RETURN(const FeatureColumn of, One(made, name));
  if (is_bucketized) {
    ASSIGN_OR_RETURN(const auto boundaries,
                     fields.Get<std::vector<float>>("boundaries"));
    return feature_column::BucketizedColumn(of, boundaries);
  }
  if (type == "weighted") return Weighted(fields, of);
  if (type == "indicator") return feature_column::IndicatorColumn(of);
  ASSIGN_OR_RETURN(const auto dimension, fields.Get<int64_t>("dimension"));
  ASSIGN_OR_RETURN(const auto options, EmbeddingOf(fields, directory));
  return feature_column::EmbeddingColumn(of, dimension, options);
}

absl::StatusOr<FeatureColumn> MakeOne(const std::string& type, Fields& fields,
                                      const NamedColumns& made,
                                      const std::string& directory) {
  if (type == "numeric") return Numeric(fields);
  if (type == "crossed") return Crossed(fields, made);
  if (type == "bucketized" || type == "weighted" || type == "indicator" ||
      type == "embedding") {
    return OfAnother(type, fields, made, directory);
  }
  ASSIGN_OR_RETURN(const auto key, fields.Get<std::string>("key"));
  if (type == "identity") return Identity(fields, key);
  if (type == "hash_bucket") return HashBucket(fields, key);
  if (type == "vocabulary_list") return VocabularyList(fields, key);
  if (type == "vocabulary_file") return VocabularyFile(fields, key, directory);
  return UnknownHere(absl::StrCat("a column of type ", type));
}

absl::StatusOr<FeatureColumns> Make(const Json& spec, const NamedColumns& made,
                                    const std::string& directory) {
  Fields fields(spec, "the column");
  ASSIGN_OR_RETURN(const auto type, fields.Get<std::string>("type"));
  FeatureColumns columns;
  if (type == "shared_embedding") {
    ASSIGN_OR_RETURN(columns, Shared(fields, made, directory));
  } else {
    ASSIGN_OR_RETURN(columns.emplace_back(),
                     MakeOne(type, fields, made, directory));
  }
  RETURN_IF_ERROR(fields.CheckAllTaken());
  return columns;
}

}  // namespace

// Columns are sorted by name in the JSON object, but a column can only be built
// after the columns to which it refers. If it cannot be built yet, the next
// round tries again.
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
