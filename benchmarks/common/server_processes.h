// ServerProcesses is a cluster for benchmarks: each task is a separate process
// that only serves, on loopback.
#ifndef WEFT_BENCHMARKS_COMMON_SERVER_PROCESSES_H_
#define WEFT_BENCHMARKS_COMMON_SERVER_PROCESSES_H_

#include <sys/types.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/common/child_process.h"
#include "libs/cluster/cluster_spec.h"

namespace weft::benchmarks {

// ServerProcesses must be created before the program starts any thread, because
// it forks. The processes end with it, and whenever the program ends. Exits the
// program if no port is free or a process cannot be created.
class ServerProcesses {
 public:
  // `jobs` maps jobs to their number of tasks. `metrics`: each task serves
  // Prometheus metrics on a free port.
  explicit ServerProcesses(const std::map<std::string, int>& jobs,
                           bool metrics = false);

  const ClusterSpec& spec() const { return spec_; }
  // Returns "zmq://localhost:PORT". The task may not be listening yet.
  std::string Target(const std::string& job, int index) const;
  const std::vector<pid_t>& pids(const std::string& job) const {
    return pids_.at(job);
  }

 private:
  const ClusterSpec spec_;
  std::deque<ChildProcess> processes_;
  std::map<std::string, std::vector<pid_t>> pids_;  // by job
};

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_COMMON_SERVER_PROCESSES_H_
