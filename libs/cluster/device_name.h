// DeviceName is the name of a device, or a request for a device: any of its
// five parts may be unset. Rules and texts are TensorFlow's
// (core/util/device_name_utils, python/framework/device).
//
//   "/job:worker/replica:0/task:1/device:CPU:0"   full
//   "/job:ps/cpu:0"  "/task:1"  "/device:GPU:*"  "/job:*"  "/"  ""   partial
//
// A value, not synchronized.
#ifndef WEFT_LIBS_CLUSTER_DEVICE_NAME_H_
#define WEFT_LIBS_CLUSTER_DEVICE_NAME_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

struct DeviceName {
  // A part is unset if the text has "*" for it or leaves it out.
  std::optional<std::string> job;
  std::optional<int> replica;
  std::optional<int> task;
  std::optional<std::string> type;  // "CPU", "GPU", ...
  std::optional<int> index;         // among the task's devices of that type

  // Parses a name with its parts in any order. "/cpu:0" and "/gpu:*" are the
  // old form of "/device:CPU:0" and "/device:GPU". Returns INVALID_ARGUMENT
  // with the defect.
  static absl::StatusOr<DeviceName> Parse(absl::string_view name);

  // Returns whether all five parts are set.
  bool IsFull() const;
  bool IsEmpty() const { return *this == DeviceName(); }
  // Returns whether job, replica and task are set.
  bool HasTask() const { return job && replica && task; }
  // Returns the name of the task, without the device.
  DeviceName TaskOnly() const { return {job, replica, task, {}, {}}; }
  bool IsSameTask(const DeviceName& other) const {
    return TaskOnly() == other.TaskOnly();
  }

  // Returns the canonical form: job, replica, task and device, each if it is
  // set. A type without an index is "/device:GPU:*". Empty if no part is set.
  std::string ToString() const;

  // Returns whether every part that is set here has the same value in `other`.
  bool IsSpecificationOf(const DeviceName& other) const;
  // Returns whether no part is set to different values in the two names.
  bool IsCompatibleWith(const DeviceName& other) const;

  // Takes from `other` the parts that are unset here, to combine two requests
  // that must both hold. Returns INVALID_ARGUMENT, without any change, if a
  // part is set to different values. With `soft_placement`, different types
  // unset type and index instead, and different indices unset the index.
  absl::Status MergeFrom(const DeviceName& other, bool soft_placement = false);

  // Returns `inner` with its unset parts taken from this name, as for a
  // tf.device scope inside another.
  DeviceName OverriddenBy(const DeviceName& inner) const;

  friend bool operator==(const DeviceName&, const DeviceName&) = default;
};

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_DEVICE_NAME_H_
