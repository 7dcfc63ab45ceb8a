#include "libs/server/task_main.h"

#include <memory>
#include <string>

#include "absl/flags/flag.h"
#include "absl/time/time.h"
#include "libs/base/command_line.h"
#include "libs/runtime/process/cuda_platform.h"
#include "libs/server/metrics_flag.h"
#include "libs/server/quota_flags.h"
#include "libs/server/run_server.h"

ABSL_FLAG(std::string, cluster, "",
          "The tasks of the cluster, as JSON: {\"ps\": [\"host:port\"], "
          "\"worker\": [\"host:port\"]}");
ABSL_FLAG(std::string, job_name, "",
          "The job this task belongs to; by default the name of the program");
ABSL_FLAG(int, task_index, 0, "Index of this task in the job");
ABSL_FLAG(std::string, bind, "",
          "Address to listen at instead of the task's address in --cluster: a "
          "host, or host:port");
ABSL_FLAG(bool, insecure, false,
          "Listen beyond this machine, although anyone who reaches the port "
          "can run graphs and read variables, or use files below --root");
ABSL_FLAG(std::string, root, ".",
          "Checkpoint writer: the directory for its files; "
          "zmq://HOST:PORT/ckpt/model is ckpt/model in it");
ABSL_FLAG(int, cpus, 1, "CPU devices");
ABSL_FLAG(int, gpus, 0,
          "Number of GPUs of this machine that are devices of the task: the "
          "first of those in CUDA_VISIBLE_DEVICES");
ABSL_FLAG(
    int, host_gpus, 0,
    "Number of host GPUs: GPU devices with CPU memory and CPU kernels, to "
    "try placement");
ABSL_FLAG(absl::Duration, drain, absl::Seconds(10),
          "How long running steps, monitored sessions and clients that write "
          "files may continue after SIGTERM or SIGINT");
ABSL_FLAG(
    std::string, stop_after_job, "",
    "Stop once all tasks of this job have started and have stopped again: "
    "\"worker\" lets a parameter server end with the training");
ABSL_FLAG(absl::Duration, heartbeat_interval, absl::Seconds(1),
          "Interval of heartbeats to the coordinator, if this task hosts it");
ABSL_FLAG(absl::Duration, heartbeat_timeout, absl::Seconds(5),
          "Time without heartbeats after which that coordinator considers a "
          "task lost");
ABSL_FLAG(
    absl::Duration, peer_timeout, absl::Seconds(8),
    "Time without heartbeats after which a task or client is considered dead");
ABSL_FLAG(bool, use_instance_metadata, false,
          "Access s3:// and gs:// with the role of this cloud machine if "
          "neither environment nor files have credentials");
ABSL_FLAG(absl::Duration, log_waits_after, absl::Seconds(5),
          "Steps that take longer are logged with the nodes they wait for");

namespace weft {
namespace {

// Sessions of a task without GPUs place nodes by the kernels of host GPUs
// (docs/user/gpus.md).
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
