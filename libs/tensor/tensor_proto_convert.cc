#include "libs/tensor/tensor_proto_convert.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/tensor/quantized_type.h"
#include "libs/tensor/resource_handle.h"
#include "libs/tensor/tensor_proto.h"
#include "libs/tensor/variant.h"
#include "schemas/tf/tensor.pb.h"

namespace weft {
namespace {

using tf::TensorProto;

// The typed values of a dtype. Each specialization has `Count`, `Get` and
// `Add`.
template <typename T>
struct Values;

#define WEFT_VALUES(TYPE, FIELD, FROM, TO)             \
  template <>                                          \
  struct Values<TYPE> {                                \
    static int Count(const TensorProto& proto) {       \
      return proto.FIELD##_size();                     \
    }                                                  \
    static TYPE Get(const TensorProto& proto, int i) { \
      const auto value = proto.FIELD(i);               \
      return FROM;                                     \
    }                                                  \
    static void Add(TYPE value, TensorProto* proto) {  \
      proto->add_##FIELD(TO);                          \
    }                                                  \
  }
WEFT_VALUES(float, float_val, value, value);
WEFT_VALUES(double, double_val, value, value);
WEFT_VALUES(int32_t, int_val, value, value);
WEFT_VALUES(uint8_t, int_val, static_cast<uint8_t>(value), value);
WEFT_VALUES(int16_t, int_val, static_cast<int16_t>(value), value);
WEFT_VALUES(int8_t, int_val, static_cast<int8_t>(value), value);
WEFT_VALUES(uint16_t, int_val, static_cast<uint16_t>(value), value);
WEFT_VALUES(int64_t, int64_val, value, value);
WEFT_VALUES(bool, bool_val, value, value);
WEFT_VALUES(uint32_t, uint32_val, value, value);
WEFT_VALUES(uint64_t, uint64_val, value, value);
#undef WEFT_VALUES

template <typename T>
struct BitsValues {
  static int Count(const TensorProto& proto) { return proto.half_val_size(); }
  static T Get(const TensorProto& proto, int i) {
    T result;
    result.bits = static_cast<uint16_t>(proto.half_val(i));
    return result;
  }
  static void Add(T value, TensorProto* proto) {
    proto->add_half_val(value.bits);
  }
};
template <>
struct Values<half> : BitsValues<half> {};
template <>
struct Values<bfloat16> : BitsValues<bfloat16> {};

template <>
struct Values<std::complex<float>> {
  static int Count(const TensorProto& proto) {
    return proto.scomplex_val_size() / 2;
  }
  static std::complex<float> Get(const TensorProto& proto, int i) {
    return {proto.scomplex_val(2 * i), proto.scomplex_val(2 * i + 1)};
  }
  static void Add(std::complex<float> value, TensorProto* proto) {
    proto->add_scomplex_val(value.real());
    proto->add_scomplex_val(value.imag());
  }
};
template <>
struct Values<std::complex<double>> {
  static int Count(const TensorProto& proto) {
    return proto.dcomplex_val_size() / 2;
  }
  static std::complex<double> Get(const TensorProto& proto, int i) {
    return {proto.dcomplex_val(2 * i), proto.dcomplex_val(2 * i + 1)};
  }
  static void Add(std::complex<double> value, TensorProto* proto) {
    proto->add_dcomplex_val(value.real());
    proto->add_dcomplex_val(value.imag());
  }
};

// Calls `visit(T())` with the type of the stored elements; false for types
// without a fixed size.
template <typename Visit>
bool VisitFixedSize(DataType dtype, Visit visit) {
  switch (StorageType(dtype)) {
#define WEFT_CASE(TYPE)         \
  case DataTypeOf<TYPE>::value: \
    visit(TYPE());              \
    return true;
    WEFT_CASE(float)
    WEFT_CASE(double)
    WEFT_CASE(int32_t)
    WEFT_CASE(uint8_t)
    WEFT_CASE(int16_t)
    WEFT_CASE(int8_t)
    WEFT_CASE(std::complex<float>)
    WEFT_CASE(int64_t)
    WEFT_CASE(bool)
    WEFT_CASE(bfloat16)
    WEFT_CASE(uint16_t)
    WEFT_CASE(std::complex<double>)
    WEFT_CASE(half)
    WEFT_CASE(uint32_t)
    WEFT_CASE(uint64_t)
#undef WEFT_CASE
    default:
      return false;
  }
}

absl::Status Refuse(const TensorProto& proto, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Cannot parse tensor from proto of type ",
      DataTypeName(static_cast<DataType>(proto.dtype())), ": ", why));
}

