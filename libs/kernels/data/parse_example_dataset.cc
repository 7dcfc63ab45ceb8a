// Elements that are vectors of serialized examples, parsed several at a time.
// Dense features alone: sparse and ragged ones would be variants, which only
// TensorFlow's own functions take apart; a map with ParseExample has them.
#include <algorithm>
#include <utility>

#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/parallel_map.h"
#include "libs/kernels/parsing/example_records.h"

namespace weft {
namespace {

using Features = std::vector<DenseFeature>;

class ParseExampleDataset : public UnaryDataset {
 public:
  // `features` are in the order of the components, that of their keys.
  ParseExampleDataset(const DatasetOp& op, DatasetPtr input, Features features,
                      int64_t parallel_calls, bool keeps_order)
      : UnaryDataset(op, std::move(input)),
        features_(std::move(features)),
        parallel_calls_(parallel_calls),
        keeps_order_(keeps_order) {}

  absl::StatusOr<std::unique_ptr<DatasetIterator>> MakeIterator(
      IteratorContext& context) const override {
    ASSIGN_OR_RETURN(auto input, this->input().MakeIterator(context));
    ParallelMapOptions options;
    options.parallel_calls = parallel_calls_;
    options.keeps_order = keeps_order_;
    // The iterator holds this.
    options.map = [this](const IteratorContext& c, DatasetElement element,
                         CapturedFunction::Done done) {
      done(Parse(c, element));
    };
    return NewParallelMapIterator(shared_from_this(), std::move(input),
                                  std::move(options), context);
  }
  int64_t Cardinality() const override { return input().Cardinality(); }

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
    for (size_t i = 0; i < features_.size(); ++i) {
      ASSIGN_OR_RETURN(Tensor dense, records.Dense(features_[i], i));
      result.push_back(std::move(dense));
    }
    return result;
  }

  const Features features_;
  const int64_t parallel_calls_;
  const bool keeps_order_;
};

absl::Status CheckOnlyDense(const DatasetOp& op) {
  for (const char* attr : {"sparse_keys", "ragged_keys"}) {
    ASSIGN_OR_RETURN(const auto keys, op.Attr<std::vector<std::string>>(attr));
    if (!keys.empty()) {
      return absl::UnimplementedError(absl::StrCat(
          op.name, " parses dense features alone, and is given ", attr, " '",
          keys[0], "', ...; use a map with ParseExample"));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Features> ReadFeatures(const DatasetOp& op,
                                      const OpKernelContext& context) {
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
  Features features;
  for (size_t i = 0; i < keys.size(); ++i) {
    const Tensor& value = context.input(static_cast<int>(i) + 2);
    features.push_back({keys[i], shapes[i], value});
  }
  std::sort(features.begin(), features.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  DataTypeVector found;
  for (const DenseFeature& feature : features) {
    found.push_back(feature.default_value.dtype());
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
  RETURN_IF_ERROR(CheckOnlyDense(op));
  ASSIGN_OR_RETURN(Features features, ReadFeatures(op, context));
  ASSIGN_OR_RETURN(const bool keeps_order, KeepsOrder(op));
  return std::make_shared<ParseExampleDataset>(
      op, std::move(input), std::move(features), calls, keeps_order);
}

}  // namespace

void RegisterParseExampleDataset(KernelRegistry& registry) {
  RegisterDataset(registry, "ParseExampleDataset", MakeParseExample);
  RegisterDataset(registry, "ParseExampleDatasetV2", MakeParseExample);
}

}  // namespace weft
