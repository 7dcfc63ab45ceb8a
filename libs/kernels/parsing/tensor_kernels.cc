// Serialization of tensors: SerializeTensor and ParseTensor.
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/parsing/parsing_kernels.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor_proto.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/tensor.pb.h"

namespace weft {
namespace {

// References to objects of this process cannot be serialized: bytes could refer
// to objects that their sender must not access.
absl::Status CheckIsData(DataType type) {
  if (type != DT_RESOURCE && type != DT_VARIANT) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("tensors of type ", DataTypeName(type),
                   " cannot be serialized or parsed"));
}

// The same bytes as TensorFlow's: all elements, even if they are equal.
class SerializeTensorKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& tensor = context.input(0);
    RETURN_IF_ERROR(CheckIsData(tensor.dtype()));
    HeapCharge charge(context.host_allocator());
    // Charges the message and its bytes.
    RETURN_IF_ERROR(charge.AddObjects(2, tensor.TotalBytes()));
    tf::TensorProto proto;
    if (tensor.dtype() == DT_STRING) {
      TensorToProto(tensor, &proto);
    } else {
      RETURN_IF_ERROR(CheckSize(tensor.num_bytes()));
      proto.set_dtype(static_cast<tf::DataType>(tensor.dtype()));
      ShapeToProto(tensor.shape(), proto.mutable_tensor_shape());
      proto.set_tensor_content(tensor.data(), tensor.num_bytes());
    }
    RETURN_IF_ERROR(CheckSize(proto.ByteSizeLong()));
    context.SetOutput(0, Tensor::Scalar(proto.SerializeAsString()));
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckSize(size_t size) {
    constexpr size_t kMaxSize = std::numeric_limits<int>::max();
    if (size <= kMaxSize) return absl::OkStatus();
    return absl::ResourceExhaustedError(absl::StrCat(
        "the tensor takes ", size,
        " bytes, but a message has at most 2 GiB. Split it first"));
  }
};

class ParseTensorKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& serialized = context.input(0);
    const DataType type = context.output_type(0);
    RETURN_IF_ERROR(CheckIsData(type));
    if (!serialized.shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected `serialized` to be a scalar, got shape: ",
                       serialized.shape().ToString()));
    }
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(Tensor tensor,
                     ParseTensorProto(serialized.scalar<std::string>(),
                                      context.allocator(), charge));
    if (tensor.dtype() != type) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Type mismatch between parsed tensor (", DataTypeName(tensor.dtype()),
          ") and dtype (", DataTypeName(type), ")"));
    }
    context.SetOutput(0, std::move(tensor));
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterTensorParsingKernels(KernelRegistry& registry) {
  registry.Register<SerializeTensorKernel>("SerializeTensor");
  registry.Register<ParseTensorKernel>("ParseTensor");
}

}  // namespace weft
