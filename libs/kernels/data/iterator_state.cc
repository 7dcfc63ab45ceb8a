#include "libs/kernels/data/iterator_state.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/kernels/data/element_rows.h"

namespace weft {
namespace {

constexpr char kStateType[] = "weft::IteratorState";
// A dataset of given elements: the first tensor holds their number, types and
// shapes; the components follow.
constexpr char kElementsType[] = "weft::Elements";
// The maximum depth of nested windows and lists; far above that of real
// pipelines.
constexpr int kMaxDepth = 32;

absl::Status TooDeep(const std::string& name) {
  return absl::InvalidArgumentError(
      absl::StrCat("the state of an iterator has variants in variants in '",
                   name, "', more than ", kMaxDepth, " deep"));
}

absl::Status TooMany(const std::string& name) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "the state of an iterator has too many variants, the last of them in '",
      name, "'. Lists that hold one list many times may be the cause"));
}

// Applies `convert` to each variant in the tensor.
template <typename Convert>
absl::StatusOr<Tensor> ConvertTensor(const Tensor& tensor,
                                     const Convert& convert) {
  if (tensor.dtype() != DT_VARIANT) return tensor;
  Tensor result(DT_VARIANT, tensor.shape());
  const auto to = result.mutable_flat<Variant>();
  size_t next = 0;
  for (const Variant& from : tensor.flat<Variant>()) {
    ASSIGN_OR_RETURN(to[next++], convert(from));
  }
  return result;
}

template <typename Convert>
absl::StatusOr<std::shared_ptr<const std::vector<Tensor>>> ConvertTensors(
    const std::vector<Tensor>& tensors, const Convert& convert) {
  std::vector<Tensor> converted;
  for (const Tensor& tensor : tensors) {
    ASSIGN_OR_RETURN(converted.emplace_back(), ConvertTensor(tensor, convert));
  }
  return std::make_shared<const std::vector<Tensor>>(std::move(converted));
}

// ---- Elements ----

// The type, rank (-1: unknown) and sizes of each component.
Tensor Describe(const ElementSpec& spec, size_t num_elements) {
  std::vector<int64_t> numbers = {static_cast<int64_t>(num_elements),
                                  static_cast<int64_t>(spec.types.size())};
  for (size_t c = 0; c < spec.types.size(); ++c) {
    const PartialShape& shape = spec.shapes[c];
    numbers.push_back(spec.types[c]);
    numbers.push_back(shape.has_rank() ? shape.rank() : -1);
    if (!shape.has_rank()) continue;
    numbers.insert(numbers.end(), shape.dims().begin(), shape.dims().end());
  }
  return Tensor::Vector<int64_t>(numbers);
}

absl::Status NoElements(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the state of an iterator has a malformed window: ", what));
}

// Reads the output of Describe, number by number.
class Description {
 public:
  explicit Description(absl::Span<const int64_t> numbers) : left_(numbers) {}

  absl::StatusOr<int64_t> Next(int64_t min, int64_t max) {
    if (left_.empty() || left_[0] < min || left_[0] > max) {
      return NoElements("its description is damaged");
    }
    const int64_t number = left_[0];
    left_.remove_prefix(1);
    return number;
  }
  int64_t num_left() const { return static_cast<int64_t>(left_.size()); }
  absl::StatusOr<PartialShape> NextShape() {
    ASSIGN_OR_RETURN(const int64_t rank, Next(-1, kMaxRank));
    if (rank < 0) return PartialShape::UnknownRank();
    Dims dims;
    for (int64_t d = 0; d < rank; ++d) {
      ASSIGN_OR_RETURN(dims.emplace_back(),
                       Next(-1, std::numeric_limits<int64_t>::max()));
    }
    return PartialShape::Create(dims);
  }

 private:
  absl::Span<const int64_t> left_;
};

absl::StatusOr<Tensor> DecodeElements(const std::string& name,
                                      const std::vector<Tensor>& tensors) {
  if (tensors.empty() || tensors[0].dtype() != DT_INT64) {
    return NoElements("it has no description");
  }
  Description description(tensors[0].flat<int64_t>());
  const auto num_tensors = static_cast<int64_t>(tensors.size());
  ASSIGN_OR_RETURN(const int64_t count, description.Next(0, num_tensors));
  // Each takes at least two numbers.
  ASSIGN_OR_RETURN(const int64_t components,
                   description.Next(1, description.num_left() / 2));
  if (num_tensors - 1 != count * components) {
    return NoElements(absl::StrCat(num_tensors - 1, " tensors are not ", count,
                                   " elements of ", components));
  }
  ElementSpec spec;
  for (int64_t c = 0; c < components; ++c) {
    // No type has a larger number than uint64.
    ASSIGN_OR_RETURN(const int64_t type, description.Next(1, DT_UINT64));
    spec.types.push_back(static_cast<DataType>(type));
    if (!IsSupportedType(spec.types.back())) {
      return NoElements(absl::StrCat("unknown type ", type));
    }
    ASSIGN_OR_RETURN(spec.shapes.emplace_back(), description.NextShape());
  }
  std::vector<DatasetElement> elements(count);
  for (int64_t i = 0; i < num_tensors - 1; ++i) {
    const Tensor& tensor = tensors[1 + i];
    if (tensor.dtype() != spec.types[i % components]) {
      return NoElements("an element is of another type");
    }
    elements[i / components].push_back(tensor);
  }
  return ElementsTensor(name, std::move(spec), std::move(elements));
}

