// MatMul, BatchMatMul and BatchMatMulV2 on GPUs, with cuBLAS's products, or a
// plain one without it.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/status.h"
#include "libs/device/cuda/cuda_blas.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/kernels/cuda/product.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/math/broadcast.h"
#include "libs/kernels/math/operand_checks.h"

namespace weft {
namespace {

// One product, from the last two dimensions of the operands.
absl::StatusOr<CudaProduct> ProductOf(const Tensor& a, const Tensor& b,
                                      bool transpose_a, bool transpose_b) {
  ASSIGN_OR_RETURN(
      const ProductSizes sizes,
      SizesOfProduct(a.shape(), b.shape(), transpose_a, transpose_b));
  CudaProduct product;
  product.dtype = a.dtype();
  product.transpose_a = transpose_a;
  product.transpose_b = transpose_b;
  product.m = sizes.m;
  product.k = sizes.k;
  product.n = sizes.n;
  product.a_stride = a.dim(a.rank() - 1);
  product.b_stride = b.dim(b.rank() - 1);
  product.c_stride = product.n;
  return product;
}

const char* At(const Tensor& tensor, int64_t element) {
  return static_cast<const char*>(tensor.data()) +
         element * ElementSize(tensor);
}

char* MutableAt(Tensor& tensor, int64_t element) {
  return const_cast<char*>(At(tensor, element));
}

cuda::MatMulArgs ArgsOf(const CudaProduct& product) {
  cuda::MatMulArgs args;
  args.transpose_a = product.transpose_a;
  args.transpose_b = product.transpose_b;
  args.m = product.m;
  args.n = product.n;
  args.k = product.k;
  args.a_stride = product.a_stride;
  args.b_stride = product.b_stride;
  args.c_stride = product.c_stride;
  args.add = product.add;
  args.is_wide = product.is_wide;
  args.batches = product.batches;
  args.a_batch = product.a_batch;
  args.b_batch = product.b_batch;
  args.c_batch = product.c_batch;
  return args;
}

// Computes `product` of matrices that begin at elements `x`, `y` and `z`.
// REQUIRES: the result is not empty.
absl::Status Multiply(const OpKernelContext& context,
                      const CudaProduct& product, int64_t x, int64_t y,
                      int64_t z, Tensor& out) {
  return MultiplyMatrices(context, product, At(context.input(0), x),
                          At(context.input(1), y), MutableAt(out, z));
}

class MatMulKernel : public OpKernel {
 public:
  explicit MatMulKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        transpose_a_(construction.GetAttr<bool>("transpose_a").value_or(false)),
        transpose_b_(
            construction.GetAttr<bool>("transpose_b").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    RETURN_IF_ERROR(CheckMatrices(a.shape(), b.shape()));
    ASSIGN_OR_RETURN(const CudaProduct product,
                     ProductOf(a, b, transpose_a_, transpose_b_));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create({product.m, product.n}));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    return Multiply(context, product, 0, 0, 0, *out);
  }

 private:
  const bool transpose_a_;
  const bool transpose_b_;
};

class BatchMatMulKernel : public OpKernel {
 public:
  BatchMatMulKernel(const OpKernelConstruction& construction, bool broadcasts)
      : OpKernel(construction),
        broadcasts_(broadcasts),
        adj_x_(construction.GetAttr<bool>("adj_x").value_or(false)),
        adj_y_(construction.GetAttr<bool>("adj_y").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& y = context.input(1);
    RETURN_IF_ERROR(CheckBatches(x.shape(), y.shape(), broadcasts_));
    ASSIGN_OR_RETURN(const CudaProduct product,
                     ProductOf(x, y, adj_x_, adj_y_));
    ASSIGN_OR_RETURN(
        const Broadcast batches,
        Broadcast::Of(BatchShape(x.shape()), BatchShape(y.shape())));
    Dims dims(batches.shape().dims().begin(), batches.shape().dims().end());
    dims.push_back(product.m);
    dims.push_back(product.n);
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    return MultiplyRows(context, batches, product, *out);
  }

 private:
  // One launch for each row of batches, whose matrices are equally spaced.
  static absl::Status MultiplyRows(OpKernelContext& context,
                                   const Broadcast& batches,
                                   CudaProduct product, Tensor& out) {
    const int64_t x_size = product.m * product.k;
    const int64_t y_size = product.k * product.n;
    product.batches = batches.row_size();
    product.a_batch = batches.step(0) * x_size;
    product.b_batch = batches.step(1) * y_size;
    product.c_batch = product.m * product.n;
    absl::Status status;
    batches.ForEachRow(
        0, batches.rows(), [&](int64_t row, const Broadcast::Offsets& offsets) {
          if (!status.ok()) return;
          status = Multiply(context, product, offsets[0] * x_size,
                            offsets[1] * y_size,
                            row * batches.row_size() * product.c_batch, out);
        });
    return status;
  }

  const bool broadcasts_;
  const bool adj_x_;
  const bool adj_y_;
};

}  // namespace

absl::Status MultiplyMatrices(const OpKernelContext& context,
                              const CudaProduct& product, const void* a,
                              const void* b, void* c) {
  const cudaStream_t stream = StreamOf(context);
  if (product.k > 0) {
    const absl::Status launched =
        CudaDeviceOf(context).blas().Multiply(product, a, b, c);
    if (!absl::IsUnavailable(launched)) return launched;
  }
  cuda::LaunchMatMul(ElementTypeOf(product.dtype), ArgsOf(product), a, b, c,
                     stream);
  return LaunchStatus();
}

void RegisterCudaLinalgKernels(KernelRegistry& registry) {
  RegisterForGpu<MatMulKernel>(registry, DefOf("MatMul", CudaFloats()));
  RegisterForGpu<BatchMatMulKernel>(registry,
                                    DefOf("BatchMatMul", CudaFloats()), false);
  RegisterForGpu<BatchMatMulKernel>(registry,
                                    DefOf("BatchMatMulV2", CudaFloats()), true);
}

}  // namespace weft
