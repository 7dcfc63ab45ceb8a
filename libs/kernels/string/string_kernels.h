// The string family of kernels, each function in the file of its name
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_STRING_STRING_KERNELS_H_
#define WEFT_LIBS_KERNELS_STRING_STRING_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them.
void RegisterStringKernels(KernelRegistry& registry);

// Strings as bytes of something else: DecodeRaw, base64.
void RegisterStringBytesKernels(KernelRegistry& registry);
// Hash buckets.
void RegisterStringBucketKernels(KernelRegistry& registry);
// Strings out of strings: StringJoin, ReduceJoin, UnsortedSegmentJoin.
void RegisterStringJoinKernels(KernelRegistry& registry);
// Strings from and to numbers: AsString, StringToNumber.
void RegisterStringNumberKernels(KernelRegistry& registry);
// Neighbours in rows: StringNGrams.
void RegisterStringNGramKernels(KernelRegistry& registry);
// Regular expressions.
void RegisterStringRegexKernels(KernelRegistry& registry);
void RegisterStringSplitKernels(KernelRegistry& registry);
// One string from one: StringLower, StringStrip, Substr, ..., StringLength.
void RegisterStringTextKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STRING_STRING_KERNELS_H_
