// ReplicaDeviceSetter creates a device function for replicas of a model:
// variables go to the tasks of the ps job, round robin by default, and all
// other nodes to a worker. It is TensorFlow's tf.train.replica_device_setter.
//
//   Scope model = root.WithDeviceFunction(ReplicaDeviceSetter(
//       {.worker_device = "/job:worker/task:1", .cluster = cluster}));
//   ops::Variable w(model, 1.0f);                       // /job:ps/task:0
//   ops::Variable b(model, 2.0f);                       // /job:ps/task:1
//   Output y = ops::Add(model, w, b);                   // /job:worker/task:1
//   Output z = ops::Neg(model.WithDevice("/gpu:0"), y); // .../device:GPU:0
//
// Device fields set by an inner scope win. A variable that an inner scope puts
// in another job is not counted. Initializers, reads and updates go to the
// device of their variable: colocated, or by placement.
//
// Threads: as for the scope.
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

// The ops that TensorFlow puts on parameter servers: variables and mutable
// tables.
std::vector<std::string> StandardPsOps();

struct ReplicaDeviceSetterOptions {
  // The number of ps tasks; ignored if `cluster` is given.
  int ps_tasks = 0;
  std::string ps_device = "/job:ps";          // "": no node goes to the ps job
  std::string worker_device = "/job:worker";  // "": left open
  // False: a node with a device from an inner scope keeps exactly that device.
  bool merge_devices = true;
  // If set, the number of its tasks in the job of `ps_device` is used.
  std::optional<ClusterSpec> cluster;
  std::vector<std::string> ps_ops = StandardPsOps();
  // Null: round robin. Returns the index of a task of the job, from 0.
  PsStrategy strategy;
};

// Returns a null function, which changes nothing, if there are no ps tasks.
// Returns INVALID_ARGUMENT for a device that cannot be parsed, or a negative
// `ps_tasks`. Copies of the function share the strategy's state.
absl::StatusOr<DeviceFunction> ReplicaDeviceSetter(
    ReplicaDeviceSetterOptions options);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_REPLICA_DEVICE_SETTER_H_
