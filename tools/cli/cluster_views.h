// Views of a coordinator's cluster state, as tables for people or as JSON for
// programs (an object or an array, indented by two spaces, with a final line
// feed). Resources are those of live tasks, as last reported.
//
// Threads: stateless functions.
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
// Shows one container, or all if `container` is empty.
std::string VariablesView(const protocol::ClusterStatus& cluster,
                          const std::string& container, Format format);
std::string ContainersView(const protocol::ClusterStatus& cluster,
                           Format format);

// The contents of a container, over all tasks.
struct ContainerContents {
  std::string container;
  int num_tasks = 0;
  int num_resources = 0;
  int64_t num_bytes = 0;
};
// Ordered by name.
std::vector<ContainerContents> ContainersOf(
    const protocol::ClusterStatus& cluster);
// NOT_FOUND lists the existing containers.
absl::Status CheckContainer(const protocol::ClusterStatus& cluster,
                            const std::string& container);

// Lists the tasks whose sessions have resources in these containers: "2 of
// /job:worker/replica:0/task:1 in \"ps\", ..."; empty if there are none.
std::string DescribeSessionsIn(const protocol::ClusterStatus& cluster,
                               const std::vector<std::string>& containers);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CLUSTER_VIEWS_H_
