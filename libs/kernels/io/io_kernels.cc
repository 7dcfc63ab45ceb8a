#include "libs/kernels/io/io_kernels.h"

namespace weft {

void RegisterIoKernels(KernelRegistry& registry) {
  RegisterSaveKernels(registry);
  RegisterCheckpointFileKernels(registry);
  RegisterRestoreKernels(registry);
  RegisterSaveSlicesKernels(registry);
  RegisterWholeFileKernels(registry);
  RegisterReaderKernels(registry);
  RegisterRemappingKernels(registry);
}

}  // namespace weft
