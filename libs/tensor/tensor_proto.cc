#include "libs/tensor/tensor_proto.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/tensor.pb.h"

namespace weft {
namespace {

bool HoldsObject(const Variant& variant) {
  if (variant.object != nullptr) return true;
  if (variant.tensors == nullptr) return false;
  return std::any_of(variant.tensors->begin(), variant.tensors->end(),
                     [](const Tensor& tensor) {
                       if (tensor.dtype() != DT_VARIANT) return false;
                       const auto elements = tensor.flat<Variant>();
                       return std::any_of(elements.begin(), elements.end(),
                                          HoldsObject);
                     });
}

// Whether the tensors of a variant, and those in them, are within `left` bytes,
// which it takes them off. Shapes that are none are refused later.
bool TakeBytes(const tf::VariantTensorDataProto& variant, int64_t& left) {
  for (const tf::TensorProto& tensor : variant.tensors()) {
    const auto type = static_cast<DataType>(tensor.dtype());
    const auto shape = ShapeFromProto(tensor.tensor_shape());
    const int64_t count = shape.ok() && shape->IsFullyDefined()
                              ? shape->ToShape().num_elements()
                              : 0;
    const auto size = static_cast<int64_t>(
        type == DT_STRING    ? sizeof(std::string)
        : type == DT_VARIANT ? sizeof(Variant)
                             : std::max<size_t>(DataTypeSize(type), 1));
    if (count > left / size) return false;
    left -= count * size;
    for (const auto& inner : tensor.variant_val()) {
      if (!TakeBytes(inner, left)) return false;
    }
  }
  return true;
}

}  // namespace

std::string SerializeTensorProto(const Tensor& tensor) {
  tf::TensorProto proto;
  TensorToProto(tensor, &proto);
  if (proto.ByteSizeLong() > std::numeric_limits<int>::max()) return {};
  return proto.SerializeAsString();
}

absl::StatusOr<Tensor> ParseTensorProto(absl::string_view bytes,
                                        Allocator& allocator) {
  tf::TensorProto proto;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        "Cannot parse tensor from proto: the bytes are no TensorProto");
  }
  return TensorFromProto(proto, allocator);
}

absl::StatusOr<std::string> SerializeVariantProto(const Variant& variant) {
  if (HoldsObject(variant)) {
    return absl::UnimplementedError(
        absl::StrCat("a variant '", variant.type_name,
                     "' holds an object of the process, a data set perhaps, "
                     "which can't be written as bytes"));
  }
  tf::VariantTensorDataProto proto;
  VariantToProto(variant, &proto);
  const size_t size = proto.ByteSizeLong();
  if (size <= std::numeric_limits<int>::max()) return proto.SerializeAsString();
  return absl::ResourceExhaustedError(
      absl::StrCat("a variant '", variant.type_name, "' takes ", size,
                   " bytes; a message has at most 2 GiB"));
}

absl::StatusOr<Variant> ParseVariantProto(absl::string_view bytes,
                                          Allocator& allocator) {
  tf::VariantTensorDataProto proto;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        "the bytes are no VariantTensorDataProto");
  }
  int64_t left = kMaxRepeatedTensorBytes + static_cast<int64_t>(bytes.size());
  if (TakeBytes(proto, left)) return VariantFromProto(proto, allocator);
  return absl::ResourceExhaustedError(absl::StrCat(
      "the tensors of a variant '", proto.type_name(), "' in ", bytes.size(),
      " bytes would take more than ", kMaxRepeatedTensorBytes));
}

}  // namespace weft
