// What goes wrong on a GPU, or must not: steps that feed it while others
// compute, no memory left, a GPU that is lost.
#ifndef WEFT_BENCHMARKS_GPU_ERRORS_H_
#define WEFT_BENCHMARKS_GPU_ERRORS_H_

#include "libs/runtime/process.h"

namespace weft::benchmarks {

// Steps of several threads whose value is wrong: what is fed takes memory that
// kernels of other steps may still read.
int CountWrongValues(Process& process);

// Prints each error and what it lacks; the number of those that lack something,
// or did not come. The process can use no GPU afterwards.
int CountWrongGpuErrors(Process& process);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_GPU_ERRORS_H_
