// MlpWorker is one replica of a classifier on a cluster, for benchmarks (see
// mlp.h), with plain gradient descent. Variables are assigned round robin to
// the ps tasks: the global step, then weights and biases starting at the input.
//
// Errors end the program, as Check does. Threads: call from one thread at a
// time; it starts its own threads.
#ifndef WEFT_BENCHMARKS_COMMON_MLP_WORKER_H_
#define WEFT_BENCHMARKS_COMMON_MLP_WORKER_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/common/fashion_mnist.h"
#include "benchmarks/common/worker_task.h"
#include "libs/api/weft.h"

namespace weft::benchmarks {

class MlpWorker {
 public:
  struct Options {
    ClusterSpec cluster;
    int index = 0;  // of job "worker"
    std::vector<int> hidden = {128};
    int batch = 64;
    // If true, the training set is in variables of the worker, and a step
    // gathers a batch of it; otherwise each step feeds a batch.
    bool resident = false;
    // If true, the gradients of all replicas make one update (see
    // train::SyncReplicasOptimizer); otherwise each replica updates alone.
    bool sync = false;
  };

  // Starts the task's server and connects to it. `training` must outlive it.
  MlpWorker(const Options& options, const LabelledRows& training);

  // Initializes all variables of the cluster.
  void Initialize();
  // Prepares the worker's own state. Call once, after the cluster's variables
  // are initialized.
  void Prepare();

  // Trains on a random batch, drawn with replacement; a fed batch is copied
  // within the step. Returns the fetched global step.
  int64_t Step();

  float Accuracy(const LabelledRows& test);

 private:
  // Inputs of a step. Both can be fed.
  struct Batch {
    Output rows, labels;
  };
  // Variables of the worker with the training set.
  struct Resident {
    Output rows, labels;  // placeholders for their initial values
    std::vector<Operation> initializers;
    Batch batch;
  };
  // State of synchronous replicas.
  struct Sync {
    Operation local_init;               // of all replicas except the chief
    Operation chief_init, init_tokens;  // of the chief
    Operation update;                   // run continuously by the chief
  };
  struct Model {
    Batch batch;
    ops::Variable global_step;
    Operation train;
    Sync sync;
    Output accuracy;
  };
  void BuildResident(const Scope& scope);
  Model BuildModel(const Scope& scope, const Batch& batch) const;
  Operation AddSync(const Scope& scope, const Output& loss,
                    train::Optimizer& optimizer, Model& model) const;
  void PrepareSync();
  LabelledRows PickBatch();

  const Options options_;
  const LabelledRows& training_;
  std::mt19937 random_;
  // Destroyed in reverse order.
  WorkerTask task_;
  Scope root_ = Scope::Root();
  Resident resident_;  // empty if batches are fed
  Model model_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> step_, sync_update_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_MLP_WORKER_H_
