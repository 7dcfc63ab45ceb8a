#include "libs/tensor/tensor_proto.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/tensor.pb.h"

namespace weft {
namespace {

// Protobuf reads 100 nested messages; a variant in a variant takes two.
constexpr int kMaxDepth = 40;

// The minimum bytes of a tensor in a message, and in memory if its elements
// have a fixed size: repeated elements take no less when they are read.
int64_t LeastBytes(const Tensor& tensor) {
  if (!tensor.IsInitialized()) return 0;
  if (tensor.dtype() != DT_STRING) {
    return DataTypeSize(tensor.dtype()) == 0
               ? 0
               : static_cast<int64_t>(tensor.num_bytes());
  }
  int64_t bytes = 0;
  for (const std::string& value : tensor.flat<std::string>()) {
    bytes += static_cast<int64_t>(value.size()) + 2;
  }
  return bytes;
}

// The minimum bytes in memory of a tensor or variant inside a variant of a
// message. Variants may share tensors, which a message contains once for each
// path to them.
constexpr int64_t kLeastMessageBytes = 512;

// Checks a variant before any of it is copied.
class WriteCheck {
 public:
  explicit WriteCheck(const Variant& variant) : outer_(variant) {}

  absl::Status Check() { return Check(outer_); }

 private:
  absl::Status Check(const Variant& variant) {
    if (variant.object != nullptr) {
      return absl::UnimplementedError(
          absl::StrCat("a variant '", outer_.type_name,
                       "' holds an object of the process, a data set perhaps, "
                       "which can't be written as bytes"));
    }
    if (variant.tensors == nullptr) return absl::OkStatus();
    if (depth_ == kMaxDepth) {
      return absl::InvalidArgumentError(
          absl::StrCat("a variant '", outer_.type_name,
                       "' can't be written: it has variants in variants more "
                       "than ",
                       kMaxDepth, " deep"));
    }
    ++depth_;
    for (const Tensor& tensor : *variant.tensors) {
      RETURN_IF_ERROR(CheckTensor(tensor));
    }
    --depth_;
    return absl::OkStatus();
  }

  absl::Status CheckTensor(const Tensor& tensor) {
    int64_t bytes = LeastBytes(tensor) + kLeastMessageBytes;
    if (tensor.dtype() == DT_VARIANT) {
      bytes += tensor.num_elements() * kLeastMessageBytes;
    }
    if (bytes > left_) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "a variant '", outer_.type_name,
          "' holds more than 2 GiB; a message has no more. Make it smaller: a "
          "smaller buffer, where it is the state of an iterator"));
    }
    left_ -= bytes;
    if (tensor.dtype() != DT_VARIANT) return absl::OkStatus();
    for (const Variant& inner : tensor.flat<Variant>()) {
      RETURN_IF_ERROR(Check(inner));
    }
    return absl::OkStatus();
  }

  const Variant& outer_;
  int depth_ = 0;
  int64_t left_ = std::numeric_limits<int>::max();
};

// Returns whether the repeated values in the tensors of a variant, and in those
// in them, fit into `left` bytes, and subtracts them.
bool TakeRepeated(const tf::VariantTensorDataProto& variant, int64_t& left) {
  for (const tf::TensorProto& tensor : variant.tensors()) {
    if (!TakeRepeatedBytes(tensor, left)) return false;
    for (const auto& inner : tensor.variant_val()) {
      if (!TakeRepeated(inner, left)) return false;
    }
  }
  return true;
}

absl::Status ParseMessage(absl::string_view bytes, tf::TensorProto& proto) {
  if (bytes.size() <= std::numeric_limits<int>::max() &&
      proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "Cannot parse tensor from proto: the bytes are not a TensorProto");
}

absl::Status TooManyRepeated(const tf::VariantTensorDataProto& proto) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "the tensors of a variant '", proto.type_name(),
      "', whose values repeat, would take more than ", kMaxRepeatedTensorBytes,
      " bytes, with those of the variants before it"));
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
  RETURN_IF_ERROR(ParseMessage(bytes, proto));
  return TensorFromProto(proto, allocator);
}

absl::StatusOr<Tensor> ParseTensorProto(absl::string_view bytes,
                                        Allocator& allocator,
                                        HeapCharge& charge) {
  tf::TensorProto proto;
  RETURN_IF_ERROR(ParseMessage(bytes, proto));
  RETURN_IF_ERROR(ChargeElements(proto, charge));
  return TensorFromProto(proto, allocator);
}

absl::StatusOr<std::string> SerializeVariantProto(const Variant& variant,
                                                  int64_t& left) {
  RETURN_IF_ERROR(WriteCheck(variant).Check());
  tf::VariantTensorDataProto proto;
  VariantToProto(variant, &proto);
  // A message that could not be parsed again is not written.
  if (!TakeRepeated(proto, left)) return TooManyRepeated(proto);
  const size_t size = proto.ByteSizeLong();
  if (size <= std::numeric_limits<int>::max()) return proto.SerializeAsString();
  return absl::ResourceExhaustedError(
      absl::StrCat("a variant '", variant.type_name, "' takes ", size,
                   " bytes; a message has at most 2 GiB"));
}

absl::StatusOr<Variant> ParseVariantProto(absl::string_view bytes,
                                          Allocator& allocator, int64_t& left) {
  tf::VariantTensorDataProto proto;
  if (bytes.size() > std::numeric_limits<int>::max() ||
      !proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::InvalidArgumentError(
        "the bytes are not a VariantTensorDataProto");
  }
  if (!TakeRepeated(proto, left)) return TooManyRepeated(proto);
  return VariantFromProto(proto, allocator);
}

}  // namespace weft
