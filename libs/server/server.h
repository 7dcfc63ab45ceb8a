// Server: one task of a cluster in this process: its devices, its part of
// graphs, and the master of the sessions that connect to it. TensorFlow's
// tf.train.Server, but it can be stopped.
//
// One task of the cluster plays the coordinator as well: that of job
// "coordinator", or else the lowest task of the first job. Tasks of the jobs
// "coordinator" and "checkpoint_writer" have no devices and serve no sessions;
// those of the latter keep files for whoever asks
// (docs/operations/checkpoint_writer.md).
//
//   ASSIGN_OR_RETURN(auto server, weft::Server::Create(
//       cluster, {.job_name = "ps", .task_index = 0}));
//   return server->Join();
//
// Threads: all methods may be called from any thread; Join and Stop block.
#ifndef WEFT_LIBS_SERVER_SERVER_H_
#define WEFT_LIBS_SERVER_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/runtime/process.h"
#include "libs/runtime/task_runtime.h"
#include "libs/server/quotas.h"
#include "libs/tensor/client_function.h"

namespace weft {

struct ServerOptions {
  std::string job_name;
  int task_index = 0;
  // Where to listen, "host" or "host:port", instead of the address in the spec.
  std::string bind;
  // Off this machine anyone who reaches the port may run graphs and read
  // variables. So a server that listens elsewhere than on loopback refuses to
  // start unless this is set.
  bool insecure = false;
  // Where Prometheus is answered, on the host that the task listens at
  // (docs/operations/metrics.md); 0: any port that is free. None: nowhere, and
  // no step is timed. Whoever reaches it may read. Not under a simulated
  // scheduler.
  std::optional<int> metrics_port;
  // Of a task of job "checkpoint_writer": the directory, in the file system of
  // its Process, below which it keeps files.
  std::string root = ".";
  int cpus = 1;
  // GPUs, of the platform of its Process.
  int gpus = 0;
  // GPU devices of host memory, for trying placement.
  int host_gpus = 0;
  // Whose GPUs those are; of a Process of its own, else ProcessOptions.
  std::shared_ptr<const GpuPlatform> gpu_platform;
  // Whose threads and memory it uses; outlives the server. Null: a Process of
  // its own. Tasks of one Process reach each other without sockets.
  Process* process = nullptr;
  // How long a session outlives the connection to its client, and what a master
  // has registered here the connection to that master.
  absl::Duration lease = absl::Minutes(1);
  // How long placement waits for tasks that are not up yet.
  absl::Duration patience = absl::Minutes(10);
  // Of the coordinator that this task plays, if it does: how often tasks tell
  // it that they live, and for how long it believes so without hearing of them.
  // An infinite interval: never, and a lost connection is all it goes by.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  absl::Duration heartbeat_timeout = absl::Seconds(5);
  // A task or client that has shown no sign of life for so long is taken for
  // dead (ProcessOptions): steps that need it fail. Of a Process of its own.
  absl::Duration peer_timeout = absl::Seconds(8);
  // Whether object stores are asked as what the cloud's machine is, where
  // nothing else says who asks (ProcessOptions). Of a Process of its own.
  bool use_instance_metadata = false;
  // What graphs call of this program (docs/user/client_functions.md). Of a
  // Process of its own; else they are given to that (ProcessOptions).
  ClientFunctions client_functions;
  // Stop once all tasks of this job have started and have stopped again,
  // cleanly: "worker" lets parameter servers end with the training. It leaves
  // the cluster then, and stops when the coordinator has, after half a minute
  // at the latest. A task that has ended so, and starts again under a
  // coordinator that outlives trainings, stops at the end of the next one.
  // Empty: no.
  std::string stop_after_job;
  // The drain time of a server that stops by itself; see Stop.
  absl::Duration drain = absl::Seconds(10);
  // Steps and calls that take longer are logged with what they wait for (which
  // tasks, edges, queues), and again each time as much time has passed.
  // Infinite: never.
  absl::Duration log_waits_after = absl::Seconds(5);
  Quotas quotas;
  // Called, on a thread that may block, when the server has stopped by itself.
  std::function<void()> on_stopped;
  // Outlives the server. Null: lines on stderr.
  Logger* logger = nullptr;
};

class Server {
 public:
  // Listens and is ready when it returns; waits for no other task.
  // INVALID_ARGUMENT: the task is not in the spec, or an address is none;
  // ALREADY_EXISTS: a port is taken; FAILED_PRECONDITION: see `insecure`, or
  // `root` is no directory; RESOURCE_EXHAUSTED: too few descriptors are free.
  // Raises the soft limit of open files to the hard one, and logs a warning if
  // that is too low for the cluster.
  static absl::StatusOr<std::unique_ptr<Server>> Create(
      const ClusterSpec& cluster, const ServerOptions& options);

