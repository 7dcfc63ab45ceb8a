// The loops of convolutions for this processor.
#ifndef WEFT_LIBS_KERNELS_ISA_CONV_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_CONV_LOOPS_H_

#include "libs/kernels/isa/conv_isa.h"
#include "libs/kernels/isa/instruction_set.h"

namespace weft {

// Returns the loops for one instruction set. REQUIRES: the CPU supports `set`.
inline ConvLoops ConvLoopsFor(InstructionSet set) {
  return ForInstructionSet(set, &v1::Conv, &v3::Conv, &v4::Conv)();
}

// Returns the loops for the best instruction set of this CPU. Thread-safe.
inline const ConvLoops& BestConvLoops() {
  static const ConvLoops loops = ConvLoopsFor(BestInstructionSet());
  return loops;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_CONV_LOOPS_H_
