// Add, Sub, Mul, Maximum, Minimum, SquaredDifference, and the gradients of
// unary ops that are arithmetic on two operands.
#include <cstdint>
#include <string>
#include <type_traits>

#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"

namespace weft {
namespace {

using math::AddOp;
using math::MulOp;
using math::SubOp;

struct SquaredDifferenceOp {
  template <typename T>
  static T Apply(T x, T y) {
    if constexpr (math::kIsComplex<T>) {
      // TensorFlow: the difference times its conjugate.
      return (x - y) * std::conj(x - y);
    } else {
      const T difference = SubOp::Apply(x, y);
      return MulOp::Apply(difference, difference);
    }
  }
};

// TensorFlow conjugates in the ops of square roots and reciprocals, and outside
// those of Tanh and Sigmoid.
template <typename T>
T Conjugate(T x) {
  if constexpr (math::kIsComplex<T>) return std::conj(x);
  return x;
}

// y is what the op returned, dy the gradient that comes in.
struct TanhGradOp {
  template <typename T>
  static T Apply(T y, T dy) {
    return math::WithReal(y, dy, [](auto a, auto d) {
      using R = decltype(a);
      return d * (R(1) - a * a);
    });
  }
};
struct SigmoidGradOp {
  template <typename T>
  static T Apply(T y, T dy) {
    return math::WithReal(y, dy, [](auto a, auto d) {
      using R = decltype(a);
      return d * a * (R(1) - a);
    });
  }
};
// These stay 0 where no gradient comes in, whatever y is.
struct SqrtGradOp {
  template <typename T>
  static T Apply(T y, T dy) {
    return math::WithReal(y, dy, [](auto a, auto d) {
      using R = decltype(a);
      return d == R(0) ? R(0) : R(0.5f) * d / Conjugate(a);
    });
  }
};
struct RsqrtGradOp {
  template <typename T>
  static T Apply(T y, T dy) {
    return math::WithReal(y, dy, [](auto a, auto d) {
      using R = decltype(a);
      // In TensorFlow's order: the cube alone may be infinite.
      const R c = Conjugate(a);
      return d == R(0) ? R(0) : R(-0.5f) * (d * c) * (c * c);
    });
  }
};
struct ReciprocalGradOp {
  template <typename T>
  static T Apply(T y, T dy) {
    return math::WithReal(y, dy, [](auto a, auto d) {
      using R = decltype(a);
      return d == R(0) ? R(0) : -d * Conjugate(a * a);
    });
  }
};

// `name` is the loop's in elementwise_isa.cc.
template <typename T, typename Op>
void Register(KernelRegistry& registry, absl::string_view op,
              const char* name) {
  const DataType type = DataTypeOf<T>::value;
  BinaryKernelSpec spec{std::string(op)};
  spec.in = spec.out = type;
  spec.loop = BestBinaryLoop(name, type, &math::BinaryLoopOf<T, T, Op>);
  RegisterBinaryKernel(registry, std::move(spec));
}

template <typename T, typename... Ts>
constexpr bool kIsOneOf = (std::is_same_v<T, Ts> || ...);

// The op of old graphs has no unsigned integers but bytes, and that of squared
// differences no integers but those of 4 and 8 bytes, signed.
template <typename List>
void RegisterRing(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    Register<T, AddOp>(registry, "AddV2", "Add");
    if constexpr (!kIsOneOf<T, uint16_t, uint32_t, uint64_t>) {
      Register<T, AddOp>(registry, "Add", "Add");
    }
    Register<T, SubOp>(registry, "Sub", "Sub");
    Register<T, MulOp>(registry, "Mul", "Mul");
    if constexpr (!std::is_integral_v<T> || kIsOneOf<T, int32_t, int64_t>) {
      Register<T, SquaredDifferenceOp>(registry, "SquaredDifference",
                                       "SquaredDifference");
    }
  });
}

template <typename List>
void RegisterExtremes(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    Register<T, math::MaximumOp>(registry, "Maximum", "Maximum");
    Register<T, math::MinimumOp>(registry, "Minimum", "Minimum");
  });
}

template <typename List>
void RegisterGradients(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    Register<T, TanhGradOp>(registry, "TanhGrad", "TanhGrad");
    Register<T, SigmoidGradOp>(registry, "SigmoidGrad", "SigmoidGrad");
    Register<T, SqrtGradOp>(registry, "SqrtGrad", "SqrtGrad");
    Register<T, RsqrtGradOp>(registry, "RsqrtGrad", "RsqrtGrad");
    Register<T, ReciprocalGradOp>(registry, "ReciprocalGrad", "");
    Register<T, ReciprocalGradOp>(registry, "InvGrad", "");
  });
}

}  // namespace

void RegisterArithmeticKernels(KernelRegistry& registry) {
  RegisterRing<math::Floats>(registry);
  RegisterRing<math::Integers>(registry);
  RegisterRing<math::Complexes>(registry);
  RegisterExtremes<math::Floats>(registry);
  RegisterExtremes<math::Integers>(registry);
  RegisterGradients<math::Floats>(registry);
  RegisterGradients<math::Complexes>(registry);
  Register<std::string, AddOp>(registry, "Add", "");
}

}  // namespace weft
