#include "libs/ops/data/dataset.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/data/dataset_maker.h"
#include "libs/ops/known_shape.h"

namespace weft::ops {

ElementSpec SpecOf(const std::vector<FunctionArg>& results) {
  ElementSpec element;
  for (const FunctionArg& result : results) {
    element.push_back({result.dtype, result.shape});
  }
  return element;
}

std::vector<FunctionArg> ArgsOf(const ElementSpec& element) {
  std::vector<FunctionArg> args;
  for (const Component& component : element) {
    args.emplace_back(component.dtype, component.shape);
  }
  return args;
}

absl::Status SetNames(const std::vector<std::string>& names,
                      ElementSpec& element) {
  if (names.empty()) return absl::OkStatus();
  if (names.size() != element.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", names.size(), " names for ", element.size(),
                     " components"));
  }
  for (size_t i = 0; i < names.size(); ++i) element[i].name = names[i];
  return absl::OkStatus();
}

std::vector<Output> ComponentsOf(const Node* node, size_t count) {
  std::vector<Output> components;
  for (size_t i = 0; i < count; ++i) {
    components.push_back(OutputOf(node, static_cast<int>(i)));
  }
  return components;
}

PartialShape Batched(const PartialShape& shape, int64_t rows) {
  if (!shape.has_rank()) return shape;
  PartialShape batched({rows});
  for (const int64_t dim : shape.dims()) batched.AddDim(dim);
  return batched;
}

PartialShape RowOf(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return PartialShape();
  PartialShape row = PartialShape::Scalar();
  for (const int64_t dim : shape.dims().subspan(1)) row.AddDim(dim);
  return row;
}

void DatasetMaker::AddElementAttrs(const Scope& scope, absl::string_view op,
                                   const ElementSpec& element, AttrMap& attrs) {
  const OpDef* def = scope.graph().registry()->Find(op);
  if (def == nullptr) return;  // the node reports the error
  DataTypeVector types;
  std::vector<PartialShape> shapes;
  for (const Component& component : element) {
    types.push_back(component.dtype);
    shapes.push_back(component.shape);
  }
  for (const char* name : {"output_types", "Toutput_types"}) {
    if (def->FindAttr(name) != nullptr) attrs[name] = types;
  }
  if (def->FindAttr("output_shapes") != nullptr) {
    attrs["output_shapes"] = std::move(shapes);
  }
}

Dataset DatasetMaker::Null(const Scope& scope, ElementSpec element) {
  Dataset dataset;
  dataset.scope_ = std::make_shared<const Scope>(scope.WithName(""));
  dataset.element_ = std::move(element);
  return dataset;
}

Dataset DatasetMaker::Null(const Dataset& other, ElementSpec element) {
  Dataset dataset;
  dataset.scope_ = other.scope_;
  dataset.element_ = std::move(element);
  return dataset;
}

Dataset DatasetMaker::Of(const Scope& scope, const Output& variant,
                         ElementSpec element) {
  Dataset dataset = Null(scope, std::move(element));
  if (variant && scope.ok()) dataset.variant_ = variant;
  return dataset;
}

Dataset DatasetMaker::Add(const Scope& scope, absl::string_view op,
                          const InputList& inputs, ElementSpec element,
                          AttrMap attrs) {
  AddElementAttrs(scope, op, element, attrs);
  return Of(scope, scope.AddOutput(op, inputs, std::move(attrs)),
            std::move(element));
}

Dataset Dataset::FromVariant(const Scope& scope, const Output& variant,
                             ElementSpec element) {
  return DatasetMaker::Of(scope, variant, std::move(element));
}

Dataset Dataset::Null() const { return DatasetMaker::Null(*this, element_); }

Dataset Dataset::In(const Scope& scope) const {
  Dataset result = *this;
  result.scope_ = std::make_shared<const Scope>(scope);
  return result;
}

Dataset Dataset::WithNames(const std::vector<std::string>& names) const {
  if (!*this) return Null();
  Dataset result = *this;
  scope_->UpdateStatus(
      Annotate(SetNames(names, result.element_),
               absl::StrCat("Dataset '", variant_.name(), "'")));
  return scope_->ok() ? result : Null();
}

Dataset Dataset::Unary(absl::string_view op, const InputList& more,
                       AttrMap attrs) const {
  if (!*this) return Null();
  InputList inputs = {variant_};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return DatasetMaker::Add(*scope_, op, inputs, element_, std::move(attrs));
}