int64_t CountValues(const TensorProto& proto) {
  const auto dtype = static_cast<DataType>(proto.dtype());
  int count = 0;
  if (VisitFixedSize(dtype, [&](auto element) {
        count = Values<decltype(element)>::Count(proto);
      })) {
    return count;
  }
  if (dtype == DT_STRING) return proto.string_val_size();
  if (dtype == DT_RESOURCE) return proto.resource_handle_val_size();
  return proto.variant_val_size();
}

// Bytes outside the tensor's own memory that each repetition of the last value
// takes.
size_t BytesOfLastValue(const TensorProto& proto) {
  switch (static_cast<DataType>(proto.dtype())) {
    case DT_STRING:
      return proto.string_val_size() == 0
                 ? 0
                 : proto.string_val(proto.string_val_size() - 1).size();
    case DT_RESOURCE:
      return proto.resource_handle_val_size() == 0
                 ? 0
                 : proto.resource_handle_val().rbegin()->ByteSizeLong();
    case DT_VARIANT:
      return proto.variant_val_size() == 0
                 ? 0
                 : proto.variant_val().rbegin()->ByteSizeLong();
    default:
      return 0;
  }
}

bool TakeRepeatedBytes(const TensorProto& proto, const TensorShape& shape,
                       int64_t& left) {
  if (CountValues(proto) >= shape.num_elements()) return true;
  const int64_t element = BytesOfRepeatedElement(proto);
  if (shape.num_elements() > left / element) return false;
  left -= shape.num_elements() * element;
  return true;
}

// A few bytes must not cause a huge allocation.
absl::Status CheckRepeatedSize(const TensorProto& proto,
                               const TensorShape& shape) {
  int64_t left = kMaxRepeatedTensorBytes;
  if (TakeRepeatedBytes(proto, shape, left)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "OOM when allocating tensor with shape", shape.ToString(), " and type ",
      DataTypeName(static_cast<DataType>(proto.dtype())),
      " from a proto whose last value repeats: more than ",
      kMaxRepeatedTensorBytes, " bytes; use Fill instead"));
}

template <typename T, typename Get>
void FillFrom(size_t count, Get get, Tensor* tensor) {
  const absl::Span<T> out = tensor->mutable_flat<T>();
  count = std::min(count, out.size());
  for (size_t i = 0; i < count; ++i) out[i] = get(static_cast<int>(i));
  if (count == out.size()) return;
  const T last = count == 0 ? T() : out[count - 1];
  std::fill(out.begin() + count, out.end(), last);
}

ResourceHandle HandleWithoutShape(const tf::ResourceHandleProto& proto) {
  ResourceHandle handle;
  handle.device = proto.device();
  handle.container = proto.container();
  handle.name = proto.name();
  handle.type_name = proto.maybe_type_name();
  return handle;
}

absl::StatusOr<ResourceHandle> HandleFromProto(
    const tf::ResourceHandleProto& proto) {
  ResourceHandle handle = HandleWithoutShape(proto);
  if (proto.dtypes_and_shapes_size() > 0) {
    const auto& holds = proto.dtypes_and_shapes(0);
    handle.dtype = static_cast<DataType>(holds.dtype());
    ASSIGN_OR_RETURN(handle.shape, ShapeFromProto(holds.shape()));
  }
  return handle;
}

