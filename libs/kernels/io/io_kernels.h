// Kernels of the ops that read and write files.
//
// They access files through OpKernelContext::file_system, on the blocking pool.
// A cancelled step ends between two pieces of a tensor, of a few MiB, and
// leaves no checkpoint.
#ifndef WEFT_LIBS_KERNELS_IO_IO_KERNELS_H_
#define WEFT_LIBS_KERNELS_IO_IO_KERNELS_H_

#include "libs/kernels/kernel_registry.h"

namespace weft {

void RegisterIoKernels(KernelRegistry& registry);

// Registers groups: saves; the names and merges of a checkpoint's files;
// restores; saves in TensorFlow's format V1; ReadFile, WriteFile and
// MatchingFiles; readers; warm starts. RegisterIoKernels includes them.
void RegisterSaveKernels(KernelRegistry& registry);
void RegisterCheckpointFileKernels(KernelRegistry& registry);
void RegisterRestoreKernels(KernelRegistry& registry);
void RegisterSaveSlicesKernels(KernelRegistry& registry);
void RegisterWholeFileKernels(KernelRegistry& registry);
void RegisterReaderKernels(KernelRegistry& registry);
void RegisterRemappingKernels(KernelRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_IO_IO_KERNELS_H_
