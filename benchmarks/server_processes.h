// ServerProcesses: a cluster for benchmarks: each task a process of its own
// that only serves, on loopback.
#ifndef WEFT_BENCHMARKS_SERVER_PROCESSES_H_
#define WEFT_BENCHMARKS_SERVER_PROCESSES_H_

#include <sys/types.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "benchmarks/child_process.h"
#include "libs/cluster/cluster_spec.h"

namespace weft::benchmarks {

// To be made before the program starts any thread: it forks. The processes end
// with it, and with the program however that ends. Exits the program where a
// port can't be found or a process not be made.
class ServerProcesses {
 public:
  // Job -> number of tasks. `metrics`: each answers Prometheus, at a port that
  // is free.
  explicit ServerProcesses(const std::map<std::string, int>& jobs,
                           bool metrics = false);

  const ClusterSpec& spec() const { return spec_; }
  // "zmq://localhost:PORT". The task may not be listening yet.
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

#endif  // WEFT_BENCHMARKS_SERVER_PROCESSES_H_