void HandleToProto(const ResourceHandle& handle,
                   tf::ResourceHandleProto* proto) {
  proto->set_device(handle.device);
  proto->set_container(handle.container);
  proto->set_name(handle.name);
  proto->set_maybe_type_name(handle.type_name);
  if (handle.dtype == DT_INVALID) return;
  auto* holds = proto->add_dtypes_and_shapes();
  holds->set_dtype(static_cast<tf::DataType>(handle.dtype));
  ShapeToProto(handle.shape, holds->mutable_shape());
}

absl::Status FillHandles(const TensorProto& proto, Tensor* tensor) {
  std::vector<ResourceHandle> handles;
  for (const auto& value : proto.resource_handle_val()) {
    ASSIGN_OR_RETURN(ResourceHandle handle, HandleFromProto(value));
    handles.push_back(std::move(handle));
  }
  FillFrom<ResourceHandle>(
      handles.size(), [&](int i) { return handles[i]; }, tensor);
  return absl::OkStatus();
}

absl::Status FillVariants(const TensorProto& proto, Allocator& allocator,
                          Tensor* tensor) {
  std::vector<Variant> variants;
  for (const auto& value : proto.variant_val()) {
    ASSIGN_OR_RETURN(Variant variant, VariantFromProto(value, allocator));
    variants.push_back(std::move(variant));
  }
  FillFrom<Variant>(
      variants.size(), [&](int i) { return variants[i]; }, tensor);
  return absl::OkStatus();
}

absl::Status FillFromValues(const TensorProto& proto, Allocator& allocator,
                            Tensor* tensor) {
  switch (tensor->dtype()) {
    case DT_STRING:
      FillFrom<std::string>(
          proto.string_val_size(), [&](int i) { return proto.string_val(i); },
          tensor);
      return absl::OkStatus();
    case DT_RESOURCE:
      return FillHandles(proto, tensor);
    case DT_VARIANT:
      return FillVariants(proto, allocator, tensor);
    default:
      VisitFixedSize(tensor->dtype(), [&](auto element) {
        using T = decltype(element);
        FillFrom<T>(
            Values<T>::Count(proto),
            [&](int i) { return Values<T>::Get(proto, i); }, tensor);
      });
      return absl::OkStatus();
  }
}

// Strings as bytes: their lengths as varints, then all characters.
absl::Status FillStringsFromContent(const TensorProto& proto, Tensor* tensor) {
  absl::string_view in = proto.tensor_content();
  std::vector<uint64_t> sizes(tensor->num_elements());
  for (uint64_t& size : sizes) {
    for (int shift = 0;; shift += 7) {
      if (in.empty() || shift > 63) return Refuse(proto, "bad string lengths");
      const auto byte = static_cast<uint8_t>(in[0]);
      in.remove_prefix(1);
      size |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) break;
    }
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > in.size()) return Refuse(proto, "strings are cut off");
    tensor->mutable_flat<std::string>()[i] =
        std::string(in.substr(0, sizes[i]));
    in.remove_prefix(sizes[i]);
  }
  return in.empty() ? absl::OkStatus()
                    : Refuse(proto, "bytes are left after the strings");
}

absl::Status FillFromContent(const TensorProto& proto, Tensor* tensor) {
  const std::string& content = proto.tensor_content();
  if (tensor->dtype() == DT_STRING) {
    return FillStringsFromContent(proto, tensor);
  }
  if (tensor->dtype() == DT_BOOL) {  // any byte but 0 is true
    for (size_t i = 0; i < content.size(); ++i) {
      tensor->mutable_flat<bool>()[i] = content[i] != 0;
    }
    return absl::OkStatus();
  }
  std::memcpy(tensor->mutable_data(), content.data(), content.size());
  return absl::OkStatus();
}

// Checked before memory is reserved: the content's size follows from the shape.
absl::Status CheckContentSize(const TensorProto& proto,
                              const TensorShape& shape) {
  const size_t size = proto.tensor_content().size();
  const size_t element = DataTypeSize(static_cast<DataType>(proto.dtype()));
  const auto count = static_cast<size_t>(shape.num_elements());
  if (proto.dtype() == tf::DT_STRING) {
    return size >= count ? absl::OkStatus()
                         : Refuse(proto, "tensor_content is too short");
  }
  if (element != 0 && size % element == 0 && size / element == count) {
    return absl::OkStatus();
  }
  return Refuse(
      proto,
      absl::StrCat("tensor_content has ", size, " bytes, but the shape is ",
                   shape.ToString(), " of ", element, " bytes each"));
}

