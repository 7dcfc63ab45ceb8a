// Registration of the parsing kernels; groups are in files of their names
// (NOUN_kernels.cc).
#ifndef WEFT_LIBS_KERNELS_PARSING_PARSING_KERNELS_H_
#define WEFT_LIBS_KERNELS_PARSING_PARSING_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

// Registers all parsing kernels.
void RegisterParsingKernels(KernelRegistry& registry);

// Comma-separated values: DecodeCSV.
void RegisterCsvKernels(KernelRegistry& registry);
// Examples: ParseExample and related ops.
void RegisterExampleKernels(KernelRegistry& registry);
// Sequences: ParseSequenceExample and related ops.
void RegisterSequenceExampleKernels(KernelRegistry& registry);
// Tensors as bytes: ParseTensor, SerializeTensor.
void RegisterTensorParsingKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_PARSING_PARSING_KERNELS_H_
