// The training loops for this processor.
#ifndef WEFT_LIBS_KERNELS_ISA_TRAINING_LOOPS_H_
#define WEFT_LIBS_KERNELS_ISA_TRAINING_LOOPS_H_

#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/training_isa.h"

namespace weft {

// Returns the loops for one instruction set, for tests. REQUIRES: the CPU
// supports `set`.
template <typename T>
TrainingLoops<T> TrainingLoopsFor(InstructionSet set) {
  using Fill = void (*)(TrainingLoops<T>*);
  TrainingLoops<T> loops;
  ForInstructionSet<Fill>(set, &v1::FillTrainingLoops, &v3::FillTrainingLoops,
                          &v4::FillTrainingLoops)(&loops);
  return loops;
}

// Returns the loops for the best instruction set of this CPU. T is float or
// double. Thread-safe.
template <typename T>
const TrainingLoops<T>& BestTrainingLoops() {
  static const TrainingLoops<T> loops =
      TrainingLoopsFor<T>(BestInstructionSet());
  return loops;
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_TRAINING_LOOPS_H_
