// Parses elements that are vectors of serialized examples, several
// concurrently. A sparse feature becomes a vector of three variants for
// DeserializeSparse: indices, values and shape. A ragged feature becomes a
// variant scalar for RaggedTensorFromVariant.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/datasets/parallel_map.h"
#include "libs/kernels/parsing/example_records.h"
#include "libs/kernels/sparse/sparse_tensor.h"

namespace weft {
namespace {

struct Feature {
  enum class Kind { kDense, kSparse, kRagged };

  // Its key is also used for features of the other kinds.
  DenseFeature dense;
  Kind kind = Kind::kDense;
  // For the other kinds.
  DataType value_type = DT_INVALID;
  DataType split_type = DT_INVALID;  // of a ragged feature
  size_t number = 0;                 // among those of its kind

  DataType output_type() const {
    return kind == Kind::kDense ? dense.default_value.dtype() : DT_VARIANT;
  }
};
using Features = std::vector<Feature>;

Tensor VariantsOf(const SparseValues& sparse) {
  Tensor result(DT_VARIANT, {3});
  size_t next = 0;
  for (const Tensor* part : {&sparse.indices, &sparse.values, &sparse.shape}) {
    result.mutable_flat<Variant>()[next++] = TensorVariant(*part);
  }
  return result;
}

class ParseExampleDataset : public UnaryDataset {
 public:
  // `features` are in the order of the components: sorted by key.
  ParseExampleDataset(const DatasetOp& op, DatasetPtr input, Features features,
                      int64_t parallel_calls, bool keeps_order)
      : UnaryDataset(op, std::move(input)),
        features_(std::move(features)),
        parallel_calls_(parallel_calls),
        keeps_order_(keeps_order) {}

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(auto input, this->input().MakeIterator(context));
    ParallelMapOptions options;
    options.parallel_calls = parallel_calls_;
    options.keeps_order = keeps_order_;
    // The iterator keeps this dataset alive.
    options.map = [this](const IteratorContext& c, DatasetElement element,
                         CapturedFunction::Done done) {
      done(CatchExceptions([&] { return Parse(c, element); }));
    };
    return NewParallelMapIterator(shared_from_this(), std::move(input),
                                  std::move(options), context);
  }
  int64_t FindCardinality() const override { return input().Cardinality(); }

 private:
  absl::StatusOr<DatasetElement> Parse(const IteratorContext& context,
                                       const DatasetElement& element) const {
    if (element.size() != 1 || element[0].dtype() != DT_STRING ||
        element[0].rank() != 1) {
      return absl::InvalidArgumentError(
          "Expected the input to be a vector of serialized examples");
    }
    ASSIGN_OR_RETURN(
        const ExampleRecords records,
        ExampleRecords::Parse(context.scheduler(), context.allocator(),
                              element[0], Tensor(DT_STRING, {0})));
    DatasetElement result;
    for (const Feature& feature : features_) {
      ASSIGN_OR_RETURN(result.emplace_back(), ParseFeature(records, feature));
    }
    return result;
  }

  static absl::StatusOr<Tensor> ParseFeature(const ExampleRecords& records,
                                             const Feature& feature) {
    const std::string& key = feature.dense.key;
    if (feature.kind == Feature::Kind::kDense) {
      return records.Dense(feature.dense, feature.number);
    }
    if (feature.kind == Feature::Kind::kSparse) {
      ASSIGN_OR_RETURN(const SparseValues sparse,
                       records.Sparse(key, feature.value_type));
      return VariantsOf(sparse);
    }
    ASSIGN_OR_RETURN(
        RaggedValues ragged,
        records.Ragged(key, feature.value_type, feature.split_type));
    Tensor result(DT_VARIANT, {});
    result.mutable_flat<Variant>()[0] =
        RaggedVariant({std::move(ragged.row_splits), std::move(ragged.values)});
    return result;
  }

