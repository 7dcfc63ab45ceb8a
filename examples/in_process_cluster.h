// InProcessCluster runs a server for each task of a cluster in this program.
// For examples that need a cluster if the user gave no target.
#ifndef WEFT_EXAMPLES_IN_PROCESS_CLUSTER_H_
#define WEFT_EXAMPLES_IN_PROCESS_CLUSTER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/api/weft.h"

namespace weft::examples {

using JobSizes = std::map<std::string, int>;  // number of tasks by job

class InProcessCluster {
 public:
  // Starts the servers on free ports of the loopback interface. ServerOptions
  // describes `host_gpus`.
  static absl::StatusOr<std::unique_ptr<InProcessCluster>> Start(
      const JobSizes& jobs, int host_gpus = 0);

  // Returns the target of task 0 of the first job in alphabetical order, for
  // Session::Connect.
  const std::string& target() const { return servers_.front()->target(); }

 private:
  InProcessCluster() = default;

  Process process_;
  std::vector<std::unique_ptr<Server>> servers_;
};

// Implements main for programs whose only argument is a target. Runs `program`
// on the cluster of the target or, without an argument, on a cluster in this
// process. Prints errors to stderr and returns the exit code.
int RunOnCluster(
    int argc, char** argv, const JobSizes& jobs,
    const std::function<absl::Status(const std::string&)>& program);

}  // namespace weft::examples

#endif  // WEFT_EXAMPLES_IN_PROCESS_CLUSTER_H_
