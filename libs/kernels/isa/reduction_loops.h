// The loops of reductions for this processor.
#ifndef WEFT_LIBS_KERNELS_ISA_REDUCTION_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_REDUCTION_LOOPS_H_

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/reduction_isa.h"

namespace weft {

// The loops for one instruction set, for tests. T is float or double. REQUIRES:
// the CPU supports it.
template <typename T>
ReductionLoops<T> ReductionLoopsFor(InstructionSet set, ReductionOp op) {
  using Fill = void (*)(ReductionOp, ReductionLoops<T>*);
  ReductionLoops<T> loops;
  ForInstructionSet<Fill>(set, &v1::FillReductionLoops, &v3::FillReductionLoops,
                          &v4::FillReductionLoops)(op, &loops);
  return loops;
}

// Returns the loops for the best instruction set of this CPU. Thread-safe.
template <typename T>
ReductionLoops<T> BestReductionLoops(ReductionOp op) {
  return ReductionLoopsFor<T>(BestInstructionSet(), op);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_REDUCTION_LOOPS_H_
