// Transposition of matrices of four-byte elements with this CPU's best
// instructions.
#ifndef WEFT_LIBS_KERNELS_ISA_TRANSPOSE_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_TRANSPOSE_LOOPS_H_

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/transpose_isa.h"

namespace weft {

// Returns the function for one instruction set, for tests. REQUIRES: the CPU
// supports `set`.
inline TransposeWords TransposeWordsFor(InstructionSet set) {
  return ForInstructionSet<TransposeWords>(set, &v1::Transpose, &v3::Transpose,
                                           &v4::Transpose);
}

// Returns the function for the best instruction set of this CPU. Thread-safe.
inline TransposeWords BestTransposeWords() {
  static const TransposeWords best = TransposeWordsFor(BestInstructionSet());
  return best;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_TRANSPOSE_LOOPS_H_
