// MlpWorker is one replica of a classifier on a cluster, for benchmarks (see
// mlp.h), with plain gradient descent. Variables are assigned round robin to
// the ps tasks: the global step, then weights and biases starting at the input.
//
// Errors end the program, as in Check. Not thread-safe. Starts its own threads.
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
    int index = 0;  // index of the task in job "worker"
    std::vector<int> hidden = {128};
    int batch = 64;
    // If true, the training set is stored in variables of the worker, and a
    // step gathers a batch from them. Otherwise each step feeds a batch.
    bool resident = false;
    // If true, the gradients of all replicas are combined in one update (see
    // train::SyncReplicasOptimizer). Otherwise each replica updates the
    // variables alone.
    bool sync = false;
  };

  // Starts the server of the task and connects to it. `training` must outlive
  // this object.
  MlpWorker(const Options& options, const LabelledRows& training);

  // Initializes all variables of the cluster.
  void Initialize();
  // Prepares the worker's own state. Must be called once, after the variables
  // of the cluster are initialized.
  void Prepare();

  // Trains on a random batch, drawn with replacement. If the batch is fed, it
  // is copied within the step. Returns the fetched global step.
  int64_t Step();

  float Accuracy(const LabelledRows& test);

 private:
  // The inputs of a step, which can be fed.
  struct Batch {
    Output rows, labels;
  };
  // Variables of the worker that contain the training set.
  struct Resident {
    Output rows, labels;  // placeholders for the initial values
    std::vector<Operation> initializers;
    Batch batch;
  };
  // Operations for synchronous replicas.
  struct Sync {
    Operation local_init;               // run by all replicas except the chief
    Operation chief_init, init_tokens;  // run by the chief
    Operation update;                   // run repeatedly by the chief
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
  // Declared in this order, because members are destroyed in reverse order.
  WorkerTask task_;
  Scope root_ = Scope::Root();
  Resident resident_;  // empty if batches are fed
  Model model_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> step_, sync_update_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_MLP_WORKER_H_
