// Checks of the errors of GPUs: concurrent feeds and computation, exhausted
// memory, and a lost GPU.
#ifndef WEFT_BENCHMARKS_GPUS_GPU_ERRORS_H_
#define WEFT_BENCHMARKS_GPUS_GPU_ERRORS_H_

#include "libs/runtime/process/process.h"

namespace weft::benchmarks {

// Runs concurrent steps and returns the number of wrong results. Fed values
// reuse memory that kernels of other steps may still read, so a missing
// synchronization would lead to wrong values.
int CountWrongValues(Process& process);

// Causes errors and prints each error, and which parts its text lacks. Returns
// the number of incomplete or missing errors. Afterwards the process cannot use
// any GPU.
int CountWrongGpuErrors(Process& process);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_GPUS_GPU_ERRORS_H_
