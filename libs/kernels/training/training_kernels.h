// Registration of the kernels that apply one optimizer step to a variable.
#ifndef WEFT_LIBS_KERNELS_TRAINING_TRAINING_KERNELS_H_
#define WEFT_LIBS_KERNELS_TRAINING_TRAINING_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

void RegisterTrainingKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_TRAINING_TRAINING_KERNELS_H_
