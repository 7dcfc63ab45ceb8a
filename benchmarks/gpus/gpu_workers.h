// Workers of one cluster that share a GPU: replicas of the classifier in
// benchmarks/common/mlp.h, trained asynchronously with one ps.
#ifndef WEFT_BENCHMARKS_GPUS_GPU_WORKERS_H_
#define WEFT_BENCHMARKS_GPUS_GPU_WORKERS_H_

#include "libs/runtime/process/process.h"

namespace weft::benchmarks {

// Returns the steps per second of all `workers` together, measured for
// `seconds`. Each is a task of `process` with the first GPU of its platform;
// the ps holds the variables on its CPU. Errors end the program, as Check does.
double GpuWorkersRate(Process& process, int workers, double seconds);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_GPUS_GPU_WORKERS_H_
