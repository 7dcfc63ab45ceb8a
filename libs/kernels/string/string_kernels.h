// Registration of the string kernels; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_STRING_STRING_KERNELS_H_
#define WEFT_LIBS_KERNELS_STRING_STRING_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all string kernels.
void RegisterStringKernels(KernelRegistry& registry);

// Binary data in strings: DecodeRaw, base64.
void RegisterStringBytesKernels(KernelRegistry& registry);
// Hash buckets.
void RegisterStringBucketKernels(KernelRegistry& registry);
// Joins of strings: StringJoin, ReduceJoin, UnsortedSegmentJoin.
void RegisterStringJoinKernels(KernelRegistry& registry);
// Strings from and to numbers: AsString, StringToNumber.
void RegisterStringNumberKernels(KernelRegistry& registry);
// N-grams of adjacent strings: StringNGrams.
void RegisterStringNGramKernels(KernelRegistry& registry);
// Regular expressions.
void RegisterStringRegexKernels(KernelRegistry& registry);
void RegisterStringSplitKernels(KernelRegistry& registry);
// Ops on single strings: StringLower, StringStrip, Substr, ..., StringLength.
void RegisterStringTextKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STRING_STRING_KERNELS_H_
