#include "libs/kernels/parsing/example_records.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "google/protobuf/arena.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/parsing/feature_values.h"
#include "libs/tensor/heap_charge.h"
#include "schemas/tf/example.pb.h"

namespace weft {

struct ExampleRecords::Parsed {
  explicit Parsed(Allocator& allocator) : charge(allocator) {}

  google::protobuf::Arena arena;
  std::vector<tf::Example*> examples;
  ArenaCharge charge;
};

// One feature of all examples, null if an example lacks it.
template <typename T>
class ExampleRecords::Column {
 public:
  explicit Column(size_t count) : features_(count, nullptr) {}

  void Set(int64_t n, const tf::Feature& feature) { features_[n] = &feature; }
  bool Has(int64_t n) const { return features_[n] != nullptr; }
  int64_t Size(int64_t n) const { return Has(n) ? SizeOf(*features_[n]) : 0; }
  int64_t Total() const {
    int64_t total = 0;
    for (size_t n = 0; n < features_.size(); ++n) total += Size(n);
    return total;
  }
  int64_t Longest() const {
    int64_t longest = 0;
    for (size_t n = 0; n < features_.size(); ++n) {
      longest = std::max(longest, Size(n));
    }
    return longest;
  }
  // Charges the memory that CopyTo copies for all examples, outside of the
  // tensor.
  absl::Status ChargeAll(HeapCharge& charge) const {
    for (const tf::Feature* feature : features_) {
      if (feature != nullptr) {
        RETURN_IF_ERROR(ChargeValues(charge, *feature));
      }
    }
    return absl::OkStatus();
  }
  // REQUIRES: room for Size(n).
  T* CopyTo(int64_t n, T* out) const {
    return Has(n) ? CopyValues(*features_[n], out) : out;
  }
  T* CopyAllTo(T* out) const {
    for (size_t n = 0; n < features_.size(); ++n) out = CopyTo(n, out);
    return out;
  }

 private:
  std::vector<const tf::Feature*> features_;
};

ExampleRecords::ExampleRecords(Allocator& allocator, const Tensor& serialized,
                               const Tensor& names)
    : allocator_(&allocator),
      count_(serialized.num_elements()),
      is_single_(serialized.shape().IsScalar()),
      names_(names),
      parsed_(std::make_shared<Parsed>(allocator)) {}

absl::StatusOr<ExampleRecords> ExampleRecords::Parse(Scheduler& scheduler,
                                                     Allocator& allocator,
                                                     const Tensor& serialized,
                                                     const Tensor& names) {
  if (serialized.rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected serialized to be a scalar or vector, got shape: ",
        serialized.shape().ToString()));
  }
  if (names.num_elements() != 0 && names.shape() != serialized.shape()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected names have the same shape as serialized: name.shape=",
        names.shape().ToString(),
        ", serialized.shape=", serialized.shape().ToString()));
  }
  ExampleRecords records(allocator, serialized, names);
  RETURN_IF_ERROR(records.ParseAll(scheduler, serialized.flat<std::string>()));
  return records;
}

absl::Status ExampleRecords::ParseAll(
    Scheduler& scheduler, absl::Span<const std::string> serialized) {
  std::vector<tf::Example*>& examples = parsed_->examples;
  examples.resize(serialized.size());
  RETURN_IF_ERROR(parsed_->charge.AddTexts(serialized));
  const auto parse = [&](int64_t n) {
    const std::string& bytes = serialized[n];
    examples[n] =
        google::protobuf::Arena::CreateMessage<tf::Example>(&parsed_->arena);
    return bytes.size() <= std::numeric_limits<int>::max() &&
           examples[n]->ParseFromArray(bytes.data(),
                                       static_cast<int>(bytes.size()));
  };
  ASSIGN_OR_RETURN(
      const int64_t bad, FindBadRecord(scheduler, serialized, parse, [&] {
        return parsed_->charge.Update(parsed_->arena.SpaceAllocated());
      }));
  if (bad < 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(NameOf(bad), CouldNotParse(serialized[bad])));
}

std::string ExampleRecords::NameOf(int64_t n) const {
  if (is_single_ || names_.num_elements() == 0) return "";
  return absl::StrCat("Name: ", names_.flat<std::string>()[n], ", ");
}

std::string ExampleRecords::Where(int64_t n, absl::string_view key) const {
  if (is_single_) return absl::StrCat("Key: ", key, ".  ");
  const std::string name = NameOf(n);
  return absl::StrCat(name.empty() ? "Name: <unknown>, " : name, "Key: ", key,
                      ", Index: ", n, ".  ");
}

absl::Status ExampleRecords::Missing(int64_t n, absl::string_view key,
                                     DataType dtype) const {
  const std::string name = NameOf(n);
  return absl::InvalidArgumentError(
      absl::StrCat(name.empty() && !is_single_ ? "Name: <unknown>, " : name,
                   "Feature: ", key, " (data type: ", DataTypeName(dtype),
                   ") is required but could not be found."));
}

