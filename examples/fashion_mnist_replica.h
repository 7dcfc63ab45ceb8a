// TrainAsReplica: one task of fashion_mnist on a cluster. Asynchronous
// between-graph replication: every worker computes gradients on its own part of
// the images and applies them to variables that lie on the ps tasks.
#ifndef WEFT_EXAMPLES_FASHION_MNIST_REPLICA_H_
#define WEFT_EXAMPLES_FASHION_MNIST_REPLICA_H_

#include <cstdint>
#include <string>

#include "examples/fashion_mnist_data.h"
#include "examples/fashion_mnist_model.h"
#include "libs/api/weft.h"

namespace weft::examples {

struct ReplicaOptions {
  TfConfig task;
  ModelOptions model;
  int batch_size = 64;
  int64_t steps = 1;  // of all replicas together
  uint64_t seed = 1;  // of the order of images
  // A directory: the chief saves there every save_every common steps. Empty: it
  // does not.
  std::string checkpoints;
  int64_t save_every = 200;
};

// That of the cluster's checkpoint writer; empty where there is none.
std::string DefaultCheckpoints(const ClusterSpec& cluster);

// INVALID_ARGUMENT for a cluster without ps tasks, or a batch that is larger
// than the task's part of the images.
absl::Status CheckReplica(const ReplicaOptions& options,
                          const ImageSet& training);

// Trains until the common step reaches options.steps. The chief waits for the
// others and returns the accuracy on `test`; they return 0 when the chief is
// told. Shows progress on stdout.
// REQUIRES: CheckReplica is OK; `server` is the task's, of `process`.
absl::StatusOr<float> TrainAsReplica(Process& process, const Server& server,
                                     const ReplicaOptions& options,
                                     const ImageSet& training,
                                     const ImageSet& test);

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_FASHION_MNIST_REPLICA_H_
