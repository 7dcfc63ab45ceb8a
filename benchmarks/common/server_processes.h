// ServerProcesses is a cluster for benchmarks on loopback. Each task is a
// separate process that only runs a server.
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

// A cluster of server processes. Must be created before the program starts any
// thread, because it forks. The processes end when the object is destroyed, or
// when the program ends for any reason. If no port is free or a process cannot
// be created, the program exits.
class ServerProcesses {
 public:
  // `jobs` maps each job to its number of tasks. If `metrics` is true, each
  // task serves Prometheus metrics on a free port.
  explicit ServerProcesses(const std::map<std::string, int>& jobs,
                           bool metrics = false);

  const ClusterSpec& spec() const { return spec_; }
  // Returns a target such as "zmq://localhost:PORT". The task may not be
  // listening yet.
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
