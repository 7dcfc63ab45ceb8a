#include "libs/kernels/data/dataset.h"

#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/control/nesting.h"
#include "libs/kernels/data/walk_functions.h"

namespace weft {
namespace {

absl::Status Damaged(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the saved state of an iterator ", what));
}

std::string TypesText(const DataTypeVector& types) {
  return absl::StrJoin(types, ", ", [](std::string* out, DataType type) {
    absl::StrAppend(out, DataTypeName(type));
  });
}

// The least number of bytes of a tensor in a checkpoint. Variants are counted
// when they are encoded.
int64_t BytesToSave(const Tensor& tensor) {
  if (tensor.dtype() == DT_VARIANT) return 0;
  if (tensor.dtype() != DT_STRING) {
    return static_cast<int64_t>(tensor.num_bytes());
  }
  int64_t bytes = 0;
  for (const std::string& text : tensor.flat<std::string>()) {
    bytes += static_cast<int64_t>(text.size());
  }
  return bytes;
}

}  // namespace

IteratorContext::IteratorContext(const StepContext& step,
                                 std::shared_ptr<FunctionRuntime> functions)
    : step_(step),
      functions_(std::move(functions)),
      depth_(step.frame == nullptr ? 0 : step.frame->depth + kDepthOfThread) {
  // Clears the objects that live as long as the step; each function call has
  // its own.
  step_.step_id = 0;
  step_.step_resources = nullptr;
  step_.rendezvous = nullptr;
  step_.frame = nullptr;
  step_.checkpoint_metrics = nullptr;
}

IteratorContext IteratorContext::With(Cancellation& cancellation) const {
  IteratorContext result = *this;
  result.step_.cancellation = &cancellation;
  return result;
}

IteratorContext IteratorContext::ForWalk() const {
  IteratorContext result = *this;
  result.walk_functions_ = std::make_shared<WalkFunctions>();
  return result;
}

IteratorContext IteratorContext::AtDepth(int depth) const& {
  return IteratorContext(*this).AtDepth(depth);
}

IteratorContext IteratorContext::AtDepth(int depth) && {
  depth_ = depth;
  return std::move(*this);
}

IteratorContext IteratorContext::ForInputs(int count) const {
  IteratorContext result = *this;
  result.eager_iterators_ /= count;
  return result;
}

IteratorContext IteratorContext::Counting(IteratorPlace::Count count) && {
  iterator_count_ = std::move(count);
  return std::move(*this);
}

absl::StatusOr<IteratorPlace> IteratorPlace::Take(Count count) {
  IteratorPlace place(std::move(count));
  const int64_t before = place.count_->fetch_add(1, std::memory_order_relaxed);
  if (before < kMaxIterators) return place;
  return absl::ResourceExhaustedError(absl::StrCat(
      "a traversal of a dataset has more than ", kMaxIterators,
      " iterators. Datasets that are an input of several others have one for "
      "each path to them; cache their elements or zip them only once"));
}

void IteratorStateWriter::Write(absl::string_view name, Tensor value) {
  *bytes_ += BytesToSave(value);
  if (*bytes_ > max_bytes_) return;  // CheckSize fails then
  values_->insert_or_assign(absl::StrCat(prefix_, name), std::move(value));
}

void IteratorStateWriter::Write(absl::string_view name, int64_t value) {
  Write(name, Tensor::Scalar(value));
}

void IteratorStateWriter::Write(absl::string_view name,
                                const DatasetElement& element) {
  IteratorStateWriter components = Within(name);
  components.Write("size", static_cast<int64_t>(element.size()));
  for (size_t i = 0; i < element.size(); ++i) {
    components.Write(absl::StrCat(i), element[i]);
  }
}

void IteratorStateWriter::Write(absl::string_view name,
                                const std::vector<DatasetElement>& elements) {
  Write(name, static_cast<int64_t>(elements.size()));
  for (size_t i = 0; i < elements.size(); ++i) {
    Write(absl::StrCat(name, i), elements[i]);
  }
}

absl::Status IteratorStateWriter::CheckSize(absl::string_view dataset) const {
  if (*bytes_ <= max_bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      dataset, ": the state of an iterator is limited to ", max_bytes_,
      " bytes in a checkpoint, but with the elements that this dataset keeps "
      "it takes at least ",
      *bytes_,
      ". Keep fewer elements (a smaller shuffle buffer, a cache in a file), or "
      "save without iterators"));
}

