#include "libs/kernels/cuda/cuda_context.h"

#include <algorithm>

#include "libs/base/status.h"
#include "libs/device/cuda/cuda_status.h"
#include "libs/device/device_context.h"

namespace weft {

CudaDevice& CudaDeviceOf(const OpKernelContext& context) {
  return static_cast<CudaDevice&>(context.device());
}

cudaStream_t StreamOf(const OpKernelContext& context) {
  return CudaDeviceOf(context).stream();
}

absl::Status LaunchStatus() { return CudaLaunchStatus(); }

absl::StatusOr<Tensor> Upload(OpKernelContext& context,
                              absl::Span<const int64_t> numbers) {
  const auto count = static_cast<int64_t>(numbers.size());
  ASSIGN_OR_RETURN(Tensor host, Tensor::Allocate(context.host_allocator(),
                                                 DT_INT64, {count}));
  std::copy(numbers.begin(), numbers.end(),
            host.mutable_flat<int64_t>().begin());
  ASSIGN_OR_RETURN(Tensor device,
                   context.AllocateTemp(DT_INT64, TensorShape({count})));
  RETURN_IF_ERROR(context.device().context()->CopyToDevice(host, device));
  return device;
}

int64_t ElementSize(const Tensor& tensor) {
  return static_cast<int64_t>(DataTypeSize(tensor.dtype()));
}

cuda::ElementType ElementTypeOf(DataType dtype) {
  using cuda::ElementType;
  switch (dtype) {
    case DT_FLOAT:
      return ElementType::kFloat;
    case DT_DOUBLE:
      return ElementType::kDouble;
    case DT_HALF:
      return ElementType::kHalf;
    case DT_BFLOAT16:
      return ElementType::kBfloat16;
    case DT_INT8:
      return ElementType::kInt8;
    case DT_INT16:
      return ElementType::kInt16;
    case DT_INT32:
      return ElementType::kInt32;
    case DT_INT64:
      return ElementType::kInt64;
    case DT_UINT8:
      return ElementType::kUint8;
    case DT_UINT16:
      return ElementType::kUint16;
    case DT_UINT32:
      return ElementType::kUint32;
    case DT_UINT64:
      return ElementType::kUint64;
    case DT_BOOL:
      return ElementType::kBool;
    default:
      return ElementType::kOther;
  }
}

}  // namespace weft
