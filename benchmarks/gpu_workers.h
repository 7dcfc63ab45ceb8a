// Workers of one cluster that share a GPU: replicas of the classifier of
// benchmarks/mlp.h, trained asynchronously beside one ps.
#ifndef WEFT_BENCHMARKS_GPU_WORKERS_H_
#define WEFT_BENCHMARKS_GPU_WORKERS_H_

#include "libs/runtime/process.h"

namespace weft::benchmarks {

// Steps of all `workers` together in a second, for so many seconds. Each is a
// task of `process` with the first GPU of its platform; the ps has the
// variables, on its CPU. Trouble ends the program, as Check does.
double GpuWorkersRate(Process& process, int workers, double seconds);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_GPU_WORKERS_H_