  const Features features_;
  const int64_t parallel_calls_;
  const bool keeps_order_;
};

absl::Status AddDense(const DatasetOp& op, const OpKernelContext& context,
                      Features& features) {
  ASSIGN_OR_RETURN(const auto keys,
                   op.Attr<std::vector<std::string>>("dense_keys"));
  ASSIGN_OR_RETURN(const auto types, op.Attr<DataTypeVector>("Tdense"));
  ASSIGN_OR_RETURN(const auto shapes,
                   op.Attr<std::vector<PartialShape>>("dense_shapes"));
  if (keys.size() != types.size() || keys.size() != shapes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "len(dense_keys) (", keys.size(), "), len(Tdense) (", types.size(),
        ") and len(dense_shapes) (", shapes.size(), ") must be equal"));
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const Tensor& value = context.input(static_cast<int>(i) + 2);
    features.push_back({.dense = {keys[i], shapes[i], value}, .number = i});
  }
  return absl::OkStatus();
}

absl::Status AddSparse(const DatasetOp& op, Features& features) {
  ASSIGN_OR_RETURN(const auto keys,
                   op.Attr<std::vector<std::string>>("sparse_keys"));
  ASSIGN_OR_RETURN(const auto types, op.Attr<DataTypeVector>("sparse_types"));
  if (keys.size() != types.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "len(sparse_keys) (", keys.size(), ") and len(sparse_types) (",
        types.size(), ") must be equal"));
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    features.push_back(
        {.dense = {.key = keys[i], .shape = {}, .default_value = {}},
         .kind = Feature::Kind::kSparse,
         .value_type = types[i],
         .number = i});
  }
  return absl::OkStatus();
}

absl::Status AddRagged(const DatasetOp& op, Features& features) {
  if (!op.attrs.contains("ragged_keys")) return absl::OkStatus();  // older ops
  ASSIGN_OR_RETURN(const auto keys,
                   op.Attr<std::vector<std::string>>("ragged_keys"));
  ASSIGN_OR_RETURN(const auto types,
                   op.Attr<DataTypeVector>("ragged_value_types"));
  ASSIGN_OR_RETURN(const auto splits,
                   op.Attr<DataTypeVector>("ragged_split_types"));
  if (keys.size() != types.size() || keys.size() != splits.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "len(ragged_keys) (", keys.size(), "), len(ragged_value_types) (",
        types.size(), ") and len(ragged_split_types) (", splits.size(),
        ") must be equal"));
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    features.push_back(
        {.dense = {.key = keys[i], .shape = {}, .default_value = {}},
         .kind = Feature::Kind::kRagged,
         .value_type = types[i],
         .split_type = splits[i],
         .number = i});
  }
  return absl::OkStatus();
}

absl::StatusOr<Features> ReadFeatures(const DatasetOp& op,
                                      const OpKernelContext& context) {
  Features features;
  RETURN_IF_ERROR(AddDense(op, context, features));
  RETURN_IF_ERROR(AddSparse(op, features));
  RETURN_IF_ERROR(AddRagged(op, features));
  std::stable_sort(
      features.begin(), features.end(),
      [](const auto& a, const auto& b) { return a.dense.key < b.dense.key; });
  DataTypeVector found;
  for (const Feature& feature : features) {
    found.push_back(feature.output_type());
  }
  RETURN_IF_ERROR(CheckElementTypes(op.element, found));
  return features;
}

absl::StatusOr<DatasetPtr> MakeParseExample(const DatasetOp& op,
                                            OpKernelContext& context) {
  ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
  ASSIGN_OR_RETURN(const int64_t calls,
                   ScalarInput<int64_t>(context, 1, "num_parallel_calls"));
  RETURN_IF_ERROR(CheckParallelCalls(calls));
  ASSIGN_OR_RETURN(Features features, ReadFeatures(op, context));
  ASSIGN_OR_RETURN(const bool keeps_order, KeepsOrder(op));
  return std::make_shared<ParseExampleDataset>(
      op, std::move(input), std::move(features), calls, keeps_order);
}

}  // namespace

void RegisterParseExampleDataset(KernelRegistry& registry) {
  RegisterDataset(registry, "ParseExampleDataset", MakeParseExample);
  RegisterDataset(registry, "ExperimentalParseExampleDataset",
                  MakeParseExample);
  RegisterDataset(registry, "ParseExampleDatasetV2", MakeParseExample);
}

}  // namespace weft
