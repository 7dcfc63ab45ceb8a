#include "examples/in_process_cluster.h"

#include <cstdio>
#include <utility>

#include "examples/usage.h"

namespace weft::examples {

absl::StatusOr<std::unique_ptr<InProcessCluster>> InProcessCluster::Start(
    const JobSizes& jobs, int host_gpus) {
  ClusterSpec spec;
  for (const auto& [job, num_tasks] : jobs) {
    for (int i = 0; i < num_tasks; ++i) {
      RETURN_IF_ERROR(spec.AddTask(job, i, "localhost:0"));
    }
  }
  if (spec.empty()) {
    return absl::InvalidArgumentError("a cluster needs at least one task");
  }
  std::unique_ptr<InProcessCluster> cluster(new InProcessCluster());
  for (const auto& [job, tasks] : spec.jobs()) {
    for (const auto& [index, address] : tasks) {
      ASSIGN_OR_RETURN(auto server,
                       Server::Create(spec, {.job_name = job,
                                             .task_index = index,
                                             .host_gpus = host_gpus,
                                             .process = &cluster->process_}));
      cluster->servers_.push_back(std::move(server));
    }
  }
  return cluster;
}

namespace {

absl::Status RunOnOwnCluster(
    const JobSizes& jobs,
    const std::function<absl::Status(const std::string&)>& program) {
  ASSIGN_OR_RETURN(auto cluster, InProcessCluster::Start(jobs));
  return program(cluster->target());
}

}  // namespace

int RunOnCluster(
    int argc, char** argv, const JobSizes& jobs,
    const std::function<absl::Status(const std::string&)>& program) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    return ShowUsage(argc, argv, "[TARGET]",
                     "TARGET: a task of a cluster, zmq://HOST:PORT. Without it "
                     "the program starts a cluster of its own.");
  }
  const absl::Status status =
      argc == 2 ? program(argv[1]) : RunOnOwnCluster(jobs, program);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}

}  // namespace weft::examples