namespace {

// The known value of `size`, of any integer type.
int64_t KnownNumber(const Scope& scope, const Input& size) {
  if (!size.value()) {
    if (!size.output()) return PartialShape::kUnknown;
    return scope.graph()
        .ConstantScalar(size.output().output_tensor())
        .value_or(PartialShape::kUnknown);
  }
  const Tensor& value = *size.value();
  if (value.num_elements() != 1) return PartialShape::kUnknown;
  if (value.dtype() == DT_INT32) return value.flat<int32_t>()[0];
  if (value.dtype() == DT_INT64) return value.flat<int64_t>()[0];
  return PartialShape::kUnknown;
}

// The number of rows per batch; an invalid size is an error of the step.
int64_t KnownRows(const Scope& scope, const Input& batch_size,
                  bool are_all_full) {
  if (!are_all_full) return PartialShape::kUnknown;
  return std::max(KnownNumber(scope, batch_size), PartialShape::kUnknown);
}

}  // namespace

Dataset Dataset::Batch(const Input& batch_size,
                       const BatchOptions& options) const {
  if (!*this) return Null();
  const int64_t rows = KnownRows(*scope_, batch_size, options.drop_remainder);
  ElementSpec element = element_;
  for (Component& component : element) {
    component.shape = Batched(component.shape, rows);
  }
  return DatasetMaker::Add(*scope_, "BatchDatasetV2",
                           {variant_, batch_size, options.drop_remainder},
                           std::move(element));
}

namespace {

absl::StatusOr<Tensor> DimsOf(const PartialShape& shape) {
  if (!shape.has_rank()) {
    return absl::InvalidArgumentError(
        "padded_shapes must say the rank of each component");
  }
  Tensor dims(DT_INT64, TensorShape({shape.rank()}));
  std::copy(shape.dims().begin(), shape.dims().end(),
            dims.mutable_flat<int64_t>().begin());
  return dims;
}

// The padding inputs of PaddedBatch for each component.
absl::StatusOr<InputList> PaddingInputs(const ElementSpec& element,
                                        std::vector<PartialShape>& shapes,
                                        const PaddedBatchOptions& options) {
  if (shapes.empty()) {
    for (const Component& component : element) {
      shapes.push_back(component.shape);
    }
  }
  const size_t num_values = options.padding_values.size();
  if (shapes.size() != element.size() ||
      (num_values != 0 && num_values != element.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "PaddedBatch: padded_shapes and padding_values must have one entry "
        "padding_values for each of ",
        element.size(), " components"));
  }
  InputList inputs;
  for (const PartialShape& shape : shapes) {
    ASSIGN_OR_RETURN(Tensor dims, DimsOf(shape));
    inputs.emplace_back(std::move(dims));
  }
  for (size_t i = 0; i < element.size(); ++i) {
    inputs.push_back(num_values != 0 ? options.padding_values[i]
                                     : Input(Tensor(element[i].dtype, {})));
  }
  return inputs;
}

}  // namespace

Dataset Dataset::PaddedBatch(const Input& batch_size,
                             const PaddedBatchOptions& options) const {
  if (!*this) return Null();
  std::vector<PartialShape> shapes = options.padded_shapes;
  absl::StatusOr<InputList> padding = PaddingInputs(element_, shapes, options);
  if (!padding.ok()) {
    scope_->UpdateStatus(padding.status());
    return Null();
  }
  InputList inputs = {variant_, batch_size};
  inputs.insert(inputs.end(), padding->begin(), padding->end());
  inputs.emplace_back(options.drop_remainder);
  const int64_t rows = KnownRows(*scope_, batch_size, options.drop_remainder);
  ElementSpec element = element_;
  for (size_t i = 0; i < element.size(); ++i) {
    element[i].shape = Batched(shapes[i], rows);
  }
  return DatasetMaker::Add(*scope_, "PaddedBatchDatasetV2", inputs,
                           std::move(element),
                           {{"N", static_cast<int64_t>(element_.size())}});
}

Dataset Dataset::Unbatch() const {
  if (!*this) return Null();
  ElementSpec element = element_;
  for (Component& component : element) {
    component.shape = RowOf(component.shape);
  }
  return DatasetMaker::Add(*scope_, "UnbatchDataset", {variant_},
                           std::move(element));
}

Dataset Dataset::Shuffle(const Input& buffer_size,
                         const ShuffleOptions& options) const {
  if (!*this) return Null();
  const auto [seed, seed2] = scope_->GetSeeds(options.seed);
  return Unary(
      "ShuffleDataset", {buffer_size, seed, seed2},
      {{"reshuffle_each_iteration", options.reshuffle_each_iteration}});
}

