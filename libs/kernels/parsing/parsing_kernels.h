// The parsing family of kernels, each function in the file of its name
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_PARSING_PARSING_KERNELS_H_
#define WEFT_LIBS_KERNELS_PARSING_PARSING_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// All of them.
void RegisterParsingKernels(KernelRegistry& registry);

// Comma-separated values: DecodeCSV.
void RegisterCsvKernels(KernelRegistry& registry);
// Examples: ParseExample and its like.
void RegisterExampleKernels(KernelRegistry& registry);
// Sequences: ParseSequenceExample and its like.
void RegisterSequenceExampleKernels(KernelRegistry& registry);
// Tensors as bytes: ParseTensor, SerializeTensor.
void RegisterTensorParsingKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_PARSING_KERNELS_H_
