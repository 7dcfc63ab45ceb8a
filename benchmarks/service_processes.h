// ServiceProcesses: a cluster of the real programs of the services, each a
// process of its own on loopback, for benchmarks that measure these processes
// rather than what goes on between them.
#ifndef WEFT_BENCHMARKS_SERVICE_PROCESSES_H_
#define WEFT_BENCHMARKS_SERVICE_PROCESSES_H_

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "benchmarks/child_process.h"
#include "libs/cluster/cluster_spec.h"

namespace weft::benchmarks {

class ServiceProcesses {
 public:
  // Job -> number of tasks. Tasks of the jobs in `elsewhere` get addresses
  // only. The services' programs are those built beside this one.
  explicit ServiceProcesses(const std::map<std::string, int>& jobs,
                            const std::set<std::string>& elsewhere = {});

  // Until all listen.
  void WaitUntilReady();

  const ClusterSpec& spec() const { return spec_; }
  // "zmq://localhost:PORT". The task may not be listening yet.
  std::string Target(const std::string& job, int index) const;
  // Of the processes, by job.
  const std::map<std::string, std::vector<pid_t>>& pids() const {
    return pids_;
  }

 private:
  const ClusterSpec spec_;
  std::deque<ChildProcess> processes_;
  std::map<std::string, std::vector<pid_t>> pids_;
};

// Where the program of a service lies; beside it, as NAME.stripped, the same
// without symbols. Ends this program when there is none.
std::string ServiceProgram(const std::string& job);

}  // namespace weft::benchmarks

#endif  // WEFT_BENCHMARKS_SERVICE_PROCESSES_H_
