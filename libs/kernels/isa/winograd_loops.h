// The transforms of Winograd's convolutions for this processor.
#ifndef WEFT_LIBS_KERNELS_ISA_WINOGRAD_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_WINOGRAD_LOOPS_H_

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/winograd_isa.h"

namespace weft {

// The transforms for one instruction set, for tests. REQUIRES: the CPU supports
// it, and taps is 3 or 5.
inline WinogradTransforms WinogradTransformsFor(InstructionSet set,
                                                int64_t taps) {
  return ForInstructionSet(set, &v1::Winograd, &v3::Winograd,
                           &v4::Winograd)(taps);
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_WINOGRAD_LOOPS_H_
