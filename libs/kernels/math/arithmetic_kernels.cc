// Add, Sub, Mul, Maximum, Minimum, SquaredDifference, the gradients of unary
// ops that are binary arithmetic, and _MulInTurn.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/math/broadcast.h"
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
      // As in TensorFlow: the difference times its conjugate.
      return (x - y) * std::conj(x - y);
    } else {
      const T difference = SubOp::Apply(x, y);
      return MulOp::Apply(difference, difference);
    }
  }
};

// TensorFlow conjugates inside the ops of square roots and reciprocals, but
// outside those of Tanh and Sigmoid.
template <typename T>
T Conjugate(T x) {
  if constexpr (math::kIsComplex<T>) return std::conj(x);
  return x;
}

// y is the op's output, dy the incoming gradient.
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
// The result is 0 for a zero gradient, whatever y is.
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

// `name` is that of the loop in elementwise_isa.cc.
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

// The op of old graphs supports no unsigned integers except uint8, and that of
// squared differences only int32 and int64.
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

// Passes substitute this op for the gradient of a sum
// (libs/passes/scaling_fusion.h). Results are bitwise equal to those of the
// replaced nodes.
class MulInTurnKernel : public OpKernel {
 public:
  MulInTurnKernel(const OpKernelConstruction& construction, BinaryLoop loop,
                  int64_t element_size)
      : OpKernel(construction),
        loop_(loop),
        size_(element_size),
        shape_first_(
            construction.GetAttr<bool>("shape_first").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(Factors factors, FactorsOf(context));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     ShapeFromDims(context.input(context.num_inputs() - 1)));
    if (x.shape() == shape) {
      ASSIGN_OR_RETURN(Tensor * out, context.ForwardOrAllocate({0}, 0, shape));
      Scale(context, x, factors, *out);
      return absl::OkStatus();
    }
    return ScaleAndSpread(context, x, std::move(factors), shape);
  }

 private:
  // The address of each factor.
  using Factors = absl::InlinedVector<const void*, 4>;

  static absl::StatusOr<Factors> FactorsOf(const OpKernelContext& context) {
    Factors factors;
    for (int i = 1; i + 1 < context.num_inputs(); ++i) {
      const Tensor& factor = context.input(i);
      if (factor.num_elements() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("factors[", i - 1, "] has ", factor.num_elements(),
                         " elements and not one"));
      }
      factors.push_back(factor.data());
    }
    return factors;
  }

  // In blocks that stay in the first-level cache from factor to factor.
  void Scale(OpKernelContext& context, const Tensor& x, const Factors& factors,
             Tensor& out) const {
    constexpr int64_t kBlock = 2048;
    const char* const from = static_cast<const char*>(x.data());
    char* const to = static_cast<char*>(out.mutable_data());
    const auto range = [&](int64_t begin, int64_t end) {
      for (; begin < end; begin += kBlock) {
        const int64_t n = std::min(kBlock, end - begin);
        const void* in = from + begin * size_;
        for (const void* factor : factors) {
          loop_(in, 1, factor, 0, to + begin * size_, n);
          in = to + begin * size_;
        }
      }
    };
    ParallelLoop(context, x.num_elements(), 1, std::ref(range));
  }

  // For a tensor whose shape differs from that of the repeated last factor, and
  // broadcasts with it.
  absl::Status ScaleAndSpread(OpKernelContext& context, const Tensor& x,
                              Factors factors, const TensorShape& shape) const {
    ASSIGN_OR_RETURN(const Broadcast broadcast,
                     shape_first_ ? Broadcast::Of(shape, x.shape())
                                  : Broadcast::Of(x.shape(), shape));
    const void* const last = factors.back();
    factors.pop_back();
    Tensor scaled = x;
    if (!factors.empty()) {
      ASSIGN_OR_RETURN(scaled, context.AllocateTemp(x.dtype(), x.shape()));
      Scale(context, x, factors, scaled);
    }
    ASSIGN_OR_RETURN(Tensor * out,
                     context.AllocateOutput(0, broadcast.shape()));
    const char* const from = static_cast<const char*>(scaled.data());
    char* const to = static_cast<char*>(out->mutable_data());
    const int operand = shape_first_ ? 1 : 0;
    const int64_t size = broadcast.row_size();
    const auto rows = [&](int64_t begin, int64_t end) {
      broadcast.ForEachRow(
          begin, end, [&](int64_t row, const Broadcast::Offsets& offsets) {
            loop_(from + offsets[operand] * size_, broadcast.step(operand),
                  last, 0, to + row * size * size_, size);
          });
    };
    if (out->num_elements() > 0) {
      ParallelLoop(context, broadcast.rows(), size, std::ref(rows));
    }
    return absl::OkStatus();
  }

  const BinaryLoop loop_;
  const int64_t size_;  // of an element, in bytes
  const bool shape_first_;
};

template <typename T>
void RegisterMulInTurn(KernelRegistry& registry) {
  const DataType type = DataTypeOf<T>::value;
  const BinaryLoop loop =
      BestBinaryLoop("Mul", type, &math::BinaryLoopOf<T, T, math::MulOp>);
  registry.Register({.op = "_MulInTurn", .types = {{"T", {type}}}},
                    [loop](const OpKernelConstruction& construction)
                        -> absl::StatusOr<std::unique_ptr<OpKernel>> {
                      return std::make_unique<MulInTurnKernel>(
                          construction, loop, static_cast<int64_t>(sizeof(T)));
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
  math::Floats::ForEach([&]<typename T>() { RegisterMulInTurn<T>(registry); });
  Register<std::string, AddOp>(registry, "Add", "");
}

}  // namespace weft
