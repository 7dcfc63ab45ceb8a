// Division and remainders. Integer division by zero is an error; the smallest
// integer divided by -1 wraps around, where the processor would trap.
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"

namespace weft {
namespace {

template <typename T>
bool IsMinusOne(T x) {
  if constexpr (std::is_signed_v<T>) return x == T(-1);
  return false;
}

struct IntegerDivision {
  template <typename T>
  static bool IsValid(T, T y) {
    return y != 0;
  }
};

struct TruncateDivOp : IntegerDivision {
  template <typename T>
  static T Apply(T x, T y) {
    if (y == 0) return 0;
    if (IsMinusOne(y)) return math::SubOp::Apply(T(0), x);
    return static_cast<T>(x / y);
  }
};

struct FloorDivOp : IntegerDivision {
  template <typename T>
  static T Apply(T x, T y) {
    if (y == 0) return 0;
    if (IsMinusOne(y)) return math::SubOp::Apply(T(0), x);
    const T quotient = static_cast<T>(x / y);
    const bool rounded_up = x % y != 0 && (x < 0) != (y < 0);
    return static_cast<T>(rounded_up ? quotient - 1 : quotient);
  }
};

struct TruncateModOp : IntegerDivision {
  template <typename T>
  static T Apply(T x, T y) {
    if (y == 0 || IsMinusOne(y)) return 0;
    return static_cast<T>(x % y);
  }
};

struct FloorModOp : IntegerDivision {
  template <typename T>
  static T Apply(T x, T y) {
    if (y == 0 || IsMinusOne(y)) return 0;
    const T remainder = static_cast<T>(x % y);
    const bool other_sign = remainder != 0 && (remainder < 0) != (y < 0);
    return static_cast<T>(other_sign ? remainder + y : remainder);
  }
};

// Divides many dividends by one divisor d > 1, with an exact multiplication:
// Granlund and Montgomery, "Division by Invariant Integers using
// Multiplication" (1994), theorem 4.2, for dividends below 2^63.
class Divisor {
 public:
  explicit Divisor(int64_t d) {
    const auto divisor = static_cast<uint64_t>(d);
    const int bits = std::bit_width(divisor - 1);  // 2^bits >= d
    shift_ = bits - 1;
    multiplier_ = static_cast<uint64_t>(
        ((static_cast<Wide128>(1) << (63 + bits)) / divisor) + 1);
  }

  // Rounds down, for dividends of either sign: for a negative one, it divides
  // the complement and returns the complement of the quotient.
  int64_t FloorOf(int64_t x) const {
    const int64_t sign = x >> 63;
    const auto size = static_cast<uint64_t>(x ^ sign);
    const auto quotient =
        static_cast<uint64_t>((static_cast<Wide128>(size) * multiplier_) >> 64);
    return static_cast<int64_t>(quotient >> shift_) ^ sign;
  }

