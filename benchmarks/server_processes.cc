#include "benchmarks/server_processes.h"

#include <unistd.h>

#include "benchmarks/loopback_cluster.h"
#include "libs/base/logging.h"
#include "libs/server/run_server.h"

namespace weft::benchmarks {
namespace {

[[noreturn]] void Serve(const ClusterSpec& spec, const std::string& job,
                        int index) {
  NullLogger logger;
  ::_exit(RunServer(spec.ToString(), {.job_name = job,
                                      .task_index = index,
                                      .drain = absl::ZeroDuration(),
                                      .logger = &logger}));
}

}  // namespace

ServerProcesses::ServerProcesses(const std::map<std::string, int>& jobs)
    : spec_(LoopbackCluster(jobs)) {
  for (const auto& [job, tasks] : spec_.jobs()) {
    for (const auto& [index, address] : tasks) {
      // clang 14 captures structured bindings by name only as copies.
      processes_.emplace_back([this, job = job, index = index](Lines&) {
        Serve(spec_, job, index);
      });
      pids_[job].push_back(processes_.back().pid());
    }
  }
}

std::string ServerProcesses::Target(const std::string& job, int index) const {
  return TargetOf(spec_, job, index);
}

}  // namespace weft::benchmarks
