// The random family of kernels, each function in the file of its name
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_RANDOM_RANDOM_KERNELS_H_
#define WEFT_LIBS_KERNELS_RANDOM_RANDOM_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them.
void RegisterRandomKernels(KernelRegistry& registry);

// Tensors filled with numbers of a distribution.
void RegisterRandomFillKernels(KernelRegistry& registry);
// Numbers that a seed alone fixes.
void RegisterStatelessRandomKernels(KernelRegistry& registry);
// RandomShuffle, Multinomial and StatelessMultinomial.
void RegisterRandomChoiceKernels(KernelRegistry& registry);
// Samples of classes for losses that do not look at all of them.
void RegisterRandomCandidateKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RANDOM_RANDOM_KERNELS_H_