 private:
  __extension__ using Wide128 = unsigned __int128;
  int shift_;
  uint64_t multiplier_;
};

// FloorDiv and FloorMod. A single divisor for all elements is prepared once, as
// for ids that are distributed over the parts of a table.
template <typename T, typename Op>
bool FloorLoopOf(const void* x_data, int64_t x_step, const void* y_data,
                 int64_t y_step, void* out_data, int64_t n) {
  // Without elements there is no memory to read.
  const bool is_one = n > 0 && y_step == 0;
  const T divisor = is_one ? *static_cast<const T*>(y_data) : T(0);
  if (divisor < 2) {
    return math::CheckedLoopOf<T, Op>(x_data, x_step, y_data, y_step, out_data,
                                      n);
  }
  const T* const x = static_cast<const T*>(x_data);
  T* const out = static_cast<T*>(out_data);
  const Divisor by(divisor);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t dividend = x[i * x_step];
    const int64_t quotient = by.FloorOf(dividend);
    if constexpr (std::is_same_v<Op, FloorDivOp>) {
      out[i] = static_cast<T>(quotient);
    } else {
      // The product may be below the smallest number.
      const uint64_t product =
          static_cast<uint64_t>(quotient) * static_cast<uint64_t>(divisor);
      out[i] = static_cast<T>(static_cast<uint64_t>(dividend) - product);
    }
  }
  return true;
}

// For real (and complex) numbers, zero is not an error.
struct RealDivOp {
  template <typename T>
  static T Apply(T x, T y) {
    return math::WithReal(x, y, [](auto a, auto b) { return a / b; });
  }
};
// The quotient is a T before it is rounded to an integer.
struct RealFloorDivOp {
  template <typename T>
  static T Apply(T x, T y) {
    const math::Real<T> quotient = RealDivOp::Apply(x, y);
    return static_cast<T>(std::floor(quotient));
  }
};
struct RealTruncateDivOp {
  template <typename T>
  static T Apply(T x, T y) {
    const math::Real<T> quotient = RealDivOp::Apply(x, y);
    return static_cast<T>(std::trunc(quotient));
  }
};
struct RealTruncateModOp {
  template <typename T>
  static T Apply(T x, T y) {
    return math::WithReal(x, y, [](auto a, auto b) { return std::fmod(a, b); });
  }
};
struct RealFloorModOp {
  template <typename T>
  static T Apply(T x, T y) {
    return math::WithReal(x, y, [](auto a, auto b) {
      const auto remainder = std::fmod(a, b);
      const bool other_sign = remainder != 0 && (remainder < 0) != (b < 0);
      return other_sign ? remainder + b : remainder;
    });
  }
};
struct DivNoNanOp {
  template <typename T>
  static T Apply(T x, T y) {
    return math::WithReal(x, y, [](auto a, auto b) {
      using R = decltype(a);
      return b == R(0) ? R(0) : a / b;
    });
  }
};
struct XdivyOp {
  template <typename T>
  static T Apply(T x, T y) {
    return math::WithReal(x, y, [](auto a, auto b) {
      using R = decltype(a);
      return a == R(0) ? R(0) : a / b;
    });
  }
};

void Register(KernelRegistry& registry, absl::string_view op, DataType type,
              BinaryLoop loop, LoopCost cost = LoopCost::kLight) {
  BinaryKernelSpec spec{std::string(op)};
  spec.in = spec.out = type;
  spec.loop = loop;
  spec.cost = cost;
  RegisterBinaryKernel(registry, std::move(spec));
}

void RegisterIntegers(KernelRegistry& registry) {
  math::Integers::ForEach([&]<typename T>() {
    using math::CheckedLoopOf;
    const DataType type = DataTypeOf<T>::value;
    Register(registry, "Div", type, &CheckedLoopOf<T, TruncateDivOp>);
    Register(registry, "TruncateDiv", type, &CheckedLoopOf<T, TruncateDivOp>);
    if constexpr (std::is_same_v<T, int32_t> || std::is_same_v<T, int64_t>) {
      Register(registry, "FloorDiv", type, &FloorLoopOf<T, FloorDivOp>);
      Register(registry, "FloorMod", type, &FloorLoopOf<T, FloorModOp>);
      Register(registry, "Mod", type, &CheckedLoopOf<T, TruncateModOp>);
      Register(registry, "TruncateMod", type, &CheckedLoopOf<T, TruncateModOp>);
    } else {
      Register(registry, "FloorDiv", type, &CheckedLoopOf<T, FloorDivOp>);
      Register(registry, "FloorMod", type, &CheckedLoopOf<T, FloorModOp>);
    }
  });
}

// Registrations common to floats and complex numbers.
template <typename List>
void RegisterFields(KernelRegistry& registry) {
  List::ForEach([&]<typename T>() {
    using math::BinaryLoopOf;
    const DataType type = DataTypeOf<T>::value;
    const BinaryLoop div =
        BestBinaryLoop("Div", type, &BinaryLoopOf<T, T, RealDivOp>);
    Register(registry, "Div", type, div);
    Register(registry, "RealDiv", type, div);
    Register(registry, "DivNoNan", type, &BinaryLoopOf<T, T, DivNoNanOp>);
    Register(registry, "Xdivy", type, &BinaryLoopOf<T, T, XdivyOp>);
  });
}

void RegisterFloats(KernelRegistry& registry) {
  math::Floats::ForEach([&]<typename T>() {
    using math::BinaryLoopOf;
    const DataType type = DataTypeOf<T>::value;
    const BinaryLoop remainder = &BinaryLoopOf<T, T, RealTruncateModOp>;
    Register(registry, "FloorDiv", type, &BinaryLoopOf<T, T, RealFloorDivOp>);
    Register(registry, "TruncateDiv", type,
             &BinaryLoopOf<T, T, RealTruncateDivOp>);
    Register(registry, "FloorMod", type, &BinaryLoopOf<T, T, RealFloorModOp>,
             LoopCost::kHeavy);
    Register(registry, "Mod", type, remainder, LoopCost::kHeavy);
    Register(registry, "TruncateMod", type, remainder, LoopCost::kHeavy);
  });
}

}  // namespace

void RegisterDivisionKernels(KernelRegistry& registry) {
  RegisterIntegers(registry);
  RegisterFields<math::Floats>(registry);
  RegisterFields<math::Complexes>(registry);
  RegisterFloats(registry);
}

}  // namespace weft
