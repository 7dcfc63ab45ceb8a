// Implements NumericColumn and BucketizedColumn.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/feature_column/column.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/tensor/buffer.h"

namespace weft::feature_column {
namespace {

int64_t Product(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (int64_t size : shape) product *= size;
  return product;
}

// Returns the default for Examples that lack the feature, as a tensor with
// dimensions `dims`.
absl::StatusOr<Tensor> FillDefault(const std::string& key, const Tensor& value,
                                   const std::vector<int64_t>& dims) {
  const TensorShape shape{absl::MakeConstSpan(dims)};
  if (value.shape() == shape) return value;
  if (value.num_elements() == shape.num_elements())
    return value.Reshaped(shape);
  if (value.num_elements() != 1) {
    return ColumnError(
        key, absl::StrCat("default_value is of shape ",
                          value.shape().ToString(), ", but the column of ",
                          shape.ToString(), "; give one value of that shape."));
  }
  ASSIGN_OR_RETURN(Tensor filled,
                   Tensor::Allocate(HeapAllocator(), value.dtype(), shape));
  const size_t size = DataTypeSize(value.dtype());
  char* to = static_cast<char*>(filled.mutable_data());
  for (int64_t i = 0; i < shape.num_elements(); ++i, to += size) {
    std::memcpy(to, value.data(), size);
  }
  return filled;
}

absl::Status CheckNumeric(const std::string& key,
                          const NumericColumnOptions& options) {
  int64_t elements = 1;
  for (int64_t size : options.shape) {
    if (size <= 0 || size > (int64_t{1} << 40) / elements) {
      return ColumnError(
          key, absl::StrCat("shape dimensions must be greater than 0, and all "
                            "together less than 2^40, but are [",
                            absl::StrJoin(options.shape, ", "), "]."));
    }
    elements *= size;
  }
  if (!IsIntegerType(options.dtype) && !IsFloatingType(options.dtype)) {
    return ColumnError(key, absl::StrCat("dtype must be convertible to float, "
                                         "but is ",
                                         DataTypeName(options.dtype), "."));
  }
  if (!options.default_value) return absl::OkStatus();
  if (options.default_value->dtype() != options.dtype) {
    return ColumnError(
        key,
        absl::StrCat("default_value is ",
                     DataTypeName(options.default_value->dtype()),
                     ", but the column's dtype ", DataTypeName(options.dtype),
                     "; give a value of that type."));
  }
  return FillDefault(key, *options.default_value, options.shape).status();
}

class Numeric : public Column {
 public:
  Numeric(const std::string& key, NumericColumnOptions options)
      : Column(key, CheckNumeric(key, options)), options_(std::move(options)) {}

  const std::vector<int64_t>& shape() const { return options_.shape; }
  std::string Kind() const override { return "numeric"; }
  bool is_dense() const override { return true; }
  int64_t num_elements() const override { return Product(options_.shape); }

  absl::Status AddParseSpec(ParseSpec& spec) const override {
    FixedLenFeature feature{options_.shape, options_.dtype, std::nullopt};
    if (options_.default_value) {
      ASSIGN_OR_RETURN(
          feature.default_value,
          FillDefault(name_, *options_.default_value, options_.shape));
    }
    return AddToSpec(name_, feature, spec);
  }

  Feature Transform(const Scope& scope, FeatureCache& cache) const override {
    const Feature raw = cache.Raw(scope, name_, name_);
    if (!raw) return Feature();
    scope.UpdateStatus(Check(raw));
    if (!scope.ok()) return Feature();
    Output values = raw.dense();
    if (options_.normalizer_fn) {
      values = options_.normalizer_fn(scope, values);
      if (!values) return Feature();
    }
    return values.dtype() == DT_FLOAT ? values
                                      : ops::Cast(scope, values, DT_FLOAT);
  }

 private:
  absl::Status Check(const Feature& raw) const {
    if (raw.is_sparse()) {
      return ColumnError(
          name_,
          "the feature is sparse, but a numeric column takes "
          "dense ones; make it dense in the input function (SparseToDense).");
    }
    if (raw.dtype() == DT_STRING) {
      return ColumnError(name_,
                         "the feature is string, but a numeric column takes "
                         "numbers; use a categorical column, or StringToNumber "
                         "in the input function.");
    }
    return CheckSize(raw.dense().shape());
  }
  absl::Status CheckSize(const PartialShape& shape) const {
    const std::optional<int64_t> values = ValuesOfExample(shape);
    if (!values || *values == num_elements()) return absl::OkStatus();
    return ColumnError(
        name_,
        absl::StrCat("an example of the feature has ", *values, " values (",
                     shape.ToString(), "), but the column's shape is [",
                     absl::StrJoin(options_.shape, ","),
                     "]; say it in the column's options."));
  }