absl::StatusOr<TensorShape> KnownShape(const TensorProto& proto) {
  absl::StatusOr<PartialShape> shape = ShapeFromProto(proto.tensor_shape());
  if (!shape.ok()) return Refuse(proto, shape.status().message());
  if (!shape->IsFullyDefined()) {
    return Refuse(proto, absl::StrCat("the shape ", shape->ToString(),
                                      " is not fully known"));
  }
  return shape->ToShape();
}

// Charges what the elements without a value of their own take outside of the
// tensor, and those of the tensors in its variants.
absl::Status ChargeRepeated(const TensorProto& proto, HeapCharge& charge) {
  for (const tf::VariantTensorDataProto& variant : proto.variant_val()) {
    for (const TensorProto& tensor : variant.tensors()) {
      RETURN_IF_ERROR(ChargeRepeated(tensor, charge));
    }
  }
  const size_t bytes = HeapCharge::BytesOfString(BytesOfLastValue(proto));
  if (bytes == 0 || !proto.tensor_content().empty()) return absl::OkStatus();
  const absl::StatusOr<TensorShape> shape = KnownShape(proto);
  if (!shape.ok()) return absl::OkStatus();  // refused later
  const int64_t repeated = shape->num_elements() - CountValues(proto);
  return charge.AddObjects(static_cast<size_t>(std::max<int64_t>(repeated, 0)),
                           bytes);
}

// True when all elements have equal bits.
bool AllEqual(const Tensor& tensor) {
  const size_t element = DataTypeSize(tensor.dtype());
  const size_t bytes = tensor.num_bytes();
  const auto* data = static_cast<const char*>(tensor.data());
  return bytes > 0 && std::memcmp(data, data + element, bytes - element) == 0;
}

}  // namespace

absl::StatusOr<Variant> VariantFromProto(
    const tf::VariantTensorDataProto& proto, Allocator& allocator) {
  Variant variant;
  variant.type_name = proto.type_name();
  variant.metadata = proto.metadata();
  if (proto.tensors_size() == 0) return variant;
  auto tensors = std::make_shared<std::vector<Tensor>>();
  for (const TensorProto& tensor : proto.tensors()) {
    if (tensor.dtype() == tf::DT_INVALID) {  // a Tensor without a value
      tensors->emplace_back();
      continue;
    }
    ASSIGN_OR_RETURN(Tensor parsed, TensorFromProto(tensor, allocator));
    tensors->push_back(std::move(parsed));
  }
  variant.tensors = std::move(tensors);
  return variant;
}

void VariantToProto(const Variant& variant, tf::VariantTensorDataProto* proto) {
  proto->set_type_name(variant.type_name);
  proto->set_metadata(variant.metadata);
  if (variant.tensors == nullptr) return;
  for (const Tensor& tensor : *variant.tensors) {
    TensorToProto(tensor, proto->add_tensors());
  }
}

double NumRepeats(const TensorProto& proto) {
  // A tensor without a value has no shape.
  if (proto.dtype() == tf::DT_INVALID || !proto.tensor_content().empty()) {
    return 0;
  }
  double elements = 1;
  for (const auto& dim : proto.tensor_shape().dim()) {
    elements *= static_cast<double>(std::max<int64_t>(dim.size(), 0));
  }
  return std::max(0.0, elements - static_cast<double>(CountValues(proto)));
}

int64_t BytesOfRepeatedElement(const TensorProto& proto) {
  const size_t size = DataTypeSize(static_cast<DataType>(proto.dtype()));
  return static_cast<int64_t>(std::max<size_t>(size, 1) +
                              (size == 0 ? sizeof(Variant) : 0) +
                              BytesOfLastValue(proto));
}

