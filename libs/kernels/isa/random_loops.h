// Many samples of Philox at once, as this processor can best.
#ifndef WEFT_LIBS_KERNELS_ISA_RANDOM_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_RANDOM_LOOPS_H_

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/random_isa.h"

namespace weft {

// That of one set, for tests that compare them. REQUIRES: the processor has it.
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
