// Plain loops that the compiler vectorises, and Eigen's vector mathematics.
// Eigen stays in here, and no std:: template may be used: see
// weft_kernels_per_instruction_set.
#include "libs/kernels/elementwise_isa.h"

#include <string.h>

#include <Eigen/Core>

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
// NaN in either operand is the result. The comparisons of floats are those that
// raise no exception, without which the compiler makes no vectors of them.
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

// No iteration depends on another, also when `out` is `x` or `y`; the compiler
// can't know that.
template <typename T, typename Op>
bool BinaryLoopOf(const void* x_data, int64_t x_step, const void* y_data,
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

template <typename T>
using Array = Eigen::Array<T, Eigen::Dynamic, 1>;

struct Exp {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.exp();
  }
};
struct Log {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.log();
  }
};
struct Tanh {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.tanh();
  }
};
struct Sigmoid {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.logistic();
  }
};
struct Sqrt {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.sqrt();
  }
};
struct Square {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.square();
  }
};
struct Neg {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return -x;
  }
};
struct Reciprocal {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.inverse();
  }
};
struct Sin {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.sin();
  }
};
struct Cos {
  template <typename Expression>
  static auto Apply(const Expression& x) {
    return x.cos();
  }
};

template <typename T, typename Op>
void UnaryLoopOf(const void* x, void* out, int64_t n) {
  Eigen::Map<Array<T>>(static_cast<T*>(out), n) =
      Op::Apply(Eigen::Map<const Array<T>>(static_cast<const T*>(x), n));
}

template <typename T>
BinaryLoop FindIntegerBinary(const char* op) {
  if (strcmp(op, "Add") == 0) return &BinaryLoopOf<T, Add>;
  if (strcmp(op, "Sub") == 0) return &BinaryLoopOf<T, Sub>;
  if (strcmp(op, "Mul") == 0) return &BinaryLoopOf<T, Mul>;
  if (strcmp(op, "Maximum") == 0) return &BinaryLoopOf<T, Maximum>;
  if (strcmp(op, "Minimum") == 0) return &BinaryLoopOf<T, Minimum>;
  return nullptr;
}

template <typename T>
BinaryLoop FindFloatBinary(const char* op) {
  if (strcmp(op, "Div") == 0) return &BinaryLoopOf<T, Div>;
  if (strcmp(op, "SquaredDifference") == 0) {
    return &BinaryLoopOf<T, SquaredDifference>;
  }
  if (strcmp(op, "TanhGrad") == 0) return &BinaryLoopOf<T, TanhGrad>;
  if (strcmp(op, "SigmoidGrad") == 0) return &BinaryLoopOf<T, SigmoidGrad>;
  return FindIntegerBinary<T>(op);
}

BinaryLoop FindBinary(const char* op, LoopType type) {
  switch (type) {
    case LoopType::kFloat:
      return FindFloatBinary<float>(op);
    case LoopType::kDouble:
      return FindFloatBinary<double>(op);
    case LoopType::kInt32:
      return FindIntegerBinary<int32_t>(op);
    case LoopType::kInt64:
      return FindIntegerBinary<int64_t>(op);
  }
  return nullptr;
}

template <typename T>
UnaryLoop FindFloatUnary(const char* op) {
  if (strcmp(op, "Exp") == 0) return &UnaryLoopOf<T, Exp>;
  if (strcmp(op, "Log") == 0) return &UnaryLoopOf<T, Log>;
  if (strcmp(op, "Tanh") == 0) return &UnaryLoopOf<T, Tanh>;
  if (strcmp(op, "Sigmoid") == 0) return &UnaryLoopOf<T, Sigmoid>;
  if (strcmp(op, "Sqrt") == 0) return &UnaryLoopOf<T, Sqrt>;
  if (strcmp(op, "Square") == 0) return &UnaryLoopOf<T, Square>;
  if (strcmp(op, "Neg") == 0) return &UnaryLoopOf<T, Neg>;
  if (strcmp(op, "Reciprocal") == 0) return &UnaryLoopOf<T, Reciprocal>;
  if (strcmp(op, "Sin") == 0) return &UnaryLoopOf<T, Sin>;
  if (strcmp(op, "Cos") == 0) return &UnaryLoopOf<T, Cos>;
  return nullptr;
}

UnaryLoop FindUnary(const char* op, LoopType type) {
  if (type == LoopType::kFloat) return FindFloatUnary<float>(op);
  if (type == LoopType::kDouble) return FindFloatUnary<double>(op);
  return nullptr;
}

}  // namespace

ElementwiseFunctions Elementwise() { return {&FindBinary, &FindUnary}; }

}  // namespace weft::WEFT_ISA