absl::StatusOr<const Tensor*> IteratorStateReader::Find(
    absl::string_view name) const {
  const auto it = values_->find(absl::StrCat(prefix_, name));
  if (it != values_->end()) return &it->second;
  return absl::NotFoundError(
      absl::StrCat("the saved state of an iterator has no '", prefix_, name,
                   "'; was it saved by an iterator of another dataset?"));
}

bool IteratorStateReader::Has(absl::string_view name) const {
  return values_->contains(absl::StrCat(prefix_, name));
}

absl::StatusOr<Tensor> IteratorStateReader::Read(absl::string_view name,
                                                 DataType type) const {
  ASSIGN_OR_RETURN(const Tensor* value, Find(name));
  if (value->dtype() == type) return *value;
  return Damaged(absl::StrCat("has a ", DataTypeName(value->dtype()), " '",
                              prefix_, name, "', not a ", DataTypeName(type)));
}

absl::StatusOr<int64_t> IteratorStateReader::ReadInt(
    absl::string_view name) const {
  ASSIGN_OR_RETURN(const Tensor value, Read(name, DT_INT64));
  if (value.num_elements() == 1) return value.flat<int64_t>()[0];
  return Damaged(absl::StrCat("has '", prefix_, name, "' of shape ",
                              value.shape().ToString(), ", not a scalar"));
}

absl::StatusOr<int64_t> IteratorStateReader::ReadCount(absl::string_view name,
                                                       int64_t most) const {
  ASSIGN_OR_RETURN(const int64_t value, ReadInt(name));
  if (value >= 0 && value <= most) return value;
  return Damaged(absl::StrCat("has ", value, " as '", prefix_, name,
                              "', which must be between 0 and ", most));
}

absl::StatusOr<bool> IteratorStateReader::ReadBool(
    absl::string_view name) const {
  ASSIGN_OR_RETURN(const int64_t value, ReadInt(name));
  return value != 0;
}

absl::StatusOr<DatasetElement> IteratorStateReader::ReadElement(
    absl::string_view name) const {
  const IteratorStateReader components = Within(name);
  ASSIGN_OR_RETURN(const int64_t size, components.ReadInt("size"));
  if (size < 1) {
    return Damaged(absl::StrCat("has an element '", prefix_, name, "' of ",
                                size, " components"));
  }
  DatasetElement element;
  for (int64_t i = 0; i < size; ++i) {
    // Stops at the first missing component, however large the stated size is.
    ASSIGN_OR_RETURN(const Tensor* value, components.Find(absl::StrCat(i)));
    element.push_back(*value);
  }
  return element;
}

absl::StatusOr<DatasetElement> IteratorStateReader::ReadElement(
    absl::string_view name, const DataTypeVector& types) const {
  ASSIGN_OR_RETURN(DatasetElement element, ReadElement(name));
  RETURN_IF_ERROR(
      Annotate(CheckElementTypes({types, {}}, TypesOfElement(element)),
               absl::StrCat("the saved state of an iterator has an element '",
                            prefix_, name, "'")));
  return element;
}

absl::StatusOr<std::vector<DatasetElement>> IteratorStateReader::ReadElements(
    absl::string_view name, const DataTypeVector& types) const {
  ASSIGN_OR_RETURN(const int64_t size, ReadInt(name));
  if (size < 0) {
    return Damaged(
        absl::StrCat("has ", size, " elements '", prefix_, name, "'"));
  }
  std::vector<DatasetElement> elements;
  for (int64_t i = 0; i < size; ++i) {
    // Stops at the first missing element, however large the stated size is.
    ASSIGN_OR_RETURN(elements.emplace_back(),
                     ReadElement(absl::StrCat(name, i), types));
  }
  return elements;
}

absl::Status DatasetIterator::GetTexts(IteratorContext&,
                                       absl::Span<std::string>, size_t*) {
  return absl::UnimplementedError("this dataset does not support GetTexts");
}

absl::Status DatasetIterator::Skip(IteratorContext& context, int64_t count,
                                   int64_t* done) {
  DatasetElement element;
  for (int64_t i = 0; i < count; ++i) {
    ASSIGN_OR_RETURN(const bool has_element,
                     NextUnlessCancelled(*this, context, &element));
    if (!has_element) break;
    ++*done;
  }
  return absl::OkStatus();
}

absl::Status DatasetIterator::Save(IteratorContext&, IteratorStateWriter) {
  return absl::UnimplementedError(
      "iterators of this dataset do not support saving their position");
}

absl::Status DatasetIterator::Restore(IteratorContext&,
                                      const IteratorStateReader&) {
  return absl::UnimplementedError(
      "iterators of this dataset do not support restoring their position");
}

