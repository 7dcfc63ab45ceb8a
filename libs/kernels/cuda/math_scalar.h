// Elementwise ops on one element, for CPUs and GPUs. They agree with the
// definitions of the CPU kernels in libs/kernels/math and libs/kernels/nn.
#ifndef WEFT_LIBS_KERNELS_CUDA_MATH_SCALAR_H_
#define WEFT_LIBS_KERNELS_CUDA_MATH_SCALAR_H_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "libs/kernels/cuda/host_device.h"

namespace weft::cuda {

enum class BinaryOp {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kDivNoNan,
  kMaximum,
  kMinimum,
  kSquaredDifference,
  kPow,
  kAtan2,
  kXdivy,
  kFloorDiv,
  kFloorMod,
  // y is the op's output, dy the incoming gradient.
  kTanhGrad,
  kSigmoidGrad,
  kSqrtGrad,
  kRsqrtGrad,
  kReciprocalGrad,
  // The gradient comes first, then the features, or the activation for Elu and
  // Selu.
  kReluGrad,
  kRelu6Grad,
  kEluGrad,
  kSeluGrad,
  kSoftplusGrad,
  kSoftsignGrad,
};

enum class Comparison {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kAnd,
  kOr,
};

enum class UnaryOp {
  kNeg,
  kAbs,
  kSign,
  kSquare,
  kSqrt,
  kRsqrt,
  kReciprocal,
  kExp,
  kExpm1,
  kLog,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAtanh,
  kTanh,
  kSigmoid,
  kErf,
  kFloor,
  kCeil,
  kRint,
  kRelu,
  kRelu6,
  kElu,
  kSelu,
  kSoftplus,
  kSoftsign,
};

enum class Predicate { kIsNan, kIsInf, kIsFinite };

inline constexpr double kSeluScale = 1.0507009873554804934193349852946;
inline constexpr double kSeluScaledAlpha = 1.7580993408473768599402175208123;

// Integers wrap around.
template <typename T>
WEFT_HOST_DEVICE inline T Ring(BinaryOp op, T x, T y) {
  if constexpr (std::is_integral_v<T>) {
    const auto a = static_cast<uint64_t>(x);
    const auto b = static_cast<uint64_t>(y);
    return static_cast<T>(op == BinaryOp::kAdd   ? a + b
                          : op == BinaryOp::kSub ? a - b
                                                 : a * b);
  } else {
    return op == BinaryOp::kAdd ? x + y : op == BinaryOp::kSub ? x - y : x * y;
  }
}

// Floating-point ops that rings lack. T is float or double.
template <typename T>
WEFT_HOST_DEVICE inline T ApplyToFloats(BinaryOp op, T x, T y) {
  switch (op) {
    case BinaryOp::kDiv:
      return x / y;
    case BinaryOp::kDivNoNan:
      return y == T(0) ? T(0) : x / y;
    case BinaryOp::kPow:
      return std::pow(x, y);
    case BinaryOp::kAtan2:
      return std::atan2(x, y);
    case BinaryOp::kXdivy:
      return x == T(0) ? T(0) : x / y;
    case BinaryOp::kFloorDiv:
      return std::floor(x / y);
    case BinaryOp::kFloorMod: {
      const T remainder = std::fmod(x, y);
      const bool other_sign =
          remainder != T(0) && (remainder < T(0)) != (y < T(0));
      return other_sign ? remainder + y : remainder;
    }
    case BinaryOp::kTanhGrad:
      return y * (T(1) - x * x);
    case BinaryOp::kSigmoidGrad:
      return y * x * (T(1) - x);
    case BinaryOp::kSqrtGrad:
      return y == T(0) ? T(0) : T(0.5f) * y / x;
    case BinaryOp::kRsqrtGrad:
      return y == T(0) ? T(0) : T(-0.5f) * (y * x) * (x * x);
    case BinaryOp::kReciprocalGrad:
      return y == T(0) ? T(0) : -y * (x * x);
    // A product: infinity and NaN give NaN.
    case BinaryOp::kReluGrad:
      return x * T(y > T(0));
    case BinaryOp::kRelu6Grad:
      return x * T(y > T(0) && y < T(6));
    case BinaryOp::kEluGrad:
      return y < T(0) ? x * (y + T(1)) : x;
    case BinaryOp::kSeluGrad:
      return y < T(0) ? x * (y + T(kSeluScaledAlpha)) : x * T(kSeluScale);
    case BinaryOp::kSoftplusGrad:
      return x / (std::exp(-y) + T(1));
    case BinaryOp::kSoftsignGrad: {
      const T base = T(1) + std::fabs(y);
      return x / (base * base);
    }
    default:
      return T(0);
  }
}

// Integers support ring and ordering ops only.
template <typename T>
WEFT_HOST_DEVICE inline T Apply(BinaryOp op, T x, T y) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
      return Ring(op, x, y);
    // NaN in either operand gives NaN.
    case BinaryOp::kMaximum:
      return (x > y || x != x) ? x : y;
    case BinaryOp::kMinimum:
      return (x < y || x != x) ? x : y;
    case BinaryOp::kSquaredDifference: {
      const T difference = Ring(BinaryOp::kSub, x, y);
      return Ring(BinaryOp::kMul, difference, difference);
    }
    default:
      if constexpr (std::is_floating_point_v<T>) {
        return ApplyToFloats(op, x, y);
      } else {
        return T(0);
      }
  }
}

template <typename T>
WEFT_HOST_DEVICE inline bool Apply(Comparison op, T x, T y) {
  switch (op) {
    case Comparison::kEqual:
      return x == y;
    case Comparison::kNotEqual:
      return x != y;
    case Comparison::kLess:
      return x < y;
    case Comparison::kLessEqual:
      return x <= y;
    case Comparison::kGreater:
      return x > y;
    case Comparison::kGreaterEqual:
      return x >= y;
    case Comparison::kAnd:
      return x != T(0) && y != T(0);
    default:
      return x != T(0) || y != T(0);
  }
}

