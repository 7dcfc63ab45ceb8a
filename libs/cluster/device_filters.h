// DeviceFilters select the tasks and devices of the cluster that a session
// uses. They correspond to TensorFlow's ConfigProto.device_filters, a list of
// partial device names. A device passes if it is compatible with at least one
// of them; all devices pass an empty list. A value, not synchronized.
#ifndef WEFT_LIBS_CLUSTER_DEVICE_FILTERS_H_
#define WEFT_LIBS_CLUSTER_DEVICE_FILTERS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/cluster/device_name.h"

namespace weft {

class DeviceFilters {
 public:
  DeviceFilters() = default;  // all pass

  // Returns INVALID_ARGUMENT for a filter that is not a device name.
  static absl::StatusOr<DeviceFilters> Parse(
      const std::vector<std::string>& filters);

  // Returns whether the device passes: whether some filter has no part that
  // differs from that part of `device`.
  bool Passes(const DeviceName& device) const;
  // Returns whether a device of the task could pass.
  bool PassesTask(const DeviceName& task) const {
    return Passes(task.TaskOnly());
  }

 private:
  std::vector<DeviceName> filters_;
};

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_DEVICE_FILTERS_H_
