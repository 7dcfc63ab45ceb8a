// Trains models that TensorFlow has exported, with asynchronous replicas. Each
// worker and each ps is a process. Each worker imports a graph that was built
// for a single process and places it as a replica (PlaceReplica).
#ifndef WEFT_BENCHMARKS_TRAINING_MODEL_CLUSTER_H_
#define WEFT_BENCHMARKS_TRAINING_MODEL_CLUSTER_H_

#include <string>

#include "benchmarks/common/report.h"
#include "libs/api/weft.h"

namespace weft::benchmarks {

struct ModelClusterOptions {
  int ps = 2;
  int workers = 2;
  int steps = 60;       // timed steps of each worker
  double seconds = 60;  // no step starts after this time
  SessionOptions session;
};

// Trains a model on its own cluster. `graph` is a serialized GraphDef with the
// nodes `loss:0`, `train` and `init_all`. Reports NAME_global_steps,
// NAME_worker0_step and NAME_loss, which is the last loss of the first worker.
// The process must not have started any thread.
void MeasureModelCluster(const std::string& name, const std::string& graph,
                         const ModelClusterOptions& options, Report& report);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_TRAINING_MODEL_CLUSTER_H_
