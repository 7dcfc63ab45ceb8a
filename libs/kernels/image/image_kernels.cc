#include "libs/kernels/image/image_kernels.h"

namespace weft {

void RegisterImageKernels(KernelRegistry& registry) {
  RegisterResizeKernels(registry);
}

}  // namespace weft
