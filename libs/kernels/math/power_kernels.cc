// Pow, Atan2 and Polygamma: slow binary functions.
#include <cmath>
#include <limits>

#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"
#include "libs/kernels/math/special.h"

namespace weft {
namespace {

struct IntegerPowOp {
  template <typename T>
  static bool IsValid(T, T y) {
    return !(y < 0);
  }
  // By squaring; wraps around.
  template <typename T>
  static T Apply(T x, T y) {
    if (y < 0) return 0;
    T result = 1;
    for (T rest = y; rest != 0; rest = static_cast<T>(rest >> 1)) {
      if (rest & 1) result = math::MulOp::Apply(result, x);
      x = math::MulOp::Apply(x, x);
    }
    return result;
  }
};

struct PowOp {
  template <typename T>
  static T Apply(T x, T y) {
    using R = math::Real<T>;
    return static_cast<T>(std::pow(static_cast<R>(x), static_cast<R>(y)));
  }
};

struct Atan2Op {
  template <typename T>
  static T Apply(T y, T x) {
    using R = math::Real<T>;
    return static_cast<T>(std::atan2(static_cast<R>(y), static_cast<R>(x)));
  }
};

struct PolygammaOp {
  template <typename T>
  static T Apply(T order, T x) {
    return math::Polygamma(order, x);
  }
};

BinaryKernelSpec Spec(absl::string_view op, DataType type, BinaryLoop loop) {
  BinaryKernelSpec spec{std::string(op)};
  spec.in = spec.out = type;
  spec.loop = loop;
  spec.cost = LoopCost::kHeavy;
  spec.domain_error = "Integers to negative integer powers are not allowed";
  return spec;
}

}  // namespace

void RegisterPowerKernels(KernelRegistry& registry) {
  using math::BinaryLoopOf;
  math::Types<int8_t, int16_t, int32_t, int64_t>::ForEach([&]<typename T>() {
    RegisterBinaryKernel(registry, Spec("Pow", DataTypeOf<T>::value,
                                        &math::CheckedLoopOf<T, IntegerPowOp>));
  });
  math::Floats::ForEach([&]<typename T>() {
    const DataType type = DataTypeOf<T>::value;
    RegisterBinaryKernel(registry,
                         Spec("Pow", type, &BinaryLoopOf<T, T, PowOp>));
    RegisterBinaryKernel(registry,
                         Spec("Atan2", type, &BinaryLoopOf<T, T, Atan2Op>));
  });
  math::Complexes::ForEach([&]<typename T>() {
    RegisterBinaryKernel(registry, Spec("Pow", DataTypeOf<T>::value,
                                        &BinaryLoopOf<T, T, PowOp>));
  });
  math::Types<float, double>::ForEach([&]<typename T>() {
    RegisterBinaryKernel(registry, Spec("Polygamma", DataTypeOf<T>::value,
                                        &BinaryLoopOf<T, T, PolygammaOp>));
  });
}

}  // namespace weft
