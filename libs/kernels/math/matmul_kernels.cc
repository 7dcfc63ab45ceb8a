// MatMul, BatchMatMul, BatchMatMulV2.
#include <algorithm>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/math/broadcast.h"
#include "libs/kernels/math/gemm_of_any_type.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"
#include "libs/kernels/math/operand_checks.h"

namespace weft {
namespace {

template <typename T>
class MatMul : public OpKernel {
 public:
  MatMul(const OpKernelConstruction& construction, bool transpose_a,
         bool transpose_b)
      : OpKernel(construction),
        transpose_a_(transpose_a),
        transpose_b_(transpose_b) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& a = context.input(0);
    const Tensor& b = context.input(1);
    RETURN_IF_ERROR(CheckMatrices(a.shape(), b.shape()));
    ASSIGN_OR_RETURN(
        const MatMulArgs args,
        ProductOf(a.shape(), b.shape(), transpose_a_, transpose_b_));
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create({args.m, args.n}));
    if (!context.output_required(0)) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    gemm_.Run(context, args, a.flat<T>().data(), b.flat<T>().data(),
              out->mutable_flat<T>().data());
    return absl::OkStatus();
  }

 private:
  const bool transpose_a_;
  const bool transpose_b_;
  GemmOfAnyType<T> gemm_;
};

template <typename T>
class BatchMatMul : public OpKernel {
 public:
  BatchMatMul(const OpKernelConstruction& construction, bool adj_x, bool adj_y,
              bool broadcasts)
      : OpKernel(construction),
        adj_x_(adj_x),
        adj_y_(adj_y),
        broadcasts_(broadcasts) {}

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& x = context.input(0).shape();
    const TensorShape& y = context.input(1).shape();
    RETURN_IF_ERROR(CheckBatches(x, y, broadcasts_));
    ASSIGN_OR_RETURN(const MatMulArgs args, ProductOf(x, y, adj_x_, adj_y_));
    ASSIGN_OR_RETURN(Broadcast batches,
                     Broadcast::Of(BatchShape(x), BatchShape(y)));
    Dims dims(batches.shape().dims().begin(), batches.shape().dims().end());
    dims.push_back(args.m);
    dims.push_back(args.n);
    ASSIGN_OR_RETURN(TensorShape shape, TensorShape::Create(dims));
    if (!context.output_required(0)) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (shape.num_elements() > 0) Multiply(context, batches, args, *out);
    return absl::OkStatus();
  }

 private:
  void Multiply(OpKernelContext& context, const Broadcast& batches,
                const MatMulArgs& args, Tensor& out) {
    const T* x = context.input(0).flat<T>().data();
    const T* y = context.input(1).flat<T>().data();
    T* z = out.mutable_flat<T>().data();
    const int64_t row = batches.row_size();
    const auto one = [&](int64_t index, int64_t x_batch, int64_t y_batch) {
      gemm_.Run(context, args, x + x_batch * args.m * args.k,
                y + y_batch * args.k * args.n, z + index * args.m * args.n,
                /*adjoint=*/true);
    };
    const auto range = [&](int64_t begin, int64_t end) {
      batches.ForEachRow(begin / row, (end + row - 1) / row,
                         [&](int64_t r, const Broadcast::Offsets& offsets) {
                           const int64_t first =
                               std::max<int64_t>(0, begin - r * row);
                           const int64_t last = std::min(row, end - r * row);
                           for (int64_t i = first; i < last; ++i) {
                             one(r * row + i, offsets[0] + i * batches.step(0),
                                 offsets[1] + i * batches.step(1));
                           }
                         });
    };
    const int64_t count = batches.rows() * row;
    const int64_t flops = std::max<int64_t>(1, 2 * args.m * args.n * args.k);
    context.scheduler().ParallelFor(
        count, std::max<int64_t>(1, 400'000 / flops), std::ref(range));
  }

  const bool adj_x_;
  const bool adj_y_;
  const bool broadcasts_;
  GemmOfAnyType<T> gemm_;
};

template <typename T>
void RegisterMatMul(KernelRegistry& registry) {
  registry.Register(
      KernelDef{"MatMul", "CPU", {{"T", {DataTypeOf<T>::value}}}},
      [](const OpKernelConstruction& construction)
          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
        ASSIGN_OR_RETURN(bool transpose_a,
                         construction.GetAttr<bool>("transpose_a"));
        ASSIGN_OR_RETURN(bool transpose_b,
                         construction.GetAttr<bool>("transpose_b"));
        return std::make_unique<MatMul<T>>(construction, transpose_a,
                                           transpose_b);
      });
}

template <typename T>
void RegisterBatch(KernelRegistry& registry, const char* op, bool broadcasts) {
  registry.Register(
      KernelDef{op, "CPU", {{"T", {DataTypeOf<T>::value}}}},
      [broadcasts](const OpKernelConstruction& construction)
          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
        ASSIGN_OR_RETURN(bool adj_x, construction.GetAttr<bool>("adj_x"));
        ASSIGN_OR_RETURN(bool adj_y, construction.GetAttr<bool>("adj_y"));
        return std::make_unique<BatchMatMul<T>>(construction, adj_x, adj_y,
                                                broadcasts);
      });
}

}  // namespace

void RegisterMatMulKernels(KernelRegistry& registry) {
  const auto all = [&]<typename T>() {
    RegisterMatMul<T>(registry);
    RegisterBatch<T>(registry, "BatchMatMul", false);
    RegisterBatch<T>(registry, "BatchMatMulV2", true);
  };
  math::Floats::ForEach(all);
  math::Complexes::ForEach(all);
  math::Types<int32_t, int64_t>::ForEach(all);
  const auto newer = [&]<typename T>() {
    RegisterMatMul<T>(registry);
    RegisterBatch<T>(registry, "BatchMatMulV2", true);
  };
  math::Types<uint8_t, uint16_t, uint32_t, uint64_t>::ForEach(newer);
  RegisterBatch<int16_t>(registry, "BatchMatMulV2", true);
}

}  // namespace weft
