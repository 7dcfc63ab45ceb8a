// Plain loops that the compiler vectorizes, and Eigen's vector mathematics.
// Eigen stays in here, and no std:: template may be used: see
// weft_kernels_per_instruction_set.
#include "libs/kernels/isa/elementwise_isa.h"

#include <string.h>

#include <Eigen/Core>

#include "libs/kernels/isa/narrow_vectors_isa.h"

namespace weft::WEFT_ISA {
namespace {

// Integers wrap around, as they do in TensorFlow; unsigned arithmetic says so.
template <typename T>
struct Wrapping {
  using Type = T;
};
template <>
struct Wrapping<int32_t> {
  using Type = uint32_t;
};
template <>
struct Wrapping<int64_t> {
  using Type = uint64_t;
};
template <typename T>
using Wrap = typename Wrapping<T>::Type;

struct Add {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(static_cast<Wrap<T>>(x) + static_cast<Wrap<T>>(y));
  }
};
struct Sub {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(static_cast<Wrap<T>>(x) - static_cast<Wrap<T>>(y));
  }
};
struct Mul {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(static_cast<Wrap<T>>(x) * static_cast<Wrap<T>>(y));
  }
};
struct SquaredDifference {
  template <typename T>
  static T Apply(T x, T y) {
    const T d = Sub::Apply(x, y);
    return Mul::Apply(d, d);
  }
};
struct Div {
  template <typename T>
  static T Apply(T x, T y) {
    return x / y;
  }
};
// NaN in either operand gives NaN. Float comparisons are those that raise no
// exceptions; otherwise the compiler does not vectorize them.
struct Maximum {
  template <typename T>
  static T Apply(T x, T y) {
    return x > y ? x : y;
  }
  static float Apply(float x, float y) {
    return (__builtin_isgreater(x, y) || x != x) ? x : y;
  }
  static double Apply(double x, double y) {
    return (__builtin_isgreater(x, y) || x != x) ? x : y;
  }
};
struct Minimum {
  template <typename T>
  static T Apply(T x, T y) {
    return x < y ? x : y;
  }
  static float Apply(float x, float y) {
    return (__builtin_isless(x, y) || x != x) ? x : y;
  }
  static double Apply(double x, double y) {
    return (__builtin_isless(x, y) || x != x) ? x : y;
  }
};
// y is the function's value, dy the incoming gradient.
struct TanhGrad {
  template <typename T>
  static T Apply(T y, T dy) {
    return dy * (T(1) - y * y);
  }
};
struct SigmoidGrad {
  template <typename T>
  static T Apply(T y, T dy) {
    return dy * y * (T(1) - y);
  }
};

// Iterations are independent, even if `out` is `x` or `y`; the compiler cannot
// know that.
template <typename T, typename Op>
bool PlainBinary(const void* x_data, int64_t x_step, const void* y_data,
                 int64_t y_step, void* out_data, int64_t n) {
  const T* x = static_cast<const T*>(x_data);
  const T* y = static_cast<const T*>(y_data);
  T* out = static_cast<T*>(out_data);
  if (x_step != 0 && y_step != 0) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = Op::Apply(x[i], y[i]);
  } else if (x_step != 0) {
    const T scalar = *y;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = Op::Apply(x[i], scalar);
  } else if (y_step != 0) {
    const T scalar = *x;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = Op::Apply(scalar, y[i]);
  } else {
    const T value = Op::Apply(*x, *y);
    for (int64_t i = 0; i < n; ++i) out[i] = value;
  }
  return true;
}

// The number of half or bfloat16 numbers converted at a time, which fit into
// the first-level cache.
constexpr int64_t kNarrowBlock = 512;

// The next `count` elements, or one for all if the step is 0.
template <typename T>
void WidenOperand(const T* x, int64_t step, int64_t i, int64_t count,
                  float* out) {
  if (step != 0) {
    Widen(x + i, out, count);
  } else if (i == 0) {
    Widen(x, out, 1);
  }
}

