// TrainingProgram is the graph of one of several clients of between-graph
// training. The graph is small, and all its edges and updates can be checked.
//
// Each of two parameter servers has the variable `weights`, to which all
// clients add 1, and the variable `count`, to which only this client adds 1.
// The second server also has a queue of tokens. A step pulls the weights to the
// client's worker and pushes a number back.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_TRAINING_PROGRAM_H_
#define WEFT_INTEGRATION_TESTS_TESTING_TRAINING_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/api/weft.h"

namespace weft {

inline constexpr int kNumServers = 2;  // number of tasks of job "ps"
// number of clients, and of tasks of job "worker"
inline constexpr int kNumTrainers = 2;
inline constexpr int kNumWeights = 16;  // elements of each weight variable
// the name of the node that fails if a step shall fail
inline constexpr char kRatio[] = "ratio";

inline std::string ServerDevice(int p) {
  return absl::StrCat("/job:ps/task:", p, "/cpu:0");
}
inline std::string CountName(int client, int p) {
  return absl::StrCat("count_", client, "_", p);
}

struct TrainingProgram {
  // With `on_gpus`, all nodes are on GPUs, except CPU-only ops and the counts,
  // which a test reads without using the network.
  explicit TrainingProgram(int client, bool on_gpus = false)
      : device(on_gpus ? "gpu:0" : "cpu:0"),
        worker(root.WithDevice(
            absl::StrCat("/job:worker/task:", client, "/", device))) {
    id = ops::Placeholder(worker.WithName("id"), DT_FLOAT);
    divisor = ops::Placeholder(Server(1).WithName("divisor"), DT_INT32);
    ratio = ops::FloorDiv(Server(1).WithName(kRatio), ops::Const(Server(1), 1),
                          divisor);
    for (int p = 0; p < kNumServers; ++p) AddServer(client, p);
    // A value is sent from each server to the other one. Messages of the worker
    // do not wait for these connections.
    across = Travelled(Where(1), Where(0), echo[1]);
    Output back = Travelled(Where(0), Where(1), echo[0]);
    // The update of the first count depends on one message. The update of the
    // second count depends on values from all tasks.
    counted[0] = ops::AssignAdd(Server(0), count[0], 1.0f);
    counted[1] = ops::AssignAdd(Server(1).WithControlDependencies({back}),
                                count[1], 1.0f);
    loss = ops::Add(worker, ops::Sum(worker, weights[0], 0),
                    ops::Sum(worker, weights[1], 0));
    queue = ops::FIFOQueue(
        Server(1).WithName("tokens"), {DT_FLOAT},
        {.shapes = {PartialShape::Scalar()}, .shared_name = "tokens"});
    enqueue = ops::QueueEnqueue(Server(1), queue, {echo[1]});
    token = ops::QueueDequeue(Server(1), queue, {DT_FLOAT})[0];
  }

  // Returns the value x after sending it to device `by` and on to device `to`.
  // Uses no Identity, because a pass may remove it.
  static Output Travelled(const Scope& by, const Scope& to, const Input& x) {
    return ops::Mul(to, ops::Mul(by, x, 2.0f), 0.5f);
  }
  Scope Server(int p) const { return root.WithDevice(ServerDevice(p)); }
  // Returns the scope of the compute device of server `p`.
  Scope Where(int p) const {
    return root.WithDevice(absl::StrCat("/job:ps/task:", p, "/", device));
  }

  void AddServer(int client, int p) {
    Tensor zeros(DT_FLOAT, TensorShape({kNumWeights}));
    for (float& value : zeros.mutable_flat<float>()) value = 0;
    const Scope server = Where(p);
    weights[p] =
        ops::Variable(server.WithName(absl::StrCat("weights_", p)), zeros);
    count[p] = ops::Variable(Server(p).WithName(CountName(client, p)), 0.0f);
    echo[p] = Travelled(worker, server, id);
    Output pulled = weights[p];
    Output ones = ops::Sub(worker, ops::Add(worker, pulled, 1.0f), pulled);
    updated[p] = ops::AssignAdd(server, weights[p], ones);
  }

  const std::string device;
  Scope root = Scope::Root();
  Scope worker;
  Output id, divisor;  // fed by each step
  Output ratio, loss, across;
  ops::Variable weights[kNumServers], count[kNumServers];
  Output echo[kNumServers];     // the value of `id` on each server
  Output counted[kNumServers];  // each count after its update
  Output updated[kNumServers];
  Output queue, token;
  Operation enqueue;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_TRAINING_PROGRAM_H_
