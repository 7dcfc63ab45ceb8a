// MlpWorker: one replica of a small classifier on a cluster, for benchmarks:
// inputs-hidden-10, ReLU, mean sparse softmax cross entropy, plain gradient
// descent; variables in turn on the ps tasks: the global step, then weights and
// biases from the input on.
//
// Trouble ends the program, as Check does. Threads: one at a time; it starts
// some of its own.
#ifndef WEFT_BENCHMARKS_MLP_WORKER_H_
#define WEFT_BENCHMARKS_MLP_WORKER_H_

#include <cstdint>
#include <memory>
#include <random>

#include "libs/api/weft.h"

namespace weft::benchmarks {

struct LabelledRows {
  Tensor rows;    // [n, inputs]
  Tensor labels;  // [n]
};

// Made up: each row is the mean of its class and noise. It is as much work as
// pictures are, and there is something to learn. The classes do not depend on
// `seed`.
LabelledRows MakeRows(int num_rows, uint32_t seed);

class MlpWorker {
 public:
  struct Options {
    ClusterSpec cluster;
    int index = 0;  // of job "worker"
    int hidden = 128;
    int batch = 64;
  };

  // Starts the task's server and connects to it.
  explicit MlpWorker(const Options& options);

  // All variables of the cluster.
  void Initialize();

  // Feeds a batch picked at random, with replacement and copied within the
  // step; returns the global step that it fetches.
  int64_t Step(const LabelledRows& training);

  float Accuracy(const LabelledRows& test);

 private:
  struct Model {
    Output rows, labels;  // placeholders
    ops::Variable global_step;
    Operation train;
    Output accuracy;
  };
  static Model BuildModel(const Scope& scope, int hidden);

  const Options options_;
  std::mt19937 random_;
  // Destroyed last to first.
  NullLogger logger_;
  Process process_;
  Scope root_ = Scope::Root();
  Model model_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<Session::Callable> step_;
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_MLP_WORKER_H_
