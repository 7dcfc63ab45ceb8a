// The program of a worker: a task that computes.
//
//   bazel run //services/worker -- --task_index=0
//       --cluster='{"ps": ["localhost:2222"], "worker": ["localhost:2223"]}'
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/time/time.h"
#include "libs/server/run_server.h"

ABSL_FLAG(std::string, cluster, "",
          "The tasks of the cluster, as JSON: {\"ps\": [\"host:port\"], "
          "\"worker\": [\"host:port\"]}");
ABSL_FLAG(std::string, job_name, "worker", "The job this task belongs to");
ABSL_FLAG(int, task_index, 0, "Which task of the job this is");
ABSL_FLAG(std::string, bind, "",
          "Where to listen instead of the task's address in --cluster: a host, "
          "or host:port");
ABSL_FLAG(bool, insecure, false,
          "Listen beyond this machine although anyone who reaches the port may "
          "run graphs and read variables");
ABSL_FLAG(int, cpus, 1, "CPU devices");
ABSL_FLAG(int, host_gpus, 0, "GPU devices made of host memory, for trials");
ABSL_FLAG(absl::Duration, drain, absl::Seconds(10),
          "How long running steps may go on after SIGTERM or SIGINT");

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("a task of a Weft cluster");
  absl::ParseCommandLine(argc, argv);
  return weft::RunServer(absl::GetFlag(FLAGS_cluster),
                         {.job_name = absl::GetFlag(FLAGS_job_name),
                          .task_index = absl::GetFlag(FLAGS_task_index),
                          .bind = absl::GetFlag(FLAGS_bind),
                          .insecure = absl::GetFlag(FLAGS_insecure),
                          .cpus = absl::GetFlag(FLAGS_cpus),
                          .host_gpus = absl::GetFlag(FLAGS_host_gpus)},
                         absl::GetFlag(FLAGS_drain));
}
