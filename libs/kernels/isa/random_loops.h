// Generation of many Philox samples with this CPU's best instructions.
#ifndef WEFT_LIBS_KERNELS_ISA_RANDOM_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_RANDOM_LOOPS_H_

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/random_isa.h"

namespace weft {

// Returns the function for one instruction set, for tests. REQUIRES: the CPU
// supports `set`.
inline PhiloxFill PhiloxFillFor(InstructionSet set) {
  return ForInstructionSet(set, &v1::FillPhilox, &v3::FillPhilox,
                           &v4::FillPhilox);
}

// Returns the function for the best instruction set of this CPU. Thread-safe.
inline PhiloxFill BestPhiloxFill() {
  static const PhiloxFill fill = PhiloxFillFor(BestInstructionSet());
  return fill;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_RANDOM_LOOPS_H_
