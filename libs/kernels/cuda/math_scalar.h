// What element-wise ops make of one element, for the processor and for GPUs;
// the CPU kernels' definitions are libs/kernels/math's and libs/kernels/nn's,
// which these agree with.
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
  // y is what the op returned, dy the gradient that comes in.
  kTanhGrad,
  kSigmoidGrad,
  kSqrtGrad,
  kRsqrtGrad,
  // The gradient first, then the features, or the activation of Elu.
  kReluGrad,
  kRelu6Grad,
  kEluGrad,
  kSoftplusGrad,
};

enum class Comparison {
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
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
  kTanh,
  kSigmoid,
  kErf,
  kFloor,
  kCeil,
  kRint,
  kRelu,
  kRelu6,
  kElu,
  kSoftplus,
};

// Integers wrap round.
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

// Of floats that no ring has. T is float or double.
template <typename T>
WEFT_HOST_DEVICE inline T ApplyToFloats(BinaryOp op, T x, T y) {
  switch (op) {
    case BinaryOp::kDiv:
      return x / y;
    case BinaryOp::kDivNoNan:
      return y == T(0) ? T(0) : x / y;
    case BinaryOp::kPow:
      return std::pow(x, y);
    case BinaryOp::kTanhGrad:
      return y * (T(1) - x * x);
    case BinaryOp::kSigmoidGrad:
      return y * x * (T(1) - x);
    case BinaryOp::kSqrtGrad:
      return y == T(0) ? T(0) : T(0.5f) * y / x;
    case BinaryOp::kRsqrtGrad:
      return y == T(0) ? T(0) : T(-0.5f) * (y * x) * (x * x);
    // A product: infinity and NaN come through as NaN.
    case BinaryOp::kReluGrad:
      return x * T(y > T(0));
    case BinaryOp::kRelu6Grad:
      return x * T(y > T(0) && y < T(6));
    case BinaryOp::kEluGrad:
      return y < T(0) ? x * (y + T(1)) : x;
    case BinaryOp::kSoftplusGrad:
      return x / (std::exp(-y) + T(1));
    default:
      return T(0);
  }
}

// Integers know rings and order only.
template <typename T>
WEFT_HOST_DEVICE inline T Apply(BinaryOp op, T x, T y) {
  switch (op) {
    case BinaryOp::kAdd:
    case BinaryOp::kSub:
    case BinaryOp::kMul:
      return Ring(op, x, y);
    // NaN in either operand is the result.
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
    default:
      return x >= y;
  }
}

// Beyond the threshold log(1 + exp(x)) is x, or exp(x), to all digits.
template <typename T>
WEFT_HOST_DEVICE inline T Softplus(T x) {
  const T threshold = sizeof(T) == 8 ? T(-34.04365338911715) : T(-13.942385);
  if (x > -threshold) return x;
  if (x < threshold) return std::exp(x);
  return std::log1p(std::exp(x));
}

// T is float or double.
template <typename T>
WEFT_HOST_DEVICE inline T Apply(UnaryOp op, T x) {
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
    default:
      return Softplus(x);
  }
}

}  // namespace weft::cuda

#endif  // WEFT_LIBS_KERNELS_CUDA_MATH_SCALAR_H_