bool TakeRepeatedBytes(const TensorProto& proto, int64_t& left) {
  if (NumRepeats(proto) == 0) return true;
  const absl::StatusOr<TensorShape> shape = KnownShape(proto);
  return !shape.ok() || TakeRepeatedBytes(proto, *shape, left);
}

absl::Status ChargeElements(const TensorProto& proto, HeapCharge& charge) {
  if (DataTypeSize(static_cast<DataType>(proto.dtype())) != 0) {
    return absl::OkStatus();
  }
  // Its strings are part of its bytes.
  RETURN_IF_ERROR(charge.Add(proto.ByteSizeLong()));
  return ChargeRepeated(proto, charge);
}

absl::StatusOr<Tensor> TensorFromProto(const TensorProto& proto,
                                       Allocator& allocator) {
  const auto dtype = static_cast<DataType>(proto.dtype());
  if (!IsSupportedType(dtype))
    return Refuse(proto, "the type is not supported");
  ASSIGN_OR_RETURN(const TensorShape shape, KnownShape(proto));
  const bool has_content =
      !proto.tensor_content().empty() && shape.num_elements() > 0;
  if (has_content) {
    RETURN_IF_ERROR(CheckContentSize(proto, shape));
  } else if (proto.scomplex_val_size() % 2 + proto.dcomplex_val_size() % 2) {
    return Refuse(proto, "a complex value lacks its imaginary part");
  } else {
    RETURN_IF_ERROR(CheckRepeatedSize(proto, shape));
  }
  ASSIGN_OR_RETURN(Tensor tensor,
                   Tensor::Allocate(allocator, StorageType(dtype), shape));
  if (tensor.num_elements() > 0) {
    RETURN_IF_ERROR(has_content ? FillFromContent(proto, &tensor)
                                : FillFromValues(proto, allocator, &tensor));
  }
  return AsType(tensor, dtype);
}

void TensorToProto(const Tensor& tensor, TensorProto* proto) {
  proto->Clear();
  proto->set_dtype(static_cast<tf::DataType>(tensor.dtype()));
  if (!tensor.IsInitialized()) return;
  ShapeToProto(tensor.shape(), proto->mutable_tensor_shape());
  if (tensor.num_elements() == 0) return;
  switch (tensor.dtype()) {
    case DT_STRING:
      for (const auto& value : tensor.flat<std::string>()) {
        proto->add_string_val(value);
      }
      return;
    case DT_RESOURCE:
      for (const auto& value : tensor.flat<ResourceHandle>()) {
        HandleToProto(value, proto->add_resource_handle_val());
      }
      return;
    case DT_VARIANT:
      for (const auto& value : tensor.flat<Variant>()) {
        VariantToProto(value, proto->add_variant_val());
      }
      return;
    default:
      break;
  }
  const auto bytes = static_cast<int64_t>(tensor.num_bytes());
  if (bytes <= kMaxRepeatedTensorBytes && AllEqual(tensor)) {
    VisitFixedSize(tensor.dtype(), [&](auto element) {
      using T = decltype(element);
      Values<T>::Add(AsStorage(tensor).flat<T>()[0], proto);
    });
    return;
  }
  proto->set_tensor_content(tensor.data(), tensor.num_bytes());
}

absl::StatusOr<PartialShape> ShapeFromProto(const tf::TensorShapeProto& proto) {
  if (proto.unknown_rank()) {
    if (proto.dim_size() == 0) return PartialShape::UnknownRank();
    return absl::InvalidArgumentError(
        "A shape of unknown rank must not have any dimensions set");
  }
  Dims dims;
  for (const auto& dim : proto.dim()) dims.push_back(dim.size());
  return PartialShape::Create(dims);
}

void ShapeToProto(const PartialShape& shape, tf::TensorShapeProto* proto) {
  proto->Clear();
  if (!shape.has_rank()) return proto->set_unknown_rank(true);
  for (const int64_t dim : shape.dims()) proto->add_dim()->set_size(dim);
}

}  // namespace weft
