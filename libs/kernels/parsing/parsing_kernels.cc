#include "libs/kernels/parsing/parsing_kernels.h"

namespace weft {

void RegisterParsingKernels(KernelRegistry& registry) {
  RegisterCsvKernels(registry);
  RegisterExampleKernels(registry);
  RegisterSequenceExampleKernels(registry);
  RegisterTensorParsingKernels(registry);
}

}  // namespace weft