absl::StatusOr<std::unique_ptr<DatasetIterator>> DatasetIterator::MakeInner(
    const Dataset& dataset, const IteratorContext& context) const {
  return dataset.MakeIterator(context.AtDepth(depth_).Counting(place_.count()));
}

absl::StatusOr<std::unique_ptr<DatasetIterator>> Dataset::MakeIterator(
    const IteratorContext& context) const {
  RETURN_IF_ERROR(context.cancellation().status());
  if (context.depth() >= kMaxNesting) {
    return absl::ResourceExhaustedError(absl::StrCat(
        name_, ": iterators and functions of datasets are nested more than ",
        kMaxNesting,
        " deep. A function that creates a dataset which calls it must "
        "terminate"));
  }
  IteratorPlace::Count count = context.iterator_count();
  if (count == nullptr) count = std::make_shared<std::atomic<int64_t>>(0);
  IteratorContext inner = context.AtDepth(context.depth() + 1).Counting(count);
  absl::StatusOr<IteratorPlace> place = IteratorPlace::Take(std::move(count));
  RETURN_IF_ERROR(Annotate(place.status(), name_));
  ASSIGN_OR_RETURN(std::unique_ptr<DatasetIterator> iterator,
                   NewIterator(inner));
  iterator->depth_ = inner.depth();
  iterator->place_ = *std::move(place);
  return iterator;
}

int64_t Dataset::Cardinality() const {
  int64_t cardinality = cardinality_.load(std::memory_order_relaxed);
  if (cardinality != kNotFoundYet) return cardinality;
  cardinality = FindCardinality();
  cardinality_.store(cardinality, std::memory_order_relaxed);
  return cardinality;
}

DataTypeVector TypesOfElement(const DatasetElement& element) {
  DataTypeVector types;
  for (const Tensor& component : element) types.push_back(component.dtype());
  return types;
}

absl::StatusOr<bool> NextUnlessCancelled(DatasetIterator& iterator,
                                         IteratorContext& context,
                                         DatasetElement* element) {
  RETURN_IF_ERROR(context.cancellation().status());
  return iterator.GetNext(context, element);
}

absl::Status CheckElementTypes(const ElementSpec& expected,
                               const DataTypeVector& types) {
  if (types.size() != expected.types.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Number of components does not match: expected ", expected.types.size(),
        " types but got ", types.size(), "."));
  }
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == expected.types[i]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Data type mismatch at component ", i, ": expected ",
                     DataTypeName(expected.types[i]), " but got ",
                     DataTypeName(types[i]), ", of {", TypesText(types), "}."));
  }
  return absl::OkStatus();
}

absl::Status CheckElementShapes(const ElementSpec& expected,
                                const std::vector<PartialShape>& shapes) {
  if (shapes.size() != expected.shapes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Number of components does not match: expected ",
        expected.shapes.size(), " shapes but got ", shapes.size(), "."));
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (expected.shapes[i].IsCompatibleWith(shapes[i])) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Incompatible shapes at component ", i, ": expected ",
        expected.shapes[i].ToString(), " but got ", shapes[i].ToString(), "."));
  }
  return absl::OkStatus();
}

absl::Status NotTheEnd(const Dataset& dataset, const absl::Status& status) {
  if (!absl::IsOutOfRange(status)) return status;
  return absl::InternalError(absl::StrCat(
      "Iterator \"", dataset.name(),
      "\" returned `OutOfRange`, which does not mean the end of the data. "
      "Original message: ",
      status.message()));
}

Tensor ToTensor(DatasetPtr dataset, int64_t nesting) {
  Tensor tensor(DT_VARIANT, TensorShape());
  Variant& variant = tensor.mutable_scalar<Variant>();
  variant.type_name = kDatasetType;
  variant.metadata = absl::StrCat(nesting, " ", dataset->name());
  variant.object = std::move(dataset);
  return tensor;
}

absl::StatusOr<DatasetPtr> DatasetFrom(const Tensor& tensor) {
  if (tensor.dtype() != DT_VARIANT || tensor.rank() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Dataset tensor must be a scalar of dtype DT_VARIANT, but is ",
        DataTypeName(tensor.dtype()), " ", tensor.shape().ToString()));
  }
  const Variant& variant = tensor.scalar<Variant>();
  auto dataset = std::dynamic_pointer_cast<const Dataset>(variant.object);
  if (dataset != nullptr) return dataset;
  return absl::InvalidArgumentError(
      absl::StrCat("Tensor must be a Dataset object, but holds a '",
                   variant.type_name, "'"));
}

}  // namespace weft
