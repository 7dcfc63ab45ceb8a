// DeviceName: a device, or what is asked of one: any of its five parts may be
// left open. Rules and texts are TensorFlow's (core/util/device_name_utils,
// python/framework/device).
//
//   "/job:worker/replica:0/task:1/device:CPU:0"   full
//   "/job:ps/cpu:0"  "/task:1"  "/device:GPU:*"  "/job:*"  "/"  ""   partial
//
// A value, not synchronised.
#ifndef WEFT_LIBS_CLUSTER_DEVICE_NAME_H_
#define WEFT_LIBS_CLUSTER_DEVICE_NAME_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

struct DeviceName {
  // Not set: open, written "*" or left out.
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // "CPU", "GPU", ...
  std::optional<int> index;         // among the task's devices of that type

  // Parts in any order; "/cpu:0" and "/gpu:*" are the old form of
  // "/device:CPU:0" and "/device:GPU". INVALID_ARGUMENT names what is wrong.
  static absl::StatusOr<DeviceName> Parse(absl::string_view name);

  // All five parts are set.
  bool IsFull() const;
  bool IsEmpty() const { return *this == DeviceName(); }
  // Job, replica and task are set.
  bool HasTask() const { return job && replica && task; }
  // The task without the device.
  DeviceName TaskOnly() const { return {job, replica, task, {}, {}}; }
  bool IsSameTask(const DeviceName& other) const {
    return TaskOnly() == other.TaskOnly();
  }

  // Canonical: job, replica, task, device, as far as set; a type without an
  // index is "/device:GPU:*". Empty when nothing is set.
  std::string ToString() const;

  // Every part set here has the same value in `other`.
  bool IsSpecificationOf(const DeviceName& other) const;
  // No part is set to different values.
  bool IsCompatibleWith(const DeviceName& other) const;

  // Takes from `other` what is open here, for two requests that both hold.
  // INVALID_ARGUMENT where they differ; then nothing is changed. With soft
  // placement a different type opens type and index, a different index the
  // index.
  absl::Status MergeFrom(const DeviceName& other, bool soft_placement = false);

  // What `inner` asks for, and this where `inner` leaves a part open: a
  // tf.device scope inside another.
  DeviceName OverriddenBy(const DeviceName& inner) const;

  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_DEVICE_NAME_H_
