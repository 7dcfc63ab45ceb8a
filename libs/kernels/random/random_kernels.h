// Registration of the random kernels; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_RANDOM_RANDOM_KERNELS_H_
#define WEFT_LIBS_KERNELS_RANDOM_RANDOM_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all random kernels.
void RegisterRandomKernels(KernelRegistry& registry);

// Tensors filled with numbers of a distribution.
void RegisterRandomFillKernels(KernelRegistry& registry);
// Stateless random ops.
void RegisterStatelessRandomKernels(KernelRegistry& registry);
// RandomShuffle, Multinomial and StatelessMultinomial.
void RegisterRandomChoiceKernels(KernelRegistry& registry);
// Candidate samplers for sampled losses.
void RegisterRandomCandidateKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RANDOM_RANDOM_KERNELS_H_
