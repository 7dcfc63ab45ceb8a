// Views of the cluster state that a coordinator reports, as tables for people
// or as JSON for programs (an object or an array, indented by two spaces, with
// a final line feed). They show the resources of live tasks, as last reported.
//
// Threads: the functions have no state.
#ifndef WEFT_TOOLS_CLI_CLUSTER_VIEWS_H_
#define WEFT_TOOLS_CLI_CLUSTER_VIEWS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/protocol/coordinator/coordinator.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

std::string StatusView(const protocol::ClusterStatus& cluster, Format format);
std::string DevicesView(const protocol::ClusterStatus& cluster, Format format);
// Returns a view of the variables in one container, or in all containers if
// `container` is empty.
std::string VariablesView(const protocol::ClusterStatus& cluster,
                          const std::string& container, Format format);
std::string ContainersView(const protocol::ClusterStatus& cluster,
                           Format format);

// The contents of a container on all tasks.
struct ContainerContents {
  std::string container;
  int num_tasks = 0;
  int num_resources = 0;
  int64_t num_bytes = 0;
};
// Returns the containers ordered by name.
std::vector<ContainerContents> ContainersOf(
    const protocol::ClusterStatus& cluster);
// Returns NOT_FOUND if the container does not exist. The error lists the
// existing containers.
absl::Status CheckContainer(const protocol::ClusterStatus& cluster,
                            const std::string& container);

// Describes which tasks have sessions with resources in these containers, for
// example "2 of /job:worker/replica:0/task:1 in \"ps\", ...". Returns "" if
// there are none.
std::string DescribeSessionsIn(const protocol::ClusterStatus& cluster,
                               const std::vector<std::string>& containers);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CLUSTER_VIEWS_H_
