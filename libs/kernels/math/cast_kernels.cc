// Cast between all numeric types. Floats out of an integer's range, which C++
// leaves undefined, give the result of x86: the smallest integer.
#include <cmath>
#include <cstring>
#include <limits>

#include "libs/base/status.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"
#include "libs/kernels/math/operand_checks.h"

namespace weft {
namespace {

template <typename To>
To FloatToInteger(double x) {
  using Wide = std::conditional_t<(sizeof(To) < 4 || std::is_same_v<To, int>),
                                  int32_t, int64_t>;
  if constexpr (std::is_same_v<To, uint64_t>) {
    if (x >= 9223372036854775808.0 && x < 18446744073709551616.0) {
      return static_cast<uint64_t>(x);
    }
  }
  // The smallest integer is a power of two, so it is exact as a double.
  constexpr double kLowest =
      static_cast<double>(std::numeric_limits<Wide>::lowest());
  const bool fits = x > kLowest - 1 && x < -kLowest;
  const Wide wide =
      fits ? static_cast<Wide>(x) : std::numeric_limits<Wide>::lowest();
  return static_cast<To>(wide);
}

template <typename From, typename To>
To CastElement(const From& x) {
  if constexpr (std::is_same_v<From, To>) {
    return x;
  } else if constexpr (math::kIsComplex<From>) {
    if constexpr (math::kIsComplex<To>) {
      return static_cast<To>(x);
    } else if constexpr (std::is_same_v<To, bool>) {
      return x != From(0);
    } else {
      return CastElement<typename From::value_type, To>(x.real());
    }
  } else if constexpr (math::kIsComplex<To>) {
    return To(CastElement<From, typename To::value_type>(x));
  } else {
    const math::Real<From> value = x;
    if constexpr (std::is_same_v<To, bool>) {
      return value != math::Real<From>(0);
    } else if constexpr (math::kIsSmallFloat<To>) {
      return To(static_cast<float>(value));
    } else if constexpr (math::kIsInteger<To> &&
                         std::is_floating_point_v<math::Real<From>>) {
      return FloatToInteger<To>(value);
    } else {
      return static_cast<To>(value);
    }
  }
}

template <typename From, typename To>
void CastLoop(const void* x_data, void* out_data, int64_t n) {
  const From* x = static_cast<const From*>(x_data);
  To* out = static_cast<To*>(out_data);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) out[i] = CastElement<From, To>(x[i]);
}

// Between floats and half or bfloat16, with this CPU's best instructions.
template <typename T>
void WidenLoop(const void* x, void* out, int64_t n) {
  BestNarrowLoops<T>().widen(static_cast<const T*>(x), static_cast<float*>(out),
                             n);
}
template <typename T>
void NarrowLoop(const void* x, void* out, int64_t n) {
  BestNarrowLoops<T>().narrow(static_cast<const float*>(x),
                              static_cast<T*>(out), n);
}

template <typename From, typename To>
constexpr UnaryLoop LoopBetween() {
  if constexpr (std::is_same_v<To, float> && kHasNarrowLoops<From>) {
    return &WidenLoop<From>;
  } else if constexpr (std::is_same_v<From, float> && kHasNarrowLoops<To>) {
    return &NarrowLoop<To>;
  } else {
    return &CastLoop<From, To>;
  }
}

using Numbers =
    math::Types<float, double, half, bfloat16, int8_t, uint8_t, int16_t,
                uint16_t, int32_t, uint32_t, int64_t, uint64_t, bool,
                std::complex<float>, std::complex<double>>;

UnaryLoop FindCast(DataType from, DataType to) {
  UnaryLoop found = nullptr;
  Numbers::ForEach([&]<typename From>() {
    if (DataTypeOf<From>::value != from) return;
    Numbers::ForEach([&]<typename To>() {
      if (DataTypeOf<To>::value == to) found = LoopBetween<From, To>();
    });
  });
  return found;
}

template <typename Bits>
void ClearLowBits(const Tensor& from, Tensor& to, int bits) {
  const Bits mask = static_cast<Bits>(~Bits{0}) << bits;
  const char* in = static_cast<const char*>(from.data());
  char* out = static_cast<char*>(to.mutable_data());
  for (int64_t i = 0; i < from.num_elements(); ++i) {
    Bits element;
    std::memcpy(&element, in + i * sizeof(Bits), sizeof(Bits));
    element &= mask;
    std::memcpy(out + i * sizeof(Bits), &element, sizeof(Bits));
  }
}

class CastKernel : public OpKernel {
 public:
  CastKernel(const OpKernelConstruction& construction, UnaryLoop loop,
             int lost_bits)
      : OpKernel(construction), loop_(loop), lost_bits_(lost_bits) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    if (x.dtype() == context.output_type(0)) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    if (lost_bits_ > 0) return ComputeTruncated(context);
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    RunUnaryLoop(context.scheduler(), loop_, LoopCost::kLight, x, *out);
    return absl::OkStatus();
  }

 private:
  absl::Status ComputeTruncated(OpKernelContext& context) {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(Tensor exact, context.AllocateTemp(x.dtype(), x.shape()));
    if (x.dtype() == DT_DOUBLE) {
      ClearLowBits<uint64_t>(x, exact, lost_bits_);
    } else {
      ClearLowBits<uint32_t>(x, exact, lost_bits_);
    }
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, x.shape()));
    RunUnaryLoop(context.scheduler(), loop_, LoopCost::kLight, exact, *out);
    return absl::OkStatus();
  }

  const UnaryLoop loop_;
  const int lost_bits_;
};

absl::StatusOr<std::unique_ptr<OpKernel>> MakeCast(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(DataType from, construction.GetAttr<DataType>("SrcT"));
  ASSIGN_OR_RETURN(DataType to, construction.GetAttr<DataType>("DstT"));
  ASSIGN_OR_RETURN(bool truncate, construction.GetAttr<bool>("Truncate"));
  UnaryLoop loop = FindCast(from, to);
  if (loop == nullptr && from != to) {
    return absl::UnimplementedError(absl::StrCat("Cast ", DataTypeName(from),
                                                 " to ", DataTypeName(to),
                                                 " is not supported"));
  }
  return std::make_unique<CastKernel>(construction, loop,
                                      truncate ? LostBits(from, to) : 0);
}

}  // namespace

void RegisterCastKernels(KernelRegistry& registry) {
  KernelDef def{"Cast"};
  def.is_cheap = true;
  registry.Register(std::move(def), MakeCast);
}

}  // namespace weft