absl::StatusOr<TensorShape> ExampleRecords::WithBatch(
    absl::Span<const int64_t> dims) const {
  Dims all(dims.begin(), dims.end());
  if (!is_single_) all.insert(all.begin(), count_);
  return TensorShape::Create(all);
}

// `mismatch` is TensorFlow's text, with "$0" for the expected and "$1" for the
// actual value.
template <typename T>
absl::StatusOr<ExampleRecords::Column<T>> ExampleRecords::Find(
    absl::string_view key, absl::string_view mismatch) const {
  constexpr DataType kType = DataTypeOf<T>::value;
  Column<T> column(static_cast<size_t>(count_));
  const std::string name(key);
  for (int64_t n = 0; n < count_; ++n) {
    const auto& features = parsed_->examples[n]->features().feature();
    const auto found = features.find(name);
    if (found == features.end()) continue;
    const DataType type = TypeOf(found->second);
    if (type == DT_INVALID) continue;
    if (type != kType) {
      return absl::InvalidArgumentError(absl::StrCat(
          Where(n, key), "Data types don't match. ",
          absl::Substitute(mismatch, DataTypeName(kType), DataTypeName(type))));
    }
    column.Set(n, found->second);
  }
  return column;
}

constexpr char kDenseMismatch[] = "Data type: $1 but expected type: $0";
constexpr char kSparseMismatch[] = "Expected type: $0, Actual type: $1";

template <typename T>
absl::StatusOr<Tensor> ExampleRecords::FixedDense(
    const DenseFeature& feature) const {
  constexpr DataType kType = DataTypeOf<T>::value;
  ASSIGN_OR_RETURN(const Column<T> column,
                   Find<T>(feature.key, kDenseMismatch));
  ASSIGN_OR_RETURN(const TensorShape one,
                   TensorShape::Create(feature.shape.dims()));
  ASSIGN_OR_RETURN(const TensorShape shape, WithBatch(one.dims()));
  const auto otherwise = feature.default_value.flat<T>();
  size_t missing = 0;
  for (int64_t n = 0; n < count_; ++n) {
    if (!column.Has(n)) {
      ++missing;
      if (!otherwise.empty()) continue;
      return Missing(n, feature.key, kType);
    }
    if (column.Size(n) == one.num_elements()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        Where(n, feature.key),
        is_single_ ? "Can't parse serialized Example: " : "", "Number of ",
        DataTypeName(kType), " values != expected.  Values size: ",
        column.Size(n), " but output shape: ", one.ToString()));
  }
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(*allocator_, kType, shape));
  HeapCharge charge(*allocator_);
  RETURN_IF_ERROR(ChargeDefaults<T>(charge, otherwise, missing));
  RETURN_IF_ERROR(column.ChargeAll(charge));
  T* out = tensor.mutable_flat<T>().data();
  for (int64_t n = 0; n < count_; ++n) {
    out = column.Has(n) ? column.CopyTo(n, out)
                        : std::copy(otherwise.begin(), otherwise.end(), out);
  }
  return tensor;
}

template <typename T>
absl::StatusOr<Tensor> ExampleRecords::VariableDense(
    const DenseFeature& feature) const {
  constexpr DataType kType = DataTypeOf<T>::value;
  ASSIGN_OR_RETURN(const Column<T> column,
                   Find<T>(feature.key, kDenseMismatch));
  Dims dims(feature.shape.dims().begin(), feature.shape.dims().end());
  dims[0] = 1;
  ASSIGN_OR_RETURN(const TensorShape row, TensorShape::Create(dims));
  const int64_t stride = row.num_elements();
  for (int64_t n = 0; n < count_; ++n) {
    const int64_t size = column.Size(n);
    if (stride == 0 ? size == 0 : size % stride == 0) continue;
    if (is_single_) {
      return absl::InvalidArgumentError(
          absl::StrCat("Error while parsing feature with key ", feature.key,
                       ": number of elements should be divisible by ", stride,
                       ", found ", size, " instead"));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        Where(n, feature.key), "Number of ", DataTypeName(kType),
        " values is not a multiple of stride length. Saw ", size,
        " values but output shape is: ", feature.shape.ToString()));
  }
  dims[0] = stride == 0 ? 0 : column.Longest() / stride;
  ASSIGN_OR_RETURN(const TensorShape one, TensorShape::Create(dims));
  ASSIGN_OR_RETURN(const TensorShape shape, WithBatch(dims));
  ASSIGN_OR_RETURN(Tensor tensor, Tensor::Allocate(*allocator_, kType, shape));
  HeapCharge charge(*allocator_);
  RETURN_IF_ERROR(ChargeDefaults<T>(charge, feature.default_value.flat<T>(),
                                    tensor.num_elements() - column.Total()));
  RETURN_IF_ERROR(column.ChargeAll(charge));
  T* out = tensor.mutable_flat<T>().data();
  const T& filler = feature.default_value.flat<T>()[0];
  for (int64_t n = 0; n < count_; ++n) {
    T* const end = out + one.num_elements();
    std::fill(column.CopyTo(n, out), end, filler);
    out = end;
  }
  return tensor;
}

