// Transposed matrices of four-byte elements, as this processor can best.
#ifndef WEFT_LIBS_KERNELS_ISA_TRANSPOSE_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_TRANSPOSE_LOOPS_H_

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/transpose_isa.h"

namespace weft {

// That of one set, for tests that compare them. REQUIRES: the processor has it.
inline TransposeWords TransposeWordsFor(InstructionSet set) {
  return ForInstructionSet<TransposeWords>(set, &v1::Transpose, &v3::Transpose,
                                           &v4::Transpose);
}

// Thread-safe.
inline TransposeWords BestTransposeWords() {
  static const TransposeWords best = TransposeWordsFor(BestInstructionSet());
  return best;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_TRANSPOSE_LOOPS_H_
