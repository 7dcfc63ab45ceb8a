#include "benchmarks/common/server_processes.h"

#include <unistd.h>

#include <utility>

#include "benchmarks/common/loopback_cluster.h"
#include "libs/base/logging.h"
#include "libs/server/run_server.h"

namespace weft::benchmarks {
namespace {

[[noreturn]] void Serve(const ClusterSpec& spec, const std::string& job,
                        int index, bool metrics) {
  NullLogger logger;
  ServerOptions options{.job_name = job,
                        .task_index = index,
                        .drain = absl::ZeroDuration(),
                        .logger = &logger};
  if (metrics) options.metrics_port = 0;
  ::_exit(RunServer(spec.ToString(), std::move(options)));
}

}  // namespace

ServerProcesses::ServerProcesses(const std::map<std::string, int>& jobs,
                                 bool metrics)
    : spec_(LoopbackCluster(jobs)) {
  for (const auto& [job, tasks] : spec_.jobs()) {
    for (const auto& [index, address] : tasks) {
      // clang 14 captures structured bindings by name only as copies.
      processes_.emplace_back(
          [this, job = job, index = index, metrics](Lines&) {
            Serve(spec_, job, index, metrics);
          });
      pids_[job].push_back(processes_.back().pid());
    }
  }
}

std::string ServerProcesses::Target(const std::string& job, int index) const {
  return TargetOf(spec_, job, index);
}

}  // namespace weft::benchmarks
