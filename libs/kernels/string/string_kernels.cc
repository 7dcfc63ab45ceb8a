#include "libs/kernels/string/string_kernels.h"

namespace weft {

void RegisterStringKernels(KernelRegistry& registry) {
  RegisterStringBytesKernels(registry);
  RegisterStringBucketKernels(registry);
  RegisterStringJoinKernels(registry);
  RegisterStringNGramKernels(registry);
  RegisterStringNumberKernels(registry);
  RegisterStringRegexKernels(registry);
  RegisterStringSplitKernels(registry);
  RegisterStringTextKernels(registry);
}

}  // namespace weft