template <typename T, typename Op>
bool NarrowBinary(const void* x_data, int64_t x_step, const void* y_data,
                  int64_t y_step, void* out_data, int64_t n) {
  const T* x = static_cast<const T*>(x_data);
  const T* y = static_cast<const T*>(y_data);
  T* out = static_cast<T*>(out_data);
  float left[kNarrowBlock], right[kNarrowBlock], result[kNarrowBlock];
  for (int64_t i = 0; i < n; i += kNarrowBlock) {
    const int64_t count = n - i < kNarrowBlock ? n - i : kNarrowBlock;
    WidenOperand(x, x_step, i, count, left);
    WidenOperand(y, y_step, i, count, right);
    PlainBinary<float, Op>(left, x_step, right, y_step, result, count);
    Narrow(result, out + i, count);
  }
  return true;
}

template <typename T, typename Op>
constexpr BinaryLoop BinaryLoopOf() {
  if constexpr (kIsNarrow<T>) {
    return &NarrowBinary<T, Op>;
  } else {
    return &PlainBinary<T, Op>;
  }
}

// Exact functions: plain loops, for which the compiler uses instructions such
// as the square root. Eigen estimates that one, with inexact last bits and
// wrong infinities.
struct Sqrt {
  static float Apply(float x) { return __builtin_sqrtf(x); }
  static double Apply(double x) { return __builtin_sqrt(x); }
};
struct Rsqrt {
  template <typename T>
  static T Apply(T x) {
    return T(1) / Sqrt::Apply(x);
  }
};
struct Square {
  template <typename T>
  static T Apply(T x) {
    return x * x;
  }
};
struct Neg {
  template <typename T>
  static T Apply(T x) {
    return -x;
  }
};
struct Reciprocal {
  template <typename T>
  static T Apply(T x) {
    return T(1) / x;
  }
};

template <typename T, typename Op>
void PlainUnary(const void* x_data, void* out_data, int64_t n) {
  const T* x = static_cast<const T*>(x_data);
  T* out = static_cast<T*>(out_data);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = Op::Apply(x[i]);
}

float Smallest(float) { return __FLT_MIN__; }
double Smallest(double) { return __DBL_MIN__; }
// Below this exponent, the exponential is below the smallest normal number.
float LeastExponent(float) { return -87.336544f; }
double LeastExponent(double) { return -708.39641853226408; }
// Above this exponent, Eigen's exponential of floats is infinite, 0.35 too
// early.
float MostExponent(float) { return 88.376F; }
double MostExponent(double) { return __builtin_inf(); }
float ExactExp(float x) { return __builtin_expf(x); }
double ExactExp(double x) { return __builtin_exp(x); }
float ExactLog(float x) { return __builtin_logf(x); }
double ExactLog(double x) { return __builtin_log(x); }

// Functions that Eigen approximates. Its last bits differ between vectors and
// single numbers, so everything is computed in whole vectors. Where Eigen does
// not support numbers below the smallest normal one, IsRare(x) returns true,
// and Rare(x) is exact.
struct NeverRare {
  template <typename T>
  static bool IsRare(T) {
    return false;
  }
  template <typename T>
  static T Rare(T x) {
    return x;
  }
};
// Replaces the exponential where it is small.
struct SmallExp {
  template <typename T>
  static bool IsRare(T x) {
    return x < LeastExponent(x);
  }
  template <typename T>
  static T Rare(T x) {
    return ExactExp(x);
  }
};
struct Exp : SmallExp {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.exp();
  }
  template <typename T>
  static bool IsRare(T x) {
    return SmallExp::IsRare(x) || x > MostExponent(x);
  }
};
struct Log {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.log();
  }
  template <typename T>
  static bool IsRare(T x) {
    return x < Smallest(x) && x > T(0);
  }
  template <typename T>
  static T Rare(T x) {
    return ExactLog(x);
  }
};
// log(u) for u = 1 + x, corrected by the rounding error of u. If x is lost in
// u, or u is infinite, the result is x.
struct Log1p : NeverRare {
  template <typename Expression>
  static Expression Apply(const Expression& x) {
    using T = typename Expression::Scalar;
    const Expression u = x + T(1);
    const Expression result = x * (u.log() / (u - T(1)));
    return (u == T(1) || u == T(__builtin_inf())).select(x, result);
  }
};
// Eigen's function loses four digits of small results.
struct Sigmoid : SmallExp {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return ((-x).exp() + typename Expression::Scalar(1)).inverse();
  }
};
struct Tanh : NeverRare {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.tanh();
  }
};
struct Sin : NeverRare {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.sin();
  }
};
struct Cos : NeverRare {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.cos();
  }
};

