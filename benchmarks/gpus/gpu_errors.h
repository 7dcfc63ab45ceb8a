// Checks of GPU error handling: concurrent feeds and computation, out of
// memory, a lost GPU.
#ifndef WEFT_BENCHMARKS_GPUS_GPU_ERRORS_H_
#define WEFT_BENCHMARKS_GPUS_GPU_ERRORS_H_

#include "libs/runtime/process/process.h"

namespace weft::benchmarks {

// Counts wrong results of concurrent steps: fed values reuse memory that
// kernels of other steps may still read.
int CountWrongValues(Process& process);

// Prints each error and what is missing from its text; returns the number of
// incomplete or absent errors. The process can use no GPU afterwards.
int CountWrongGpuErrors(Process& process);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_GPUS_GPU_ERRORS_H_
