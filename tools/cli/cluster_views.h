// What a coordinator knows of its cluster, as tables for people or as JSON for
// programs (an object or an array, two spaces an indent, a line feed at the
// end). What lives on tasks is that of the tasks that are alive, as they last
// reported.
//
// Threads: functions without state.
#ifndef WEFT_TOOLS_CLI_CLUSTER_VIEWS_H_
#define WEFT_TOOLS_CLI_CLUSTER_VIEWS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "libs/protocol/coordinator.h"
#include "tools/cli/invocation.h"

namespace weft::tools {

std::string StatusView(const protocol::ClusterStatus& cluster, Format format);
std::string DevicesView(const protocol::ClusterStatus& cluster, Format format);
// Of one container, or of all where `container` is empty.
std::string VariablesView(const protocol::ClusterStatus& cluster,
                          const std::string& container, Format format);
std::string ContainersView(const protocol::ClusterStatus& cluster,
                           Format format);

// What is in containers, over all tasks.
struct ContainerContents {
  std::string container;
  int num_tasks = 0;
  int num_resources = 0;
  int64_t num_bytes = 0;
};
// In the order of their names.
std::vector<ContainerContents> ContainersOf(
    const protocol::ClusterStatus& cluster);
// NOT_FOUND names those that there are.
absl::Status CheckContainer(const protocol::ClusterStatus& cluster,
                            const std::string& container);

// Which tasks' sessions have resources in these containers: "2 of
// /job:worker/replica:0/task:1 in \"ps\", ..."; empty: none has.
std::string DescribeSessionsIn(const protocol::ClusterStatus& cluster,
                               const std::vector<std::string>& containers);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CLUSTER_VIEWS_H_
