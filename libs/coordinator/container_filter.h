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
  // No container named: each device's default container. INVALID_ARGUMENT as in
  // DeviceFilters::Parse.
  static absl::StatusOr<ContainerFilter> Create(
      const std::vector<std::string>& containers,
      const std::vector<std::string>& device_filters);

  // By full name.
  bool PassesTask(const std::string& task) const;
  // Matches a container on a device, by full name, of a task that passes.
  bool Passes(const std::string& container, const std::string& device) const;

 private:
  ContainerFilter() = default;

  std::vector<std::string> containers_;
  DeviceFilters tasks_;
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_CONTAINER_FILTER_H_