absl::StatusOr<Tensor> ExampleRecords::Dense(const DenseFeature& feature,
                                             size_t i) const {
  const bool is_variable = feature.shape.has_rank() &&
                           feature.shape.rank() > 0 &&
                           feature.shape.dim(0) == PartialShape::kUnknown;
  const Tensor& otherwise = feature.default_value;
  if (is_variable && otherwise.num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dense_shape[", i, "] is a variable length shape: ",
        feature.shape.ToString(), ", therefore def_value[", i,
        "] must contain a single element (the padding element).  But its "
        "shape is: ",
        otherwise.shape().ToString()));
  }
  if (!is_variable && otherwise.num_elements() > 0 &&
      !feature.shape.IsCompatibleWith(otherwise.shape())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "def_value[", i, "].shape() == ", otherwise.shape().ToString(),
        " is not compatible with dense_shapes_[", i,
        "] == ", feature.shape.ToString()));
  }
  Tensor tensor;
  RETURN_IF_ERROR(DispatchType(
      FeatureTypes{}, otherwise.dtype(),
      [&]<typename T>(TypeTag<T>) -> absl::Status {
        ASSIGN_OR_RETURN(tensor, is_variable ? VariableDense<T>(feature)
                                             : FixedDense<T>(feature));
        return absl::OkStatus();
      }));
  return tensor;
}

template <typename T>
absl::StatusOr<SparseValues> ExampleRecords::SparseOf(
    const std::string& key) const {
  ASSIGN_OR_RETURN(const Column<T> column, Find<T>(key, kSparseMismatch));
  const int64_t total = column.Total();
  const int64_t rank = is_single_ ? 1 : 2;
  SparseValues result;
  ASSIGN_OR_RETURN(
      result.indices,
      Tensor::Allocate(*allocator_, DT_INT64, TensorShape({total, rank})));
  ASSIGN_OR_RETURN(result.values,
                   Tensor::Allocate(*allocator_, DataTypeOf<T>::value,
                                    TensorShape({total})));
  HeapCharge charge(*allocator_);
  RETURN_IF_ERROR(column.ChargeAll(charge));
  column.CopyAllTo(result.values.template mutable_flat<T>().data());
  int64_t* index = result.indices.template mutable_flat<int64_t>().data();
  for (int64_t n = 0; n < count_; ++n) {
    for (int64_t i = 0; i < column.Size(n); ++i) {
      if (!is_single_) *index++ = n;
      *index++ = i;
    }
  }
  const int64_t longest = column.Longest();
  result.shape = is_single_ ? Tensor::Vector<int64_t>({longest})
                            : Tensor::Vector<int64_t>({count_, longest});
  return result;
}

absl::StatusOr<SparseValues> ExampleRecords::Sparse(const std::string& key,
                                                    DataType dtype) const {
  SparseValues result;
  RETURN_IF_ERROR(DispatchType(FeatureTypes{}, dtype,
                               [&]<typename T>(TypeTag<T>) -> absl::Status {
                                 ASSIGN_OR_RETURN(result, SparseOf<T>(key));
                                 return absl::OkStatus();
                               }));
  return result;
}

template <typename T>
absl::StatusOr<RaggedValues> ExampleRecords::RaggedOf(
    const std::string& key, DataType split_type) const {
  ASSIGN_OR_RETURN(const Column<T> column, Find<T>(key, kSparseMismatch));
  RaggedValues result;
  ASSIGN_OR_RETURN(result.values,
                   Tensor::Allocate(*allocator_, DataTypeOf<T>::value,
                                    TensorShape({column.Total()})));
  HeapCharge charge(*allocator_);
  RETURN_IF_ERROR(column.ChargeAll(charge));
  column.CopyAllTo(result.values.template mutable_flat<T>().data());
  if (is_single_) {
    result.row_splits = Tensor(split_type, {0});
    return result;
  }
  std::vector<int64_t> sizes;
  for (int64_t n = 0; n < count_; ++n) sizes.push_back(column.Size(n));
  ASSIGN_OR_RETURN(result.row_splits,
                   RowSplits(*allocator_, split_type, sizes, key));
  return result;
}

absl::StatusOr<RaggedValues> ExampleRecords::Ragged(const std::string& key,
                                                    DataType dtype,
                                                    DataType split_type) const {
  RaggedValues result;
  RETURN_IF_ERROR(DispatchType(
      FeatureTypes{}, dtype, [&]<typename T>(TypeTag<T>) -> absl::Status {
        ASSIGN_OR_RETURN(result, RaggedOf<T>(key, split_type));
        return absl::OkStatus();
      }));
  return result;
}

}  // namespace weft
