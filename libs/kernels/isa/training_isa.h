// The steps of training_steps.h over arrays of floats and doubles, each in one
// pass over memory, compiled for each instruction set (weft::v1, v3, v4).
//
// Threads: pure functions on ranges of elements.
#ifndef WEFT_LIBS_KERNELS_ISA_TRAINING_ISA_H_
#define WEFT_LIBS_KERNELS_ISA_TRAINING_ISA_H_

#include <cstdint>

#include "libs/kernels/isa/per_instruction_set.h"
#include "libs/kernels/isa/training_steps.h"

namespace weft {

// Applies `step` to each of `n` elements of variables[0 .. Step::kVariables)
// and of the gradient. The arrays must not overlap.
template <typename T, typename Step>
using TrainingLoop = void (*)(const Step& step, T* const* variables,
                              const T* gradient, int64_t n);

template <typename T>
struct TrainingLoops {
  TrainingLoop<T, GradientDescentStep<T>> gradient_descent;
  TrainingLoop<T, MomentumStep<T>> momentum;
  TrainingLoop<T, AdagradStep<T>> adagrad;
  TrainingLoop<T, AdagradV2Step<T>> adagrad_v2;
  TrainingLoop<T, AdamStep<T>> adam;
  TrainingLoop<T, AdaMaxStep<T>> ada_max;
  TrainingLoop<T, AdadeltaStep<T>> adadelta;
  TrainingLoop<T, RMSPropStep<T>> rms_prop;
  TrainingLoop<T, CenteredRMSPropStep<T>> centered_rms_prop;
  TrainingLoop<T, FtrlStep<T, true>> ftrl_square_root;
  TrainingLoop<T, FtrlStep<T, false>> ftrl_power;
  TrainingLoop<T, ProximalGradientDescentStep<T>> proximal_gradient_descent;
  TrainingLoop<T, ProximalAdagradStep<T>> proximal_adagrad;
  TrainingLoop<T, AdagradDAStep<T>> adagrad_da;
};

WEFT_PER_INSTRUCTION_SET(void FillTrainingLoops(TrainingLoops<float>* loops);
                         void FillTrainingLoops(TrainingLoops<double>* loops);)

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_ISA_TRAINING_ISA_H_
