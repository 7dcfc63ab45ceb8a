// _MulInTurn: what the gradient of a sum becomes when a graph is made to run
// (libs/passes/scaling_fusion.h). It gives to the last bit what the nodes give
// that it stands for.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/math/broadcast.h"
#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"
#include "libs/kernels/parallel_loop.h"

namespace weft {
namespace {

class MulInTurnKernel : public OpKernel {
 public:
  MulInTurnKernel(const OpKernelConstruction& construction, BinaryLoop loop,
                  int64_t element_size)
      : OpKernel(construction),
        loop_(loop),
        size_(element_size),
        shape_first_(
            construction.GetAttr<bool>("shape_first").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(const std::vector<const void*> factors, Factors(context));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     ShapeFromDims(context.input(context.num_inputs() - 1)));
    if (x.shape() == shape) {
      ASSIGN_OR_RETURN(Tensor * out, context.ForwardOrAllocate({0}, 0, shape));
      Scale(context, x, factors, *out);
      return absl::OkStatus();
    }
    return ScaleAndSpread(context, x, factors, shape);
  }

 private:
  static absl::StatusOr<std::vector<const void*>> Factors(
      const OpKernelContext& context) {
    std::vector<const void*> factors;
    for (int i = 1; i + 1 < context.num_inputs(); ++i) {
      const Tensor& factor = context.input(i);
      if (factor.num_elements() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("factors[", i - 1, "] has ", factor.num_elements(),
                         " elements and not one"));
      }
      factors.push_back(factor.data());
    }
    return factors;
  }

  // By blocks that stay in the processor's first cache from factor to factor.
  void Scale(OpKernelContext& context, const Tensor& x,
             absl::Span<const void* const> factors, Tensor& out) const {
    constexpr int64_t kBlock = 2048;
    const char* const from = static_cast<const char*>(x.data());
    char* const to = static_cast<char*>(out.mutable_data());
    ParallelLoop(context, x.num_elements(), 1, [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += kBlock) {
        const int64_t n = std::min(kBlock, end - begin);
        const void* in = from + begin * size_;
        for (const void* factor : factors) {
          loop_(in, 1, factor, 0, to + begin * size_, n);
          in = to + begin * size_;
        }
      }
    });
  }

  // Of a tensor that has another shape than the last factor is repeated to, and
  // meets that by broadcasting.
  absl::Status ScaleAndSpread(OpKernelContext& context, const Tensor& x,
                              absl::Span<const void* const> factors,
                              const TensorShape& shape) const {
    ASSIGN_OR_RETURN(const Broadcast broadcast,
                     shape_first_ ? Broadcast::Of(shape, x.shape())
                                  : Broadcast::Of(x.shape(), shape));
    ASSIGN_OR_RETURN(Tensor scaled, context.AllocateTemp(x.dtype(), x.shape()));
    Scale(context, x, factors, scaled);
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, broadcast.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    const char* const from = static_cast<const char*>(scaled.data());
    char* to = static_cast<char*>(out->mutable_data());
    const int operand = shape_first_ ? 1 : 0;
    const int64_t step = broadcast.step(operand) * size_;
    broadcast.ForEachRow(
        0, broadcast.rows(), [&](int64_t, const Broadcast::Offsets& offsets) {
          const char* element = from + offsets[operand] * size_;
          for (int64_t i = 0; i < broadcast.row_size(); ++i) {
            std::memcpy(to, element, size_);
            to += size_;
            element += step;
          }
        });
    return absl::OkStatus();
  }

  const BinaryLoop loop_;
  const int64_t size_;  // of an element, in bytes
  const bool shape_first_;
};

template <typename T>
void RegisterMulInTurn(KernelRegistry& registry) {
  const DataType type = DataTypeOf<T>::value;
  const BinaryLoop loop =
      BestBinaryLoop("Mul", type, &math::BinaryLoopOf<T, T, math::MulOp>);
  registry.Register(
      {.op = "_MulInTurn", .types = {{"T", {type}}}, .is_cheap = true},
      [loop](const OpKernelConstruction& construction)
          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
        return std::make_unique<MulInTurnKernel>(
            construction, loop, static_cast<int64_t>(sizeof(T)));
      });
}

}  // namespace

void RegisterScalingKernels(KernelRegistry& registry) {
  RegisterMulInTurn<half>(registry);
  RegisterMulInTurn<bfloat16>(registry);
  RegisterMulInTurn<float>(registry);
  RegisterMulInTurn<double>(registry);
}

}  // namespace weft
