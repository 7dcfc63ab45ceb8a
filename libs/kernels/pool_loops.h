// The loops of pools for this processor.
#ifndef WEFT_LIBS_KERNELS_POOL_LOOPS_H_
#define WEFT_LIBS_KERNELS_POOL_LOOPS_H_

#include "libs/kernels/instruction_set.h"
#include "libs/kernels/pool_isa.h"

namespace weft {

// Those of one set, for tests that compare them. REQUIRES: the processor has
// it.
template <typename T>
PoolLoops<T> PoolLoopsFor(InstructionSet set) {
  PoolLoops<T> loops;
  switch (set) {
    case InstructionSet::kV4:
      v4::FillPoolLoops(&loops);
      break;
    case InstructionSet::kV3:
      v3::FillPoolLoops(&loops);
      break;
    case InstructionSet::kV1:
      v1::FillPoolLoops(&loops);
      break;
  }
  return loops;
}

// T is float or double. Thread-safe.
template <typename T>
const PoolLoops<T>& BestPoolLoops() {
  static const PoolLoops<T> loops = PoolLoopsFor<T>(BestInstructionSet());
  return loops;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_POOL_LOOPS_H_