// Beyond the threshold, log(1 + exp(x)) equals x, or exp(x), to full precision.
template <typename T>
WEFT_HOST_DEVICE inline T Softplus(T x) {
  const T threshold = sizeof(T) == 8 ? T(-34.04365338911715) : T(-13.942385);
  if (x > -threshold) return x;
  if (x < threshold) return std::exp(x);
  return std::log1p(std::exp(x));
}

template <typename T>
WEFT_HOST_DEVICE inline bool Apply(Predicate op, T x) {
  // Infinity minus itself is NaN.
  const bool is_finite = x - x == T(0);
  if (op == Predicate::kIsFinite) return is_finite;
  return op == Predicate::kIsNan ? x != x : x == x && !is_finite;
}

// Integers support only these.
template <typename T>
WEFT_HOST_DEVICE inline T ApplyToInteger(UnaryOp op, T x) {
  switch (op) {
    case UnaryOp::kNeg:
      return Ring(BinaryOp::kSub, T(0), x);
    case UnaryOp::kAbs:
      return x < T(0) ? Ring(BinaryOp::kSub, T(0), x) : x;
    case UnaryOp::kSign:
      return static_cast<T>((x > T(0)) - (x < T(0)));
    case UnaryOp::kSquare:
      return Ring(BinaryOp::kMul, x, x);
    default:
      return T(0);
  }
}

// T is float or double.
template <typename T>
WEFT_HOST_DEVICE inline T ApplyToFloat(UnaryOp op, T x) {
  switch (op) {
    case UnaryOp::kNeg:
      return -x;
    case UnaryOp::kAbs:
      return std::fabs(x);
    case UnaryOp::kSign:
      return x != x ? x : T((x > T(0)) - (x < T(0)));
    case UnaryOp::kSquare:
      return x * x;
    case UnaryOp::kSqrt:
      return std::sqrt(x);
    case UnaryOp::kRsqrt:
      return T(1) / std::sqrt(x);
    case UnaryOp::kReciprocal:
      return T(1) / x;
    case UnaryOp::kExp:
      return std::exp(x);
    case UnaryOp::kExpm1:
      return std::expm1(x);
    case UnaryOp::kLog:
      return std::log(x);
    case UnaryOp::kLog1p:
      return std::log1p(x);
    case UnaryOp::kSin:
      return std::sin(x);
    case UnaryOp::kCos:
      return std::cos(x);
    case UnaryOp::kTan:
      return std::tan(x);
    case UnaryOp::kAsin:
      return std::asin(x);
    case UnaryOp::kAcos:
      return std::acos(x);
    case UnaryOp::kAtan:
      return std::atan(x);
    case UnaryOp::kSinh:
      return std::sinh(x);
    case UnaryOp::kCosh:
      return std::cosh(x);
    case UnaryOp::kAtanh:
      return std::atanh(x);
    case UnaryOp::kTanh:
      return std::tanh(x);
    case UnaryOp::kSigmoid:
      return T(1) / (T(1) + std::exp(-x));
    case UnaryOp::kErf:
      return std::erf(x);
    case UnaryOp::kFloor:
      return std::floor(x);
    case UnaryOp::kCeil:
      return std::ceil(x);
    case UnaryOp::kRint:
      return std::rint(x);
    case UnaryOp::kRelu:
      return x < T(0) ? T(0) : x;
    case UnaryOp::kRelu6:
      return x < T(0) ? T(0) : x > T(6) ? T(6) : x;
    case UnaryOp::kElu:
      return x < T(0) ? std::expm1(x) : x;
    case UnaryOp::kSelu:
      return x < T(0) ? T(kSeluScaledAlpha) * std::expm1(x) : T(kSeluScale) * x;
    case UnaryOp::kSoftsign:
      return x / (T(1) + std::fabs(x));
    default:
      return Softplus(x);
  }
}

template <typename T>
WEFT_HOST_DEVICE inline T Apply(UnaryOp op, T x) {
  if constexpr (std::is_integral_v<T>) {
    return ApplyToInteger(op, x);
  } else {
    return ApplyToFloat(op, x);
  }
}

// A float out of range becomes the smallest 4-byte or 8-byte integer, as on
// x86.
template <typename To>
WEFT_HOST_DEVICE inline To FloatToInteger(double x) {
  if constexpr (std::is_same_v<To, uint64_t>) {
    if (x >= 9223372036854775808.0 && x < 18446744073709551616.0) {
      return static_cast<uint64_t>(x);
    }
  }
  if constexpr (sizeof(To) < 4 || std::is_same_v<To, int32_t>) {
    const bool fits = x > -2147483649.0 && x < 2147483648.0;
    return static_cast<To>(fits ? static_cast<int32_t>(x) : INT32_MIN);
  } else {
    const bool fits = x >= -9223372036854775808.0 && x < 9223372036854775808.0;
    return static_cast<To>(fits ? static_cast<int64_t>(x) : INT64_MIN);
  }
}

// Between the types used for computation.
template <typename To, typename From>
WEFT_HOST_DEVICE inline To CastTo(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_integral_v<To> &&
                       std::is_floating_point_v<From>) {
    return FloatToInteger<To>(static_cast<double>(x));
  } else {
    return static_cast<To>(x);
  }
}

// A NaN bound is ignored, and a NaN value stays NaN.
template <typename T>
WEFT_HOST_DEVICE T Clipped(T x, T low, T high) {
  const T most = high < x ? high : x;
  return most < low ? low : most;
}

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_MATH_SCALAR_H_
