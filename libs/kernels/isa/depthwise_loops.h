// The loops of depthwise convolutions for this processor.
#ifndef WEFT_LIBS_KERNELS_ISA_DEPTHWISE_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_DEPTHWISE_LOOPS_H_

#include "libs/kernels/isa/depthwise_isa.h"
#include "libs/kernels/isa/instruction_set.h"

namespace weft {

// Returns the loops for one instruction set, for tests. REQUIRES: the CPU
// supports `set`.
template <typename T>
DepthwiseLoops<T> DepthwiseLoopsFor(InstructionSet set) {
  using Fill = void (*)(DepthwiseLoops<T>*);
  DepthwiseLoops<T> loops;
  ForInstructionSet<Fill>(set, &v1::FillDepthwiseLoops, &v3::FillDepthwiseLoops,
                          &v4::FillDepthwiseLoops)(&loops);
  return loops;
}

// Returns the loops for the best instruction set of this CPU. T is float or
// double. Thread-safe.
template <typename T>
const DepthwiseLoops<T>& BestDepthwiseLoops() {
  static const DepthwiseLoops<T> loops =
      DepthwiseLoopsFor<T>(BestInstructionSet());
  return loops;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_DEPTHWISE_LOOPS_H_
