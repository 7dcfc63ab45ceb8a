#include "libs/tensor/tensor_proto.h"

#include <limits>

#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/tensor.pb.h"

namespace weft {

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

}  // namespace weft
