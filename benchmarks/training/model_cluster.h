// Training of models exported by TensorFlow with asynchronous replicas: each
// worker and each ps is a process, and each worker imports the graph of a
// single process and places it as a replica (PlaceReplica).
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
  double seconds = 60;  // no step starts later
  SessionOptions session;
};

// Trains the model of a serialized GraphDef, with `loss:0`, `train` and
// `init_all`, on its own cluster. Reports NAME_global_steps, NAME_worker0_step
// and NAME_loss, the first worker's last loss. The process must have no threads
// yet.
void MeasureModelCluster(const std::string& name, const std::string& graph,
                         const ModelClusterOptions& options, Report& report);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_TRAINING_MODEL_CLUSTER_H_
