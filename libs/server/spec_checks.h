// Checks of a server's cluster spec before it listens.
#ifndef WEFT_LIBS_SERVER_SPEC_CHECKS_H_
#define WEFT_LIBS_SERVER_SPEC_CHECKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/base/logging.h"
#include "libs/bus/address.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/runtime/process/descriptor_usage.h"

namespace weft {

// The tasks that serve sessions: canonical names, sorted by job and index.
std::vector<std::string> TasksWithDevices(const ClusterSpec& cluster);

// A task's place in its cluster, as in its options.
struct TaskPlace {
  std::string job_name;
  int task_index = 0;
  std::string bind;       // ServerOptions::bind
  bool insecure = false;  // ServerOptions::insecure
};

// Returns where the task listens. INVALID_ARGUMENT: it is not in the spec, no
// task in the spec has devices, an address does not parse, or only some ports
// are 0; FAILED_PRECONDITION: it would be open to the network, or the others
// could not reach it.
absl::StatusOr<bus::Address> CheckSpec(const ClusterSpec& cluster,
                                       const TaskPlace& place);

// Checks whether the process of `task` may have enough descriptors. Logs a
// warning with the number needed if they do not suffice for channels to and
// from each other task of the cluster. RESOURCE_EXHAUSTED if too few are free
// to start.
absl::Status CheckDescriptors(const ClusterSpec& cluster,
                              const std::string& task,
                              const DescriptorUsage& room, Logger& logger);

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_SPEC_CHECKS_H_
