// The nn loops for this processor.
#ifndef WEFT_LIBS_KERNELS_ISA_NN_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_NN_LOOPS_H_

#include <type_traits>

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/nn_isa.h"

namespace weft {

// Returns the loops for one instruction set, for tests. REQUIRES: the CPU
// supports `set`.
template <typename T>
NnLoops<T> NnLoopsFor(InstructionSet set) {
  using Fill = void (*)(NnLoops<T>*);
  NnLoops<T> loops;
  ForInstructionSet<Fill>(set, &v1::FillNnLoops, &v3::FillNnLoops,
                          &v4::FillNnLoops)(&loops);
  return loops;
}

template <typename T>
inline constexpr bool kHasNnLoops =
    std::is_same_v<T, float> || std::is_same_v<T, double>;

// Returns the loops for the best instruction set of this CPU. Thread-safe.
// REQUIRES: kHasNnLoops<T>.
template <typename T>
const NnLoops<T>& BestNnLoops() {
  static const NnLoops<T> loops = NnLoopsFor<T>(BestInstructionSet());
  return loops;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_NN_LOOPS_H_
