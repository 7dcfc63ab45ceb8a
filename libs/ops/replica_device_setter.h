// ReplicaDeviceSetter: a device function for replicas of a model: variables go
// to the tasks of the ps job in turn, everything else to a worker. TensorFlow's
// tf.train.replica_device_setter.
//
//   Scope model = root.WithDeviceFunction(ReplicaDeviceSetter(
//       {.worker_device = "/job:worker/task:1", .cluster = cluster}));
//   ops::Variable w(model, 1.0f);                       // /job:ps/task:0
//   ops::Variable b(model, 2.0f);                       // /job:ps/task:1
//   Output y = ops::Add(model, w, b);                   // /job:worker/task:1
//   Output z = ops::Neg(model.WithDevice("/gpu:0"), y); // .../device:GPU:0
//
// What an inner scope asks for wins, part by part; a variable that an inner
// scope puts in another job is not counted. Initialisers, reads and updates go
// where their variable is: colocated, or by placement.
//
// Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_REPLICA_DEVICE_SETTER_H_
#define WEFT_LIBS_OPS_REPLICA_DEVICE_SETTER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/ops/load_balancing.h"
#include "libs/ops/scope.h"

namespace weft {

// The ops that TensorFlow puts on parameter servers: variables, and the tables
// that can be changed.
std::vector<std::string> StandardPsOps();

struct ReplicaDeviceSetterOptions {
  // Tasks of the ps job; not used when `cluster` is given.
  int ps_tasks = 0;
  std::string ps_device = "/job:ps";          // "": no node is a ps's
  std::string worker_device = "/job:worker";  // "": left open
  // False: a node that an inner scope gave a device keeps just that.
  bool merge_devices = true;
  // The tasks are those that it has of the job in `ps_device`.
  std::optional<ClusterSpec> cluster;
  std::vector<std::string> ps_ops = StandardPsOps();
  // Null: round robin. It counts the tasks of the job from 0.
  PsStrategy strategy;
};

// A null function where there are no ps tasks, which changes nothing.
// INVALID_ARGUMENT for a device that does not parse, or a negative `ps_tasks`.
// Copies of the function share the strategy's state.
absl::StatusOr<DeviceFunction> ReplicaDeviceSetter(
    ReplicaDeviceSetterOptions options);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_REPLICA_DEVICE_SETTER_H_
