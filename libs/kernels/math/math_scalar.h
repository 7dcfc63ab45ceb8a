// Arithmetic on one element of each type, and loops based on it: integers wrap
// around as in TensorFlow, half and bfloat16 compute as float, complex numbers
// as std::complex.
#ifndef WEFT_LIBS_KERNELS_MATH_MATH_SCALAR_H_
#define WEFT_LIBS_KERNELS_MATH_MATH_SCALAR_H_

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "libs/tensor/data_type.h"

namespace weft::math {

template <typename T>
inline constexpr bool kIsSmallFloat =
    std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;
template <typename T>
inline constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> ||
                                   std::is_same_v<T, std::complex<double>>;
template <typename T>
inline constexpr bool kIsInteger =
    std::is_integral_v<T> && !std::is_same_v<T, bool>;

// The type used to compute with T: float for half and bfloat16, an unsigned
// type of at least 32 bits for integers, otherwise T.
template <typename T, typename = void>
struct WorkingType {
  using Type = T;
};
template <typename T>
struct WorkingType<T, std::enable_if_t<kIsSmallFloat<T>>> {
  using Type = float;
};
template <typename T>
using Real = typename WorkingType<T>::Type;

template <typename T>
using Modular = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

// Rings: addition, subtraction, multiplication. F takes two working values.
template <typename T, typename F>
T WithModular(T x, T y, F f) {
  if constexpr (kIsInteger<T>) {
    return static_cast<T>(
        f(static_cast<Modular<T>>(x), static_cast<Modular<T>>(y)));
  } else {
    return static_cast<T>(f(static_cast<Real<T>>(x), static_cast<Real<T>>(y)));
  }
}

// Floating-point and complex numbers. F takes two working values.
template <typename T, typename F>
T WithReal(T x, T y, F f) {
  return static_cast<T>(f(static_cast<Real<T>>(x), static_cast<Real<T>>(y)));
}

struct AddOp {
  template <typename T>
  static T Apply(const T& x, const T& y) {
    return WithModular(x, y, [](auto a, auto b) { return a + b; });
  }
  static std::string Apply(const std::string& x, const std::string& y) {
    return x + y;
  }
};
struct SubOp {
  template <typename T>
  static T Apply(T x, T y) {
    return WithModular(x, y, [](auto a, auto b) { return a - b; });
  }
};
struct MulOp {
  template <typename T>
  static T Apply(T x, T y) {
    return WithModular(x, y, [](auto a, auto b) { return a * b; });
  }
};

// Ordering: if either operand is NaN, so is the result.
struct MaximumOp {
  template <typename T>
  static T Apply(T x, T y) {
    return (x > y || x != x) ? x : y;
  }
};
struct MinimumOp {
  template <typename T>
  static T Apply(T x, T y) {
    return (x < y || x != x) ? x : y;
  }
};

// The loops of elementwise_isa.h for `Op::Apply(x, y)`. Iterations are
// independent, even if `out` is `x` or `y`.
template <typename In, typename Out, typename Op>
bool BinaryLoopOf(const void* x_data, int64_t x_step, const void* y_data,
                  int64_t y_step, void* out_data, int64_t n) {
  const In* x = static_cast<const In*>(x_data);
  const In* y = static_cast<const In*>(y_data);
  Out* out = static_cast<Out*>(out_data);
  if (x_step != 0 && y_step != 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = Op::Apply(x[i], y[i]);
  } else if (x_step != 0) {
    const In scalar = *y;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = Op::Apply(x[i], scalar);
  } else {
    const In scalar = *x;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) {
      out[i] = Op::Apply(scalar, y[i * y_step]);
    }
  }
  return true;
}

// For an `Op` that is undefined for some operands: `Op::IsValid(x, y)`; Apply
// must then return any value without undefined behavior.
template <typename T, typename Op>
bool CheckedLoopOf(const void* x_data, int64_t x_step, const void* y_data,
                   int64_t y_step, void* out_data, int64_t n) {
  const T* x = static_cast<const T*>(x_data);
  const T* y = static_cast<const T*>(y_data);
  T* out = static_cast<T*>(out_data);
  bool ok = true;
  for (int64_t i = 0; i < n; ++i) {
    const T a = x[i * x_step];
    const T b = y[i * y_step];
    ok &= Op::IsValid(a, b);
    out[i] = Op::Apply(a, b);
  }
  return ok;
}

template <typename In, typename Out, typename Op>
void UnaryLoopOf(const void* x_data, void* out_data, int64_t n) {
  const In* x = static_cast<const In*>(x_data);
  Out* out = static_cast<Out*>(out_data);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<Out>(Op::Apply(static_cast<Real<In>>(x[i])));
  }
}

// Calls f.template operator()<T>() for each T.
template <typename... T>
struct Types {
  template <typename F>
  static void ForEach(F f) {
    (f.template operator()<T>(), ...);
  }
};
using Floats = Types<float, double, half, bfloat16>;
using Integers = Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t,
                       int64_t, uint64_t>;
using Complexes = Types<std::complex<float>, std::complex<double>>;

}  // namespace weft::math

#endif  // WEFT_LIBS_KERNELS_MATH_MATH_SCALAR_H_
