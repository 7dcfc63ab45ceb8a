// The loops of pools for this processor.
#ifndef WEFT_LIBS_KERNELS_ISA_POOL_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_POOL_LOOPS_H_

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/pool_isa.h"

namespace weft {

// Returns the loops for one instruction set, for tests. REQUIRES: the CPU
// supports `set`.
template <typename T>
PoolLoops<T> PoolLoopsFor(InstructionSet set) {
  using Fill = void (*)(PoolLoops<T>*);
  PoolLoops<T> loops;
  ForInstructionSet<Fill>(set, &v1::FillPoolLoops, &v3::FillPoolLoops,
                          &v4::FillPoolLoops)(&loops);
  return loops;
}

// Returns the loops for the best instruction set of this CPU. T is float or
// double. Thread-safe.
template <typename T>
const PoolLoops<T>& BestPoolLoops() {
  static const PoolLoops<T> loops = PoolLoopsFor<T>(BestInstructionSet());
  return loops;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_POOL_LOOPS_H_
