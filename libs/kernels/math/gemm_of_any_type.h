// GemmOfAnyType multiplies two row-major matrices of any numeric type. float
// and double use gemm.h. bfloat16 uses oneDNN on CPUs with bfloat16
// instructions. Otherwise, bfloat16 and half are converted to float and summed
// as floats. Other types use a simple loop, in which integers wrap around.
#ifndef WEFT_LIBS_KERNELS_MATH_GEMM_OF_ANY_TYPE_H_
#define WEFT_LIBS_KERNELS_MATH_GEMM_OF_ANY_TYPE_H_

#include <algorithm>
#include <complex>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "libs/base/scheduler/scheduler.h"
#include "libs/kernels/isa/matmul_isa.h"
#include "libs/kernels/math/dnnl_matmul.h"
#include "libs/kernels/math/gemm.h"
#include "libs/kernels/math/math_scalar.h"
#include "libs/kernels/math/narrow_gemm.h"
#include "libs/kernels/op_kernel.h"

namespace weft {
namespace gemm_of_any_type {

template <typename T>
T MaybeConjugate(T x, bool conjugate) {
  if constexpr (math::kIsComplex<T>) {
    return conjugate ? std::conj(x) : x;
  } else {
    (void)conjugate;
    return x;
  }
}

// Row by row; `a` is read once, `b` and the row of sums come from the cache.
// `adjoint`: transposed operands are also conjugated.
template <typename T>
void Product(const MatMulArgs& args, bool adjoint, const T* a, const T* b,
             T* c) {
  using R = math::Real<T>;
  const bool conjugate_a = adjoint && args.transpose_a;
  const bool conjugate_b = adjoint && args.transpose_b;
  std::vector<R> sums(args.n);
  for (int64_t i = 0; i < args.m; ++i) {
    std::fill(sums.begin(), sums.end(), R(0));
    for (int64_t k = 0; k < args.k; ++k) {
      const T* x = args.transpose_a ? a + k * args.a_stride + i
                                    : a + i * args.a_stride + k;
      const R left = MaybeConjugate(static_cast<R>(*x), conjugate_a);
      const T* row = args.transpose_b ? b + k : b + k * args.b_stride;
      const int64_t step = args.transpose_b ? args.b_stride : 1;
      for (int64_t j = 0; j < args.n; ++j) {
        const R right =
            MaybeConjugate(static_cast<R>(row[j * step]), conjugate_b);
        sums[j] = math::AddOp::Apply(sums[j], math::MulOp::Apply(left, right));
      }
    }
    for (int64_t j = 0; j < args.n; ++j) {
      c[i * args.c_stride + j] = static_cast<T>(sums[j]);
    }
  }
}

template <typename T>
void SplitProduct(Scheduler& scheduler, const MatMulArgs& args, bool adjoint,
                  const T* a, const T* b, T* c) {
  const int64_t flops_per_row = std::max<int64_t>(1, args.n * args.k);
  const auto rows = [&](int64_t begin, int64_t end) {
    MatMulArgs part = args;
    part.m = end - begin;
    Product(part, adjoint, a + begin * (args.transpose_a ? 1 : args.a_stride),
            b, c + begin * args.c_stride);
  };
  scheduler.ParallelFor(args.m, std::max<int64_t>(1, 100'000 / flops_per_row),
                        std::ref(rows));
}

}  // namespace gemm_of_any_type

// Belongs to a kernel and caches data between its products. Thread-safe.
template <typename T>
class GemmOfAnyType {
 public:
  // Computes c = op(a) op(b), split over threads if it is large. `adjoint`:
  // transposed operands are also conjugated.
  void Run(OpKernelContext& context, const MatMulArgs& args, const T* a,
           const T* b, T* c, bool adjoint = false) {
    Scheduler& scheduler = context.scheduler();
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      Gemm(scheduler, args, a, b, c);
    } else {
      if constexpr (math::kIsSmallFloat<T>) {
        if (IsWorthALoop(args) && RunNarrow(context, args, a, b, c)) return;
      }
      gemm_of_any_type::SplitProduct(scheduler, args, adjoint, a, b, c);
    }
  }

 private:
  static constexpr bool kHasDnnl = std::is_same_v<T, bfloat16>;

  // False for small matrices, which are multiplied by a simple loop, and for
  // matrices with a size of 0.
  static bool IsWorthALoop(const MatMulArgs& args) {
    constexpr double kMinProducts = 2048;
    return static_cast<double>(args.m) * static_cast<double>(args.n) *
               static_cast<double>(args.k) >=
           kMinProducts;
  }

  bool RunNarrow(OpKernelContext& context, const MatMulArgs& args, const T* a,
                 const T* b, T* c) {
    if constexpr (kHasDnnl) {
      if (dnnl_.Run(context, args, a, b, c)) return true;
    }
    return NarrowGemm(context, args, a, b, c);
  }

  struct Nothing {};
  [[no_unique_address]] std::conditional_t<kHasDnnl, DnnlMatMul, Nothing> dnnl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_MATH_GEMM_OF_ANY_TYPE_H_