Dataset Dataset::Repeat(const Input& count) const {
  return Unary("RepeatDataset", {count});
}

Dataset Dataset::Take(const Input& count) const {
  return Unary("TakeDataset", {count});
}

Dataset Dataset::Skip(const Input& count) const {
  return Unary("SkipDataset", {count});
}

Dataset Dataset::Shard(const Input& num_shards, const Input& index) const {
  return Unary("ShardDataset", {num_shards, index});
}

Dataset Dataset::Prefetch(const Input& buffer_size) const {
  return Unary("PrefetchDataset", {buffer_size});
}

Dataset Dataset::Cache(const Input& filename) const {
  return Unary("CacheDataset", {filename});
}

Dataset Dataset::IgnoreErrors() const {
  return Unary("IgnoreErrorsDataset", {});
}

Dataset Dataset::Window(const Input& size, const WindowOptions& options) const {
  if (!*this) return Null();
  ElementSpec element = element_;
  for (Component& component : element) {
    component.dtype = DT_VARIANT;
    component.shape = PartialShape::Scalar();
  }
  return DatasetMaker::Add(*scope_, "WindowDataset",
                           {variant_, size, options.shift.value_or(size),
                            options.stride, options.drop_remainder},
                           std::move(element));
}

Dataset Dataset::Enumerate(const Input& start) const {
  if (!*this) return Null();
  return Zip({Range(*scope_, start, std::numeric_limits<int64_t>::max())
                  .WithNames({"index"}),
              *this});
}

namespace {

bool HaveSameTypes(const ElementSpec& a, const ElementSpec& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Component& x, const Component& y) {
                      return x.dtype == y.dtype;
                    });
}

}  // namespace

Dataset Dataset::Concatenate(const Dataset& other) const {
  if (!*this || !other) return Null();
  if (!HaveSameTypes(element_, other.element_)) {
    scope_->UpdateStatus(absl::InvalidArgumentError(
        absl::StrCat("Two datasets to concatenate have different types: '",
                     variant_.name(), "' and '", other.variant_.name(), "'")));
    return Null();
  }
  ElementSpec element = element_;
  for (size_t i = 0; i < element.size(); ++i) {
    element[i].shape = CommonShape(element[i].shape, other.element_[i].shape);
  }
  return DatasetMaker::Add(*scope_, "ConcatenateDataset",
                           {variant_, other.variant_}, std::move(element));
}

Dataset Dataset::ChooseFromDatasets(const std::vector<Dataset>& datasets,
                                    const Dataset& choices,
                                    bool stop_on_empty_dataset) {
  if (datasets.empty() || !choices) return DatasetMaker::Null(choices, {});
  ElementSpec element = datasets[0].element_;
  InputList inputs = {choices.variant_};
  for (const Dataset& dataset : datasets) {
    if (!dataset) return DatasetMaker::Null(choices, std::move(element));
    inputs.emplace_back(dataset.variant_);
    if (!HaveSameTypes(element, dataset.element_)) {
      choices.scope_->UpdateStatus(absl::InvalidArgumentError(
          absl::StrCat("Two datasets to choose from have different types: '",
                       datasets[0].variant_.name(), "' and '",
                       dataset.variant_.name(), "'")));
      return DatasetMaker::Null(choices, std::move(element));
    }
    for (size_t i = 0; i < element.size(); ++i) {
      element[i].shape =
          CommonShape(element[i].shape, dataset.element_[i].shape);
    }
  }
  return DatasetMaker::Add(*choices.scope_, "DirectedInterleaveDataset", inputs,
                           std::move(element),
                           {{"stop_on_empty_dataset", stop_on_empty_dataset}});
}

Dataset Dataset::Unique() const { return Unary("UniqueDataset", {}); }

Output Dataset::Cardinality() const {
  if (!*this) return Output();
  return scope_->AddOutput("DatasetCardinality", {variant_});
}

std::vector<Output> Dataset::GetSingleElement() const {
  if (!*this) return std::vector<Output>(element_.size());
  AttrMap attrs;
  DatasetMaker::AddElementAttrs(*scope_, "DatasetToSingleElement", element_,
                                attrs);
  const Node* node =
      scope_->AddNode("DatasetToSingleElement", {variant_}, std::move(attrs));
  return ComponentsOf(node, element_.size());
}

}  // namespace weft::ops
