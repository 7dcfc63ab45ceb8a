// Comparisons (Equal, NotEqual, Less, ...), LogicalAnd, LogicalOr,
// ApproximateEqual.
#include <cmath>
#include <type_traits>

#include "libs/base/status.h"
#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"

namespace weft {
namespace {

// half and bfloat16 are compared as float.
#define WEFT_COMPARISON(NAME, OPERATOR)         \
  struct NAME##Op {                             \
    template <typename T>                       \
    static bool Apply(const T& x, const T& y) { \
      return x OPERATOR y;                      \
    }                                           \
  }
WEFT_COMPARISON(Equal, ==);
WEFT_COMPARISON(NotEqual, !=);
WEFT_COMPARISON(Less, <);
WEFT_COMPARISON(LessEqual, <=);
WEFT_COMPARISON(Greater, >);
WEFT_COMPARISON(GreaterEqual, >=);
WEFT_COMPARISON(LogicalAnd, &&);
WEFT_COMPARISON(LogicalOr, ||);
#undef WEFT_COMPARISON

template <typename T, typename Op>
void Register(KernelRegistry& registry, const char* op,
              const char* type_attr = "T") {
  BinaryKernelSpec spec{op, type_attr};
  spec.in = DataTypeOf<T>::value;
  spec.out = DT_BOOL;
  spec.loop = &math::BinaryLoopOf<T, bool, Op>;
  RegisterBinaryKernel(registry, std::move(spec));
}

template <typename List>
void RegisterEquality(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    Register<T, EqualOp>(registry, "Equal");
    Register<T, NotEqualOp>(registry, "NotEqual");
  });
}

template <typename List>
void RegisterOrder(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    Register<T, LessOp>(registry, "Less");
    Register<T, LessEqualOp>(registry, "LessEqual");
    Register<T, GreaterOp>(registry, "Greater");
    Register<T, GreaterEqualOp>(registry, "GreaterEqual");
  });
}

template <typename T>
class ApproximateEqual : public OpKernel {
 public:
  ApproximateEqual(const OpKernelConstruction& construction, float tolerance)
      : OpKernel(construction), tolerance_(tolerance) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& y = context.input(1);
    if (x.shape() != y.shape()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "x and y must be of the same shape. x shape: ", x.shape().ToString(),
          ". y shape: ", y.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, x.shape()));
    const absl::Span<bool> near = out->mutable_flat<bool>();
    for (size_t i = 0; i < near.size(); ++i) {
      near[i] = IsNear(x.flat<T>()[i], y.flat<T>()[i]);
    }
    return absl::OkStatus();
  }

 private:
  bool IsNear(T x, T y) const {
    if constexpr (math::kIsComplex<T>) {
      return std::abs(x - y) <= tolerance_;
    } else if constexpr (math::kIsInteger<T>) {
      // The difference of two extreme values overflows the signed type, but not
      // the unsigned one. Small types are promoted to int, and converted back.
      using Unsigned = std::make_unsigned_t<T>;
      const auto a = static_cast<Unsigned>(x), b = static_cast<Unsigned>(y);
      const auto difference = static_cast<Unsigned>(x < y ? b - a : a - b);
      return static_cast<double>(difference) <= tolerance_;
    } else {
      const math::Real<T> difference = x - y;
      return std::fabs(difference) <= tolerance_;
    }
  }

  const float tolerance_;
};

template <typename List>
void RegisterApproximate(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    registry.Register(
        KernelDef{"ApproximateEqual", "CPU", {{"T", {DataTypeOf<T>::value}}}},
        [](const OpKernelConstruction& construction)
            -> absl::StatusOr<std::unique_ptr<OpKernel>> {
          ASSIGN_OR_RETURN(float tolerance,
                           construction.GetAttr<float>("tolerance"));
          return std::make_unique<ApproximateEqual<T>>(construction, tolerance);
        });
  });
}

}  // namespace

void RegisterComparisonKernels(KernelRegistry& registry) {
  RegisterEquality<math::Floats>(registry);
  RegisterEquality<math::Integers>(registry);
  RegisterEquality<math::Complexes>(registry);
  RegisterEquality<math::Types<bool, std::string>>(registry);
  RegisterOrder<math::Floats>(registry);
  RegisterOrder<math::Integers>(registry);
  RegisterApproximate<math::Floats>(registry);
  RegisterApproximate<math::Integers>(registry);
  RegisterApproximate<math::Complexes>(registry);
  Register<bool, LogicalAndOp>(registry, "LogicalAnd", "");
  Register<bool, LogicalOrOp>(registry, "LogicalOr", "");
}

}  // namespace weft
