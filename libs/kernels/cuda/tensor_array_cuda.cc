// Kernels of TensorArrays on GPUs: the CPU kernels, with elements in GPU
// memory.
#include <memory>
#include <utility>

#include "libs/base/status.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/patterns.h"
#include "libs/kernels/cuda/training.cu.h"
#include "libs/kernels/resource/tensor_array_kernels.h"

namespace weft {
namespace {

class CudaValues : public ArrayValues {
 public:
  absl::StatusOr<Tensor> Zeros(OpKernelContext& context, DataType dtype,
                               const TensorShape& shape) const override {
    ASSIGN_OR_RETURN(Tensor zeros,
                     Tensor::Allocate(context.allocator(), dtype, shape));
    RETURN_IF_ERROR(SetToZero(context, zeros));
    return zeros;
  }

  // There are no strings on GPUs.
  absl::Status Copy(OpKernelContext& context, HeapCharge&, const Tensor& in,
                    int64_t in_begin, int64_t count, Tensor& out,
                    int64_t out_begin) const override {
    return CopyElementsOnGpu(context, in, in_begin, count, out, out_begin);
  }

  absl::Status Add(OpKernelContext& context, Tensor& sum,
                   const Tensor& added) const override {
    ASSIGN_OR_RETURN(Tensor both, Tensor::Allocate(context.allocator(),
                                                   sum.dtype(), sum.shape()));
    if (both.num_elements() > 0) {
      LaunchChange(cuda::Change::kAdd, ElementTypeOf(sum.dtype()),
                   both.num_elements(), sum.data(), added.data(),
                   both.mutable_data(), StreamOf(context));
      RETURN_IF_ERROR(LaunchStatus());
    }
    sum = std::move(both);
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterCudaTensorArrayKernels(KernelRegistry& registry) {
  RegisterTensorArrayV3Kernels(registry, "GPU", CudaNumbers(),
                               std::make_shared<CudaValues>());
}

}  // namespace weft
