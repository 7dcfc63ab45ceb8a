// Registration of the image kernels; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_IMAGE_IMAGE_KERNELS_H_
#define WEFT_LIBS_KERNELS_IMAGE_IMAGE_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all image kernels.
void RegisterImageKernels(KernelRegistry& registry);

void RegisterResizeKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_IMAGE_IMAGE_KERNELS_H_
