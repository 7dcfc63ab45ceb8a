// Workers of one cluster that share a GPU: replicas of the classifier in
// benchmarks/common/mlp.h, trained asynchronously with one ps.
#ifndef WEFT_BENCHMARKS_GPUS_GPU_WORKERS_H_
#define WEFT_BENCHMARKS_GPUS_GPU_WORKERS_H_

#include "libs/runtime/process/process.h"

namespace weft::benchmarks {

// Returns the steps per second of all `workers` together, measured for
// `seconds`. Each worker is a task of `process` and uses the first GPU of the
// process's platform. The ps holds the variables on its CPU. Errors end the
// program, as in Check.
double GpuWorkersRate(Process& process, int workers, double seconds);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_GPUS_GPU_WORKERS_H_
