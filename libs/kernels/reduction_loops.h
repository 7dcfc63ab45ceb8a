// The loops of reductions for this processor.
#ifndef WEFT_LIBS_KERNELS_REDUCTION_LOOPS_H_
#define WEFT_LIBS_KERNELS_REDUCTION_LOOPS_H_

#include "libs/kernels/instruction_set.h"
#include "libs/kernels/reduction_isa.h"

namespace weft {

// Those of one set, for tests that compare them. T is float or double.
// REQUIRES: the processor has it.
template <typename T>
ReductionLoops<T> ReductionLoopsFor(InstructionSet set, ReductionOp op) {
  ReductionLoops<T> loops;
  switch (set) {
    case InstructionSet::kV4:
      v4::FillReductionLoops(op, &loops);
      break;
    case InstructionSet::kV3:
      v3::FillReductionLoops(op, &loops);
      break;
    case InstructionSet::kV1:
      v1::FillReductionLoops(op, &loops);
      break;
  }
  return loops;
}

// Thread-safe.
template <typename T>
ReductionLoops<T> BestReductionLoops(ReductionOp op) {
  return ReductionLoopsFor<T>(BestInstructionSet(), op);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_REDUCTION_LOOPS_H_
