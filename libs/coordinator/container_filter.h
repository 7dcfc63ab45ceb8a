// ContainerFilter selects the containers and tasks that a reset clears.
//
// A value, not synchronized.
#ifndef WEFT_LIBS_COORDINATOR_CONTAINER_FILTER_H_
#define WEFT_LIBS_COORDINATOR_CONTAINER_FILTER_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/cluster/device_filters.h"

namespace weft {

class ContainerFilter {
 public:
  // If `containers` is empty, selects each device's default container. Returns
  // the INVALID_ARGUMENT errors of DeviceFilters::Parse.
  static absl::StatusOr<ContainerFilter> Create(
      const std::vector<std::string>& containers,
      const std::vector<std::string>& device_filters);

  // Returns whether a reset affects the task, which is given by its full name.
  bool PassesTask(const std::string& task) const;
  // Returns whether a reset clears the container on the device, which is given
  // by its full name. The device's task must pass, too.
  bool Passes(const std::string& container, const std::string& device) const;

 private:
  ContainerFilter() = default;

  std::vector<std::string> containers_;
  DeviceFilters tasks_;
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_CONTAINER_FILTER_H_
