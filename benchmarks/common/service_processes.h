// ServiceProcesses is a cluster of the real service programs on loopback, for
// benchmarks that measure the processes of services.
#ifndef WEFT_BENCHMARKS_COMMON_SERVICE_PROCESSES_H_
#define WEFT_BENCHMARKS_COMMON_SERVICE_PROCESSES_H_

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/common/child_process.h"
#include "libs/cluster/cluster_spec.h"

namespace weft::benchmarks {

class ServiceProcesses {
 public:
  // `jobs` maps each job to its number of tasks. Tasks of the jobs in
  // `elsewhere` get addresses but are not started. The service programs must
  // have been built together with this program.
  explicit ServiceProcesses(const std::map<std::string, int>& jobs,
                            const std::set<std::string>& elsewhere = {});

  // Waits until all tasks listen.
  void WaitUntilReady();

  const ClusterSpec& spec() const { return spec_; }
  // Returns a target such as "zmq://localhost:PORT". The task may not be
  // listening yet.
  std::string Target(const std::string& job, int index) const;
  // Returns the process ids of the tasks by job.
  const std::map<std::string, std::vector<pid_t>>& pids() const {
    return pids_;
  }

 private:
  const ClusterSpec spec_;
  std::deque<ChildProcess> processes_;
  std::map<std::string, std::vector<pid_t>> pids_;
};

// Returns the path of a service's program. The same program without symbols is
// the file NAME.stripped beside it. Ends this program if the service does not
// exist.
std::string ServiceProgram(const std::string& job);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_SERVICE_PROCESSES_H_
