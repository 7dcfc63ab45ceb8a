// What users hear when a GPU has no memory left, and when it is lost.
#ifndef WEFT_BENCHMARKS_GPU_ERRORS_H_
#define WEFT_BENCHMARKS_GPU_ERRORS_H_

#include "libs/runtime/process.h"

namespace weft::benchmarks {

// Prints each error and what it lacks; the number of those that lack something,
// or did not come. The process can use no GPU afterwards.
int CountWrongGpuErrors(Process& process);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_GPU_ERRORS_H_
