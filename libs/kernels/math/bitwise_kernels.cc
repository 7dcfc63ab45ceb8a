// Bitwise ops on integers: BitwiseAnd, BitwiseOr, BitwiseXor, Invert, shifts
// and PopulationCount.
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/math_scalar.h"

namespace weft {
namespace {

struct BitwiseAndOp {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x & y);
  }
};
struct BitwiseOrOp {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x | y);
  }
};
struct BitwiseXorOp {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x ^ y);
  }
};

// The number of bits to shift a T by, clamped to [0, bits - 1].
template <typename T>
int ShiftOf(T y) {
  constexpr int kMost =
      std::numeric_limits<std::make_unsigned_t<T>>::digits - 1;
  if (y < 0) return 0;
  return y > static_cast<T>(kMost) ? kMost : static_cast<int>(y);
}

struct LeftShiftOp {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(x)
                          << ShiftOf(y));
  }
};
// Shifts in copies of the sign.
struct RightShiftOp {
  template <typename T>
  static T Apply(T x, T y) {
    return static_cast<T>(x >> ShiftOf(y));
  }
};

struct InvertOp {
  template <typename T>
  static T Apply(T x) {
    return static_cast<T>(~x);
  }
};
struct PopulationCountOp {
  template <typename T>
  static uint8_t Apply(T x) {
    return static_cast<uint8_t>(
        std::popcount(static_cast<std::make_unsigned_t<T>>(x)));
  }
};

template <typename T, typename Op>
void RegisterBitsOfTwo(KernelRegistry& registry, const char* op) {
  BinaryKernelSpec spec{op};
  spec.in = spec.out = DataTypeOf<T>::value;
  spec.loop = &math::BinaryLoopOf<T, T, Op>;
  RegisterBinaryKernel(registry, std::move(spec));
}

template <typename T, typename Op, typename Out>
void RegisterBitsOfOne(KernelRegistry& registry, const char* op) {
  UnaryKernelSpec spec{op};
  spec.in = DataTypeOf<T>::value;
  spec.out = DataTypeOf<Out>::value;
  spec.loop = &math::UnaryLoopOf<T, Out, Op>;
  RegisterUnaryKernel(registry, std::move(spec));
}

}  // namespace

void RegisterBitwiseKernels(KernelRegistry& registry) {
  math::Integers::ForEach([&]<typename T>() {
    RegisterBitsOfTwo<T, BitwiseAndOp>(registry, "BitwiseAnd");
    RegisterBitsOfTwo<T, BitwiseOrOp>(registry, "BitwiseOr");
    RegisterBitsOfTwo<T, BitwiseXorOp>(registry, "BitwiseXor");
    RegisterBitsOfTwo<T, LeftShiftOp>(registry, "LeftShift");
    RegisterBitsOfTwo<T, RightShiftOp>(registry, "RightShift");
    RegisterBitsOfOne<T, InvertOp, T>(registry, "Invert");
    RegisterBitsOfOne<T, PopulationCountOp, uint8_t>(registry,
                                                     "PopulationCount");
  });
}

}  // namespace weft
