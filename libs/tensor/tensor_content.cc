#include "libs/tensor/tensor_content.h"

#include <cstdint>
#include <limits>

#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/tensor.pb.h"

namespace weft {
namespace {

constexpr uint64_t kMaxBytes = std::numeric_limits<int>::max();

void AppendVarint(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}

uint64_t NumBytes(const Tensor& tensor) {
  if (tensor.dtype() != DT_STRING) return tensor.num_bytes();
  uint64_t bytes = 0;
  for (const std::string& value : tensor.flat<std::string>()) {
    bytes += value.size() + 1;  // a length takes at least one byte
  }
  return bytes;
}

std::string StringContent(const Tensor& tensor) {
  std::string content;
  for (const std::string& value : tensor.flat<std::string>()) {
    AppendVarint(value.size(), content);
  }
  for (const std::string& value : tensor.flat<std::string>()) content += value;
  return content;
}

}  // namespace

std::string SerializeTensorContent(const Tensor& tensor) {
  if (NumBytes(tensor) > kMaxBytes) return {};
  tf::TensorProto proto;
  proto.set_dtype(static_cast<tf::DataType>(tensor.dtype()));
  ShapeToProto(tensor.shape(), proto.mutable_tensor_shape());
  if (tensor.dtype() == DT_STRING) {
    proto.set_tensor_content(StringContent(tensor));
  } else {
    proto.set_tensor_content(tensor.data(), tensor.num_bytes());
  }
  if (proto.ByteSizeLong() > kMaxBytes) return {};
  return proto.SerializeAsString();
}

}  // namespace weft
