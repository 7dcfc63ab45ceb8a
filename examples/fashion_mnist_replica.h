// TrainAsReplica runs one task of fashion_mnist on a cluster. It uses
// asynchronous between-graph replication: each worker computes gradients on its
// own part of the images and applies them to variables on the ps tasks.
#ifndef WEFT_EXAMPLES_FASHION_MNIST_REPLICA_H_
#define WEFT_EXAMPLES_FASHION_MNIST_REPLICA_H_

#include <cstdint>
#include <functional>
#include <string>

#include "examples/fashion_mnist_data.h"
#include "examples/fashion_mnist_model.h"
#include "libs/api/training.h"

namespace weft::examples {

struct ReplicaOptions {
  TfConfig task;
  ModelOptions model;
  int batch_size = 64;
  // Number of steps of all replicas together. A resumed training continues to
  // the next multiple of this number.
  int64_t steps = 1;
  uint64_t seed = 1;  // determines the order of images
  // If true, computes on the first GPU of the task's server.
  bool on_gpu = false;
  // The chief saves checkpoints in this directory and resumes from the newest
  // one. If empty, it does neither.
  std::string checkpoints;
  // Seconds between checkpoints, unless save_every sets a number of global
  // steps.
  double save_secs = 3;
  int64_t save_every = 0;
  // Returns true to request that the replica saves and exits. May be null.
  std::function<bool()> stop_requested;
};

// Returns a path on the cluster's checkpoint writer, or "" if there is no
// checkpoint writer.
std::string DefaultCheckpoints(const ClusterSpec& cluster);

// Returns INVALID_ARGUMENT for a cluster without ps tasks, or if a batch is
// larger than the task's part of the images.
absl::Status CheckReplica(const ReplicaOptions& options,
                          const ImageSet& training);

// Trains until the global step reaches options.steps. The chief returns the
// accuracy on `test`, and the other replicas return 0. Shows the progress on
// stdout. REQUIRES: CheckReplica is OK, and `server` is the server of the task
// in `process`.
absl::StatusOr<float> TrainAsReplica(Process& process, const Server& server,
                                     const ReplicaOptions& options,
                                     const ImageSet& training,
                                     const ImageSet& test);

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_FASHION_MNIST_REPLICA_H_
