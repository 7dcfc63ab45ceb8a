// MlpWorker: one replica of a classifier on a cluster, for benchmarks (see
// mlp.h), with plain gradient descent; variables in turn on the ps tasks: the
// global step, then weights and biases from the input on.
//
// Trouble ends the program, as Check does. Threads: one at a time; it starts
// some of its own.
#ifndef WEFT_BENCHMARKS_MLP_WORKER_H_
#define WEFT_BENCHMARKS_MLP_WORKER_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "benchmarks/fashion_mnist.h"
#include "benchmarks/worker_task.h"
#include "libs/api/weft.h"

namespace weft::benchmarks {

class MlpWorker {
 public:
  struct Options {
    ClusterSpec cluster;
    int index = 0;  // of job "worker"
    std::vector<int> hidden = {128};
    int batch = 64;
    // The training set is in variables of the worker, and a step gathers a
    // batch of it; otherwise each step feeds one.
    bool resident = false;
    // The replicas' gradients make one update together (see
    // train::SyncReplicasOptimizer); otherwise each makes its own.
    bool sync = false;
  };

  // Starts the task's server and connects to it. `training` outlives it.
  MlpWorker(const Options& options, const LabelledRows& training);

  // All variables of the cluster.
  void Initialize();
  // What the worker needs besides. Once, when the cluster's are initialised.
  void Prepare();

  // Takes a batch picked at random, with replacement; one that is fed is copied
  // within the step. Returns the global step that it fetches.
  int64_t Step();

  float Accuracy(const LabelledRows& test);

 private:
  // What a step takes. Both can be fed.
  struct Batch {
    Output rows, labels;
  };
  // Variables of the worker that hold the training set.
  struct Resident {
    Output rows, labels;  // placeholders of all that they are to hold
    std::vector<Operation> initializers;
    Batch batch;
  };
  // Of synchronous replicas.
  struct Sync {
    Operation local_init;               // of others than the chief
    Operation chief_init, init_tokens;  // of the chief
    Operation update;                   // what the chief runs over and over
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
  // Destroyed last to first.
  WorkerTask task_;
  Scope root_ = Scope::Root();
  Resident resident_;  // empty where batches are fed
  Model model_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> step_, sync_update_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_MLP_WORKER_H_
