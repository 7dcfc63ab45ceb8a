#include "libs/coordinator/container_filter.h"

#include <algorithm>

#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/coordinator/device_owner.h"

namespace weft {

absl::StatusOr<ContainerFilter> ContainerFilter::Create(
    const std::vector<std::string>& containers,
    const std::vector<std::string>& device_filters) {
  ContainerFilter result;
  result.containers_ = containers;
  ASSIGN_OR_RETURN(result.tasks_, DeviceFilters::Parse(device_filters));
  return result;
}

bool ContainerFilter::PassesTask(const std::string& task) const {
  const absl::StatusOr<DeviceName> name = DeviceName::Parse(task);
  return name.ok() && tasks_.PassesTask(*name);
}

bool ContainerFilter::Passes(const std::string& container,
                             const std::string& device) const {
  if (containers_.empty()) return container == JobOfDevice(device);
  return std::find(containers_.begin(), containers_.end(), container) !=
         containers_.end();
}

}  // namespace weft
