// InProcessCluster runs a server for each task of a cluster in this program,
// for examples that need a cluster and got none.
#ifndef WEFT_EXAMPLES_IN_PROCESS_CLUSTER_H_
#define WEFT_EXAMPLES_IN_PROCESS_CLUSTER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/api/weft.h"

namespace weft::examples {

using JobSizes = std::map<std::string, int>;  // job -> tasks

class InProcessCluster {
 public:
  // Listens on free ports of loopback. `host_gpus`: see ServerOptions.
  static absl::StatusOr<std::unique_ptr<InProcessCluster>> Start(
      const JobSizes& jobs, int host_gpus = 0);

  // Target of task 0 of the first job by name, for Session::Connect.
  const std::string& target() const { return servers_.front()->target(); }

 private:
  InProcessCluster() = default;

  Process process_;
  std::vector<std::unique_ptr<Server>> servers_;
};

// Implements main for programs whose only argument is a target: runs `program`
// on that cluster or, without the argument, on one in this process. Returns the
// exit code; errors go to stderr.
int RunOnCluster(
    int argc, char** argv, const JobSizes& jobs,
    const std::function<absl::Status(const std::string&)>& program);

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_IN_PROCESS_CLUSTER_H_
