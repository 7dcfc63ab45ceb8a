// Generation of many Philox samples with this CPU's best instructions.
#ifndef WEFT_LIBS_KERNELS_ISA_RANDOM_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_RANDOM_LOOPS_H_

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/random_isa.h"

namespace weft {

// The function for one instruction set, for tests. REQUIRES: the CPU supports
// it.
inline PhiloxFill PhiloxFillFor(InstructionSet set) {
  return ForInstructionSet(set, &v1::FillPhilox, &v3::FillPhilox,
                           &v4::FillPhilox);
}

// Thread-safe.
inline PhiloxFill BestPhiloxFill() {
  static const PhiloxFill fill = PhiloxFillFor(BestInstructionSet());
  return fill;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_RANDOM_LOOPS_H_
