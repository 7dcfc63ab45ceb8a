// MatMul, BatchMatMul and BatchMatMulV2 on GPUs: cuBLAS's products, or a plain
// one where it is missing.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/device/cuda/cuda_blas.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/kernels/cuda/registration.h"
#include "libs/kernels/math/broadcast.h"

namespace weft {
namespace {

absl::Status SizesIncompatible(const TensorShape& a, const TensorShape& b) {
  return absl::InvalidArgumentError(
      absl::StrCat("Matrix size-incompatible: In[0]: ", a.ToString(),
                   ", In[1]: ", b.ToString()));
}

// One product, from the last two dimensions of the operands.
absl::StatusOr<CudaProduct> ProductOf(const Tensor& a, const Tensor& b,
                                      bool transpose_a, bool transpose_b) {
  const int64_t a_rows = a.dim(a.rank() - 2), a_columns = a.dim(a.rank() - 1);
  const int64_t b_rows = b.dim(b.rank() - 2), b_columns = b.dim(b.rank() - 1);
  CudaProduct product;
  product.dtype = a.dtype();
  product.transpose_a = transpose_a;
  product.transpose_b = transpose_b;
  product.m = transpose_a ? a_columns : a_rows;
  product.k = transpose_a ? a_rows : a_columns;
  product.n = transpose_b ? b_rows : b_columns;
  product.a_stride = a_columns;
  product.b_stride = b_columns;
  product.c_stride = product.n;
  if (product.k == (transpose_b ? b_columns : b_rows)) return product;
  return SizesIncompatible(a.shape(), b.shape());
}

const char* At(const Tensor& tensor, int64_t element) {
  return static_cast<const char*>(tensor.data()) +
         element * ElementSize(tensor);
}

char* MutableAt(Tensor& tensor, int64_t element) {
  return const_cast<char*>(At(tensor, element));
}

// `product`, of matrices that begin at elements `x`, `y` and `z`. REQUIRES: the
// result isn't empty.
absl::Status Multiply(OpKernelContext& context, const CudaProduct& product,
                      int64_t x, int64_t y, int64_t z, Tensor& out) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  const cudaStream_t stream = StreamOf(context);
  if (product.k > 0) {
    const absl::Status launched = CudaDeviceOf(context).blas().Multiply(
        product, At(a, x), At(b, y), MutableAt(out, z));
    if (!absl::IsUnavailable(launched)) return launched;
  }
  for (int64_t i = 0; i < product.batches; ++i) {
    cuda::LaunchMatMul(ElementTypeOf(a.dtype()), product.transpose_a,
                       product.transpose_b, product.m, product.n, product.k,
                       At(a, x + i * product.a_batch),
                       At(b, y + i * product.b_batch),
                       MutableAt(out, z + i * product.c_batch), stream);
  }
  return LaunchStatus();
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
    RETURN_IF_ERROR(CheckRanks(a.shape(), b.shape()));
    ASSIGN_OR_RETURN(const CudaProduct product,
                     ProductOf(a, b, transpose_a_, transpose_b_));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create({product.m, product.n}));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    return Multiply(context, product, 0, 0, 0, *out);
  }

 private:
  static absl::Status CheckRanks(const TensorShape& a, const TensorShape& b) {
    if (a.rank() != b.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("In[0] and In[1] has different ndims: ", a.ToString(),
                       " vs. ", b.ToString()));
    }
    if (a.rank() == 2) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "In[0] is not a matrix. Instead it has shape ", a.ToString()));
  }

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
    RETURN_IF_ERROR(CheckRanks(x.shape(), y.shape()));
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
  static TensorShape BatchShape(const TensorShape& shape) {
    return TensorShape(shape.dims().subspan(0, shape.rank() - 2));
  }

  absl::Status CheckRanks(const TensorShape& x, const TensorShape& y) const {
    for (const TensorShape* shape : {&x, &y}) {
      if (shape->rank() >= 2) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "In[", shape == &x ? 0 : 1, "] ndims must be >= 2: ", shape->rank()));
    }
    if (broadcasts_) return absl::OkStatus();
    if (x.rank() != y.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("In[0] and In[1] has different ndims: ", x.ToString(),
                       " vs. ", y.ToString()));
    }
    if (BatchShape(x) == BatchShape(y)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "In[0] and In[1] must have compatible batch dimensions: ", x.ToString(),
        " vs. ", y.ToString()));
  }

  // A launch for each row of batches, whose matrices lie evenly spaced.
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

void RegisterCudaLinalgKernels(KernelRegistry& registry) {
  RegisterForGpu<MatMulKernel>(registry, DefOf("MatMul", CudaFloats()));
  RegisterForGpu<BatchMatMulKernel>(registry,
                                    DefOf("BatchMatMul", CudaFloats()), false);
  RegisterForGpu<BatchMatMulKernel>(registry,
                                    DefOf("BatchMatMulV2", CudaFloats()), true);
}

}  // namespace weft