  // A cluster of one task, "/job:local/task:0", on a free port of loopback.
  static absl::StatusOr<std::unique_ptr<Server>> CreateLocal(
      ServerOptions options = {});

  // Stops at once, if that was not done.
  ~Server();

  // "zmq://host:port", for Session::Connect; with the port that was found when
  // the spec said 0.
  const std::string& target() const;

  // "http://127.0.0.1:9100/metrics"; empty without metrics_port.
  const std::string& metrics_url() const;

  // Waits until the server has stopped: by a call of Stop, by whomever (OK), by
  // `weft shutdown` or with stop_after_job (OK), or because the coordinator
  // does not want this task (FAILED_PRECONDITION, ALREADY_EXISTS: both sides).
  absl::Status Join();

  // Whether it was asked to stop: by Stop, by `weft shutdown`, or because the
  // job of stop_after_job has finished. A program that trains beside it asks
  // this in its stop_requested, so that it saves while the server still serves
  // it. False for a server that was refused: sessions of it fail with the
  // reason. Does not block.
  bool is_asked_to_stop() const;

  // Refuses new sessions, and steps of sessions that are not monitored
  // (SessionOptions::is_monitored). For as long as `drain`, waits until the
  // monitored ones are closed and no step runs. Then cancels the rest, closes
  // sessions and connections, and joins. Further calls do nothing, but for the
  // first one after the server has stopped by itself: until then it refuses
  // clients at its address, with FAILED_PRECONDITION and its reason.
  absl::Status Stop(absl::Duration drain = absl::Seconds(10));

  // Stop at the end of what the task's job had to do, so that those hear of it
  // who are to stop after its job (stop_after_job): a task that has not joined
  // yet does so first, for as long as `drain`, and one that plays the
  // coordinator stays two heartbeats longer, and until all tasks that are alive
  // have heard of it, for as long as `drain`.
  absl::Status Finish(absl::Duration drain = absl::Seconds(10));

  // Leaves the cluster, as Finish does, and waits until the task that plays the
  // coordinator has ended or was lost. Then a server of the same task that this
  // program starts next meets no coordinator of the training that is over.
  // True at once where this task plays it or has not joined. Where a task of
  // job "coordinator" does, which outlives trainings, it waits instead until
  // the other tasks of this one's job have left, were lost or have not joined
  // for 5 seconds, or the coordinator has not answered for 5 seconds. False
  // when the deadline passed first. May be called again, by one thread at a
  // time.
  bool LeaveAndAwaitCoordinatorsEnd(absl::Time deadline);

  // Waits until the server has stopped; false when the deadline passed first.
  bool AwaitStopped(absl::Time deadline);

  // Waits until all tasks of a job have started and have stopped again,
  // cleanly, as the coordinator says with its heartbeats; false when the
  // deadline passed first, or this server stops.
  bool AwaitJob(const std::string& job, absl::Time deadline);

  // Whether the coordinator knows of this task.
  bool joined() const;

  // For tools and tests. REQUIRES: a task with devices.
  TaskRuntime& runtime();
  // Of which it is the master; likewise.
  int num_sessions() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_SERVER_H_