// The number of elements in the widest vector. Eigen begins and ends a range of
// unknown size with single elements, but never a range of this size.
template <typename T>
inline constexpr int kBlock = 64 / static_cast<int>(sizeof(T));
template <typename T>
using Block = Eigen::Array<T, kBlock<T>, 1>;

template <typename T, typename Op>
void BlockOf(const T* x, T* out) {
  const Block<T> block = Eigen::Map<const Block<T>>(x);
  Eigen::Map<Block<T>>{out} = Op::Apply(block);
  int rare = 0;
  for (int i = 0; i < kBlock<T>; ++i) rare |= Op::IsRare(block[i]) ? 1 : 0;
  if (rare == 0) return;
  for (int i = 0; i < kBlock<T>; ++i) {
    if (Op::IsRare(block[i])) out[i] = Op::Rare(block[i]);
  }
}

// The last block is padded, so that the result of an element depends neither on
// its position nor on the memory alignment.
template <typename T, typename Op>
void BlockUnary(const void* x_data, void* out_data, int64_t n) {
  const T* x = static_cast<const T*>(x_data);
  T* out = static_cast<T*>(out_data);
  int64_t i = 0;
  for (; i + kBlock<T> <= n; i += kBlock<T>) BlockOf<T, Op>(x + i, out + i);
  if (i == n) return;
  T rest[kBlock<T>] = {};
  memcpy(rest, x + i, static_cast<size_t>(n - i) * sizeof(T));
  BlockOf<T, Op>(rest, rest);
  memcpy(out + i, rest, static_cast<size_t>(n - i) * sizeof(T));
}

// For half and bfloat16, by conversion to float.
template <typename T, UnaryLoop kLoop>
void NarrowUnary(const void* x_data, void* out_data, int64_t n) {
  const T* x = static_cast<const T*>(x_data);
  T* out = static_cast<T*>(out_data);
  float wide[kNarrowBlock];
  for (int64_t i = 0; i < n; i += kNarrowBlock) {
    const int64_t count = n - i < kNarrowBlock ? n - i : kNarrowBlock;
    Widen(x + i, wide, count);
    kLoop(wide, wide, count);
    Narrow(wide, out + i, count);
  }
}

template <typename T, typename Op>
constexpr UnaryLoop ExactLoopOf() {
  if constexpr (kIsNarrow<T>) {
    return &NarrowUnary<T, &PlainUnary<float, Op>>;
  } else {
    return &PlainUnary<T, Op>;
  }
}

template <typename T, typename Op>
constexpr UnaryLoop UnaryLoopOf() {
  if constexpr (kIsNarrow<T>) {
    return &NarrowUnary<T, &BlockUnary<float, Op>>;
  } else {
    return &BlockUnary<T, Op>;
  }
}

// The difference is rounded to T, as in TensorFlow.
template <typename T>
bool NarrowSquaredDifference(const void* x, int64_t x_step, const void* y,
                             int64_t y_step, void* out, int64_t n) {
  NarrowBinary<T, Sub>(x, x_step, y, y_step, out, n);
  NarrowUnary<T, &PlainUnary<float, Square>>(out, out, n);
  return true;
}

