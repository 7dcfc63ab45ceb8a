// Products that are 0 if one factor is 0, whatever the other is: MulNoNan,
// Xlogy, Xlog1py. Also NextAfter.
#include <cmath>
#include <complex>
#include <utility>

#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"

namespace weft {
namespace {

template <typename R>
R LogOfOnePlus(R y) {
  return std::log1p(y);
}
template <typename R>
std::complex<R> LogOfOnePlus(std::complex<R> y) {
  return std::log(R(1) + y);
}

struct MulNoNanOp {
  template <typename T>
  static T Apply(T x, T y) {
    return math::WithReal(x, y, [](auto a, auto b) {
      using R = decltype(a);
      return b == R(0) ? R(0) : a * b;
    });
  }
};
struct XlogyOp {
  template <typename T>
  static T Apply(T x, T y) {
    return math::WithReal(x, y, [](auto a, auto b) {
      using R = decltype(a);
      return a == R(0) ? R(0) : a * std::log(b);
    });
  }
};
struct Xlog1pyOp {
  template <typename T>
  static T Apply(T x, T y) {
    return math::WithReal(x, y, [](auto a, auto b) {
      using R = decltype(a);
      return a == R(0) ? R(0) : a * LogOfOnePlus(b);
    });
  }
};
struct NextAfterOp {
  template <typename T>
  static T Apply(T x, T y) {
    return std::nextafter(x, y);
  }
};

template <typename T, typename Op>
void RegisterProduct(KernelRegistry& registry, const char* op, LoopCost cost) {
  BinaryKernelSpec spec{op};
  spec.in = spec.out = DataTypeOf<T>::value;
  spec.loop = &math::BinaryLoopOf<T, T, Op>;
  spec.cost = cost;
  RegisterBinaryKernel(registry, std::move(spec));
}

template <typename T>
void RegisterProducts(KernelRegistry& registry) {
  RegisterProduct<T, MulNoNanOp>(registry, "MulNoNan", LoopCost::kLight);
  RegisterProduct<T, XlogyOp>(registry, "Xlogy", LoopCost::kHeavy);
  RegisterProduct<T, Xlog1pyOp>(registry, "Xlog1py", LoopCost::kHeavy);
}

}  // namespace

void RegisterZeroProductKernels(KernelRegistry& registry) {
  math::Floats::ForEach([&]<typename T>() { RegisterProducts<T>(registry); });
  math::Complexes::ForEach(
      [&]<typename T>() { RegisterProducts<T>(registry); });
  math::Types<float, double>::ForEach([&]<typename T>() {
    RegisterProduct<T, NextAfterOp>(registry, "NextAfter", LoopCost::kHeavy);
  });
}

}  // namespace weft
