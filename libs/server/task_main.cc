#include "libs/server/task_main.h"

#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/time/time.h"
#include "libs/base/command_line.h"
#include "libs/runtime/cuda_platform.h"
#include "libs/server/metrics_flag.h"
#include "libs/server/quota_flags.h"
#include "libs/server/run_server.h"

ABSL_FLAG(std::string, cluster, "",
          "The tasks of the cluster, as JSON: {\"ps\": [\"host:port\"], "
          "\"worker\": [\"host:port\"]}");
ABSL_FLAG(
    std::string, job_name, "",
    "The job this task belongs to; by default what the program is called");
ABSL_FLAG(int, task_index, 0, "Which task of the job this is");
ABSL_FLAG(std::string, bind, "",
          "Where to listen instead of the task's address in --cluster: a host, "
          "or host:port");
ABSL_FLAG(bool, insecure, false,
          "Listen beyond this machine although anyone who reaches the port may "
          "run graphs and read variables, or use files below --root");
ABSL_FLAG(std::string, root, ".",
          "Of a checkpoint writer: the directory below which it keeps files; "
          "zmq://HOST:PORT/ckpt/model is ckpt/model there");
ABSL_FLAG(int, cpus, 1, "CPU devices");
ABSL_FLAG(
    int, gpus, 0,
    "GPUs of this machine that are devices of the task: the first so many "
    "of those that CUDA_VISIBLE_DEVICES leaves");
ABSL_FLAG(int, host_gpus, 0, "GPU devices made of host memory, for trials");
ABSL_FLAG(absl::Duration, drain, absl::Seconds(10),
          "How long running steps, monitored sessions and clients that write "
          "files may go on after SIGTERM or SIGINT");
ABSL_FLAG(
    std::string, stop_after_job, "",
    "Stop once all tasks of this job have started and have stopped again: "
    "\"worker\" lets a parameter server end with the training");
ABSL_FLAG(absl::Duration, heartbeat_interval, absl::Seconds(1),
          "How often tasks tell a coordinator that this task plays that they "
          "live");
ABSL_FLAG(absl::Duration, heartbeat_timeout, absl::Seconds(5),
          "How long that coordinator believes so without hearing of them");
ABSL_FLAG(absl::Duration, peer_timeout, absl::Seconds(8),
          "A task or client without a sign of life for so long is taken for "
          "dead");
ABSL_FLAG(bool, use_instance_metadata, false,
          "Ask s3:// and gs:// by the role of the cloud's machine that this "
          "runs on, where neither environment nor files say who asks");
ABSL_FLAG(absl::Duration, log_waits_after, absl::Seconds(5),
          "Steps that take longer are logged with what they wait for");

namespace weft {
namespace {

// Sessions of a task without GPUs place nodes by the kernels of emulated GPUs
// (docs/gpus.md).
std::shared_ptr<const GpuPlatform> PlatformFromFlags() {
  if (absl::GetFlag(FLAGS_gpus) == 0) return nullptr;
  return std::make_shared<CudaPlatform>();
}

ServerOptions OptionsFromFlags(const std::string& default_job) {
  const std::string job = absl::GetFlag(FLAGS_job_name);
  return {.job_name = job.empty() ? default_job : job,
          .task_index = absl::GetFlag(FLAGS_task_index),
          .bind = absl::GetFlag(FLAGS_bind),
          .insecure = absl::GetFlag(FLAGS_insecure),
          .metrics_port = MetricsPortFromFlags(),
          .root = absl::GetFlag(FLAGS_root),
          .cpus = absl::GetFlag(FLAGS_cpus),
          .gpus = absl::GetFlag(FLAGS_gpus),
          .host_gpus = absl::GetFlag(FLAGS_host_gpus),
          .gpu_platform = PlatformFromFlags(),
          .heartbeat_interval = absl::GetFlag(FLAGS_heartbeat_interval),
          .heartbeat_timeout = absl::GetFlag(FLAGS_heartbeat_timeout),
          .peer_timeout = absl::GetFlag(FLAGS_peer_timeout),
          .use_instance_metadata = absl::GetFlag(FLAGS_use_instance_metadata),
          .stop_after_job = absl::GetFlag(FLAGS_stop_after_job),
          .drain = absl::GetFlag(FLAGS_drain),
          .log_waits_after = absl::GetFlag(FLAGS_log_waits_after),
          .quotas = QuotasFromFlags()};
}

}  // namespace

int TaskMain(int argc, char** argv, const std::string& default_job) {
  ParseFlags(argc, argv, "A task of a Weft cluster.");
  return RunServer(absl::GetFlag(FLAGS_cluster), OptionsFromFlags(default_job));
}

}  // namespace weft
