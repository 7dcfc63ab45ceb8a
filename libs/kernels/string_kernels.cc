#include "libs/kernels/standard_kernels.h"
#include "libs/kernels/string_registration.h"

namespace weft {

void RegisterStringKernels(KernelRegistry& registry) {
  RegisterStringBytesKernels(registry);
  RegisterStringBucketKernels(registry);
  RegisterStringCsvKernels(registry);
  RegisterStringExampleKernels(registry);
  RegisterStringJoinKernels(registry);
  RegisterStringNumberKernels(registry);
  RegisterStringRegexKernels(registry);
  RegisterStringSplitKernels(registry);
  RegisterStringTextKernels(registry);
}

}  // namespace weft
