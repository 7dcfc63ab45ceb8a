// The kernels on images, each function in the file of its name
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_IMAGE_IMAGE_KERNELS_H_
#define WEFT_LIBS_KERNELS_IMAGE_IMAGE_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them.
void RegisterImageKernels(KernelRegistry& registry);

void RegisterResizeKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_IMAGE_IMAGE_KERNELS_H_
