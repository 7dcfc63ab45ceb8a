#include "libs/cluster/device_filters.h"

#include <algorithm>
#include <utility>

#include "libs/base/status.h"

namespace weft {

absl::StatusOr<DeviceFilters> DeviceFilters::Parse(
    const std::vector<std::string>& filters) {
  DeviceFilters result;
  for (const std::string& filter : filters) {
    absl::StatusOr<DeviceName> name = DeviceName::Parse(filter);
    if (!name.ok()) return Annotate(name.status(), "device_filters");
    result.filters_.push_back(*std::move(name));
  }
  return result;
}

bool DeviceFilters::Passes(const DeviceName& device) const {
  return filters_.empty() ||
         std::any_of(filters_.begin(), filters_.end(),
                     [&](const DeviceName& filter) {
                       return filter.IsCompatibleWith(device);
                     });
}

}  // namespace weft