// ---- Variants ----

class Encoder {
 public:
  // `left` is the number of further variants allowed; it is decremented.
  Encoder(const std::string& name, int64_t& left) : name_(name), left_(left) {}

  absl::StatusOr<Tensor> Encode(const Tensor& tensor) {
    return ConvertTensor(tensor, [this](const auto& v) { return Encode(v); });
  }

 private:
  absl::StatusOr<Variant> Encode(const Variant& variant) {
    if (depth_ == kMaxDepth) return TooDeep(name_);
    if (left_-- <= 0) return TooMany(name_);
    ++depth_;
    auto encoded = variant.object == nullptr ? EncodeTensors(variant)
                                             : EncodeObject(*variant.object);
    --depth_;
    return encoded;
  }

  absl::StatusOr<Variant> EncodeTensors(const Variant& variant) {
    if (variant.tensors == nullptr) return variant;
    Variant encoded = variant;
    ASSIGN_OR_RETURN(encoded.tensors,
                     ConvertTensors(*variant.tensors, [this](const auto& v) {
                       return Encode(v);
                     }));
    return encoded;
  }

  absl::StatusOr<Variant> EncodeObject(const VariantObject& object) {
    const auto* dataset = dynamic_cast<const Dataset*>(&object);
    const auto* elements = ElementsOf(object);
    if (elements == nullptr) {
      return absl::UnimplementedError(absl::StrCat(
          "the state of the iterator cannot be saved: '", name_, "' holds ",
          dataset == nullptr ? "an object of the process"
                             : absl::StrCat("dataset ", dataset->name()),
          ". Only windows and groups can be saved as elements"));
    }
    std::vector<Tensor> tensors = {
        Describe(dataset->element(), elements->size())};
    for (const DatasetElement& element : *elements) {
      tensors.insert(tensors.end(), element.begin(), element.end());
    }
    return EncodeTensors(
        {.type_name = kElementsType,
         .metadata = dataset->name(),
         .tensors =
             std::make_shared<const std::vector<Tensor>>(std::move(tensors))});
  }

  const std::string& name_;
  int64_t& left_;
  int depth_ = 0;
};

class Decoder {
 public:
  explicit Decoder(const std::string& name) : name_(name) {}

  absl::StatusOr<Tensor> Decode(const Tensor& tensor) {
    return ConvertTensor(tensor, [this](const auto& v) { return Decode(v); });
  }

 private:
  absl::StatusOr<Variant> Decode(const Variant& variant) {
    if (variant.tensors == nullptr) return variant;
    if (depth_ == kMaxDepth) return TooDeep(name_);
    ++depth_;
    auto tensors = ConvertTensors(*variant.tensors,
                                  [this](const auto& v) { return Decode(v); });
    --depth_;
    RETURN_IF_ERROR(tensors.status());
    Variant decoded = variant;
    decoded.tensors = *std::move(tensors);
    if (variant.type_name != kElementsType) return decoded;
    ASSIGN_OR_RETURN(const Tensor elements,
                     DecodeElements(variant.metadata, *decoded.tensors));
    return elements.scalar<Variant>();
  }

  const std::string& name_;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<Variant> EncodeIteratorState(
    const IteratorStateWriter::Values& values, int64_t max_variants) {
  Variant state;
  state.type_name = kStateType;
  std::vector<Tensor> tensors;
  int64_t left = max_variants;
  for (const auto& [name, tensor] : values) {
    ASSIGN_OR_RETURN(tensors.emplace_back(),
                     Encoder(name, left).Encode(tensor));
    absl::StrAppend(&state.metadata, name, "\n");
  }
  state.tensors =
      std::make_shared<const std::vector<Tensor>>(std::move(tensors));
  return state;
}

absl::StatusOr<IteratorStateReader::Values> DecodeIteratorState(
    const Variant& state) {
  if (state.type_name != kStateType || state.tensors == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected an iterator state, as returned by SerializeIterator,"
        " got a '",
        state.type_name, "'"));
  }
  IteratorStateReader::Values values;
  size_t next = 0;
  const std::vector<Tensor>& tensors = *state.tensors;
  for (absl::string_view name :
       absl::StrSplit(state.metadata, '\n', absl::SkipEmpty())) {
    if (next == tensors.size()) break;
    const std::string key(name);
    ASSIGN_OR_RETURN(values[key], Decoder(key).Decode(tensors[next++]));
  }
  if (next == tensors.size() && values.size() == tensors.size()) return values;
  return absl::InvalidArgumentError(
      absl::StrCat("a state of an iterator has ", tensors.size(),
                   " tensors, and names for ", values.size()));
}

}  // namespace weft