  const NumericColumnOptions options_;
};

absl::Status CheckBucketized(const std::string& name, const Column* source,
                             const std::vector<float>& boundaries) {
  const auto* numeric = dynamic_cast<const Numeric*>(source);
  if (numeric == nullptr) {
    return ColumnError(name,
                       "source_column must be a column generated with "
                       "NumericColumn.");
  }
  RETURN_IF_ERROR(numeric->status());
  if (numeric->shape().size() > 1) {
    return ColumnError(name, "source_column must be of one value or a vector.");
  }
  const bool rises = std::adjacent_find(boundaries.begin(), boundaries.end(),
                                        [](float a, float b) {
                                          return !(a < b);
                                        }) == boundaries.end();
  if (!boundaries.empty() && rises && !std::isnan(boundaries[0])) {
    return absl::OkStatus();
  }
  return ColumnError(name,
                     "boundaries must be a list of numbers that rise, each "
                     "larger than the one before.");
}

class Bucketized : public Column {
 public:
  Bucketized(const FeatureColumn& source, std::vector<float> boundaries)
      : Column(absl::StrCat(NameOrMark(source), "_bucketized"),
               CheckBucketized(absl::StrCat(NameOrMark(source), "_bucketized"),
                               source.column().get(), boundaries)),
        source_(source),
        boundaries_(std::move(boundaries)) {}

  std::string Kind() const override { return "bucketized"; }
  bool is_dense() const override { return true; }
  bool is_categorical() const override { return true; }
  int64_t num_elements() const override { return num_buckets(); }
  int64_t num_buckets() const override {
    return buckets() * source_.column()->num_elements();
  }
  absl::Status AddParseSpec(ParseSpec& spec) const override {
    return source_.column()->AddParseSpec(spec);
  }

  // Returns the bucket index of each value.
  Feature Transform(const Scope& scope, FeatureCache& cache) const override {
    const Feature source = cache.Transformed(scope, *source_.column());
    if (!source) return Feature();
    return ops::Bucketize(scope, source.dense(), boundaries_);
  }

  Output DenseTensor(const Scope& scope, FeatureCache& cache,
                     const DenseOptions&) const override {
    const Feature bucket = cache.Transformed(scope, *this);
    if (!bucket) return Output();
    return ops::OneHot(scope, bucket.dense(), static_cast<int32_t>(buckets()),
                       1.0f, 0.0f);
  }

  // Each position of a vector has ids of its own: position p starts at id p *
  // buckets().
  IdsAndWeights Ids(const Scope& scope, FeatureCache& cache) const override {
    const Feature bucket = cache.Transformed(scope, *this);
    if (!bucket) return {};
    const int64_t size = source_.column()->num_elements();
    const Output rows = RowsOf(scope, name_, bucket.dense(), size);
    Tensor first(DT_INT32, TensorShape({size}));
    for (int64_t i = 0; i < size; ++i) {
      first.mutable_flat<int32_t>()[i] = static_cast<int32_t>(i * buckets());
    }
    const Output ids = ops::Cast(scope, ops::Add(scope, rows, first), DT_INT64);
    const Output indices = ops::Where(scope, ops::GreaterEqual(scope, ids, 0));
    return {{indices, ops::Reshape(scope, ids, Tensor::Vector<int32_t>({-1})),
             ops::Shape(scope, ids, {.out_type = DT_INT64})},
            {}};
  }

 private:
  int64_t buckets() const {
    return static_cast<int64_t>(boundaries_.size()) + 1;
  }

  const FeatureColumn source_;
  const std::vector<float> boundaries_;
};

}  // namespace

FeatureColumn NumericColumn(const std::string& key,
                            const NumericColumnOptions& options) {
  return MakeColumn(std::make_shared<Numeric>(key, options));
}

FeatureColumn BucketizedColumn(const FeatureColumn& source_column,
                               const std::vector<float>& boundaries) {
  return MakeColumn(std::make_shared<Bucketized>(source_column, boundaries));
}

}  // namespace weft::feature_column