template <typename T>
constexpr BinaryLoop SquaredDifferenceLoop() {
  if constexpr (kIsNarrow<T>) {
    return &NarrowSquaredDifference<T>;
  } else {
    return BinaryLoopOf<T, SquaredDifference>();
  }
}

template <typename T>
BinaryLoop FindIntegerBinary(const char* op) {
  if (strcmp(op, "Add") == 0) return BinaryLoopOf<T, Add>();
  if (strcmp(op, "Sub") == 0) return BinaryLoopOf<T, Sub>();
  if (strcmp(op, "Mul") == 0) return BinaryLoopOf<T, Mul>();
  if (strcmp(op, "Maximum") == 0) return BinaryLoopOf<T, Maximum>();
  if (strcmp(op, "Minimum") == 0) return BinaryLoopOf<T, Minimum>();
  return nullptr;
}

template <typename T>
BinaryLoop FindFloatBinary(const char* op) {
  if (strcmp(op, "Div") == 0) return BinaryLoopOf<T, Div>();
  if (strcmp(op, "SquaredDifference") == 0) {
    return SquaredDifferenceLoop<T>();
  }
  if (strcmp(op, "TanhGrad") == 0) return BinaryLoopOf<T, TanhGrad>();
  if (strcmp(op, "SigmoidGrad") == 0) return BinaryLoopOf<T, SigmoidGrad>();
  return FindIntegerBinary<T>(op);
}

BinaryLoop FindBinary(const char* op, LoopType type) {
  switch (type) {
    case LoopType::kFloat:
      return FindFloatBinary<float>(op);
    case LoopType::kDouble:
      return FindFloatBinary<double>(op);
    case LoopType::kHalf:
      return FindFloatBinary<half>(op);
    case LoopType::kBfloat16:
      return FindFloatBinary<bfloat16>(op);
    case LoopType::kInt32:
      return FindIntegerBinary<int32_t>(op);
    case LoopType::kInt64:
      return FindIntegerBinary<int64_t>(op);
  }
  return nullptr;
}

template <typename T>
UnaryLoop FindFloatUnary(const char* op) {
  if (strcmp(op, "Exp") == 0) return UnaryLoopOf<T, Exp>();
  if (strcmp(op, "Log") == 0) return UnaryLoopOf<T, Log>();
  if (strcmp(op, "Log1p") == 0) return UnaryLoopOf<T, Log1p>();
  if (strcmp(op, "Tanh") == 0) return UnaryLoopOf<T, Tanh>();
  if (strcmp(op, "Sigmoid") == 0) return UnaryLoopOf<T, Sigmoid>();
  if (strcmp(op, "Sqrt") == 0) return ExactLoopOf<T, Sqrt>();
  if (strcmp(op, "Rsqrt") == 0) return ExactLoopOf<T, Rsqrt>();
  if (strcmp(op, "Square") == 0) return ExactLoopOf<T, Square>();
  if (strcmp(op, "Neg") == 0) return ExactLoopOf<T, Neg>();
  if (strcmp(op, "Reciprocal") == 0) return ExactLoopOf<T, Reciprocal>();
  if (strcmp(op, "Sin") == 0) return UnaryLoopOf<T, Sin>();
  if (strcmp(op, "Cos") == 0) return UnaryLoopOf<T, Cos>();
  return nullptr;
}

UnaryLoop FindUnary(const char* op, LoopType type) {
  switch (type) {
    case LoopType::kFloat:
      return FindFloatUnary<float>(op);
    case LoopType::kDouble:
      return FindFloatUnary<double>(op);
    case LoopType::kHalf:
      return FindFloatUnary<half>(op);
    case LoopType::kBfloat16:
      return FindFloatUnary<bfloat16>(op);
    case LoopType::kInt32:
    case LoopType::kInt64:
      break;
  }
  return nullptr;
}

}  // namespace

ElementwiseFunctions Elementwise() { return {&FindBinary, &FindUnary}; }

}  // namespace weft::WEFT_ISA
