#include "benchmarks/common/service_processes.h"

#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/common/loopback_cluster.h"
#include "benchmarks/common/report.h"

namespace weft::benchmarks {

std::string ServiceProgram(const std::string& job) {
  // This program is bin/benchmarks/NAME, and a service is bin/services/JOB/JOB.
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  const auto program =
      self.parent_path().parent_path() / "services" / job / job;
  if (!std::filesystem::exists(program)) {
    Check(absl::NotFoundError(absl::StrCat(
        program.string(), " is missing: run ", self.filename().string(),
        " where it was built, beside the services")));
  }
  return program;
}

ServiceProcesses::ServiceProcesses(const std::map<std::string, int>& jobs,
                                   const std::set<std::string>& elsewhere)
    : spec_(LoopbackCluster(jobs)) {
  for (const auto& [job, num_tasks] : jobs) {
    for (int i = 0; i < num_tasks && elsewhere.count(job) == 0; ++i) {
      processes_.emplace_back(std::vector<std::string>{
          ServiceProgram(job), absl::StrCat("--cluster=", spec_.ToString()),
          absl::StrCat("--task_index=", i), "--drain=0"});
      pids_[job].push_back(processes_.back().pid());
    }
  }
}

void ServiceProcesses::WaitUntilReady() {
  for (ChildProcess& process : processes_) {
    process.lines().ReadUntil("Started server with target");
  }
}

std::string ServiceProcesses::Target(const std::string& job, int index) const {
  return TargetOf(spec_, job, index);
}

}  // namespace weft::benchmarks
