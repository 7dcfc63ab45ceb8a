// Conversion of half and bfloat16 numbers to floats and back with this CPU's
// best instructions, and loops over floats applied to such numbers.
#ifndef WEFT_LIBS_KERNELS_ISA_NARROW_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_NARROW_LOOPS_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/narrow_isa.h"

namespace weft {

// Returns the loops for one instruction set, for tests. REQUIRES: the CPU
// supports `set`.
template <typename T>
NarrowLoops<T> NarrowLoopsFor(InstructionSet set) {
  using Fill = void (*)(NarrowLoops<T>*);
  NarrowLoops<T> loops;
  ForInstructionSet<Fill>(set, &v1::FillNarrowLoops, &v3::FillNarrowLoops,
                          &v4::FillNarrowLoops)(&loops);
  return loops;
}

template <typename T>
inline constexpr bool kHasNarrowLoops =
    std::is_same_v<T, half> || std::is_same_v<T, bfloat16>;

// Returns the loops for the best instruction set of this CPU. Thread-safe.
// REQUIRES: kHasNarrowLoops<T>.
template <typename T>
const NarrowLoops<T>& BestNarrowLoops() {
  static const NarrowLoops<T> loops = NarrowLoopsFor<T>(BestInstructionSet());
  return loops;
}

// This many floats fit into the first-level cache.
inline constexpr int64_t kNarrowBlock = 512;

// Calls the float loop `loop(x, out, count)` for blocks of all `n` numbers.
// `out` may be `x`.
template <typename T, typename Loop>
void InFloats(const T* x, T* out, int64_t n, const Loop& loop) {
  const NarrowLoops<T>& loops = BestNarrowLoops<T>();
  float wide[kNarrowBlock];
  for (int64_t i = 0; i < n; i += kNarrowBlock) {
    const int64_t count = std::min(kNarrowBlock, n - i);
    loops.widen(x + i, wide, count);
    loop(wide, wide, count);
    loops.narrow(wide, out + i, count);
  }
}

// Like the above for two operands: `loop(x, y, out, count)`.
template <typename T, typename Loop>
void InFloats(const T* x, const T* y, T* out, int64_t n, const Loop& loop) {
  const NarrowLoops<T>& loops = BestNarrowLoops<T>();
  float left[kNarrowBlock], right[kNarrowBlock];
  for (int64_t i = 0; i < n; i += kNarrowBlock) {
    const int64_t count = std::min(kNarrowBlock, n - i);
    loops.widen(x + i, left, count);
    loops.widen(y + i, right, count);
    loop(left, right, left, count);
    loops.narrow(left, out + i, count);
  }
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_NARROW_LOOPS_H_
