// The loops of batch normalization for this processor.
#ifndef WEFT_LIBS_KERNELS_ISA_BATCH_NORM_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_BATCH_NORM_LOOPS_H_

#include "libs/kernels/isa/batch_norm_isa.h"
#include "libs/kernels/isa/instruction_set.h"

namespace weft {

// Returns the loops for one instruction set, for tests. REQUIRES: the CPU
// supports `set`.
inline BatchNormLoops BatchNormLoopsFor(InstructionSet set) {
  using Fill = void (*)(BatchNormLoops*);
  BatchNormLoops loops;
  ForInstructionSet<Fill>(set, &v1::FillBatchNormLoops, &v3::FillBatchNormLoops,
                          &v4::FillBatchNormLoops)(&loops);
  return loops;
}

// Returns the loops for the best instruction set of this CPU. Thread-safe.
inline const BatchNormLoops& BestBatchNormLoops() {
  static const BatchNormLoops loops = BatchNormLoopsFor(BestInstructionSet());
  return loops;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_BATCH_NORM_LOOPS_H_
