// Server is one task of a cluster in this process: its devices, its partitions
// of graphs, and the master of the sessions that connect to it. It corresponds
// to TensorFlow's tf.train.Server, but can be stopped.
//
// One task of the cluster also hosts the coordinator: that of job
// "coordinator", or else the lowest task of the first job. Tasks of the jobs
// "coordinator" and "checkpoint_writer" have no devices and serve no sessions;
// the latter store files for clients (docs/operations/checkpoint_writer.md).
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
#include "libs/runtime/process/process.h"
#include "libs/runtime/task_runtime.h"
#include "libs/server/quotas.h"
#include "libs/tensor/client_function.h"

namespace weft {

struct ServerOptions {
  std::string job_name;
  int task_index = 0;
  // Where to listen, "host" or "host:port", instead of the address in the spec.
  std::string bind;
  // From other machines, any process that reaches the port may run graphs and
  // read variables. So a server that listens on an interface other than
  // loopback refuses to start unless this is set.
  bool insecure = false;
  // The port for Prometheus, on the host that the task listens at
  // (docs/operations/metrics.md); 0: any free port. None: no metrics, and no
  // step is timed. Any process that reaches it may read. Not with a simulated
  // scheduler.
  std::optional<int> metrics_port;
  // Of a task of job "checkpoint_writer": the directory, in the file system of
  // its Process, below which it stores files.
  std::string root = ".";
  int cpus = 1;
  // The number of GPUs, of the platform of its Process.
  int gpus = 0;
  // The number of GPU devices in host memory, for testing placement.
  int host_gpus = 0;
  // The platform of the GPUs; for its own Process, else use ProcessOptions.
  std::shared_ptr<const GpuPlatform> gpu_platform;
  // The Process whose threads and memory it uses; must outlive the server.
  // Null: its own Process. Tasks of one Process reach each other without
  // sockets.
  Process* process = nullptr;
  // How long a session outlives the connection to its client, and how long a
  // master's registrations here outlive the connection to that master.
  absl::Duration lease = absl::Minutes(1);
  // How long placement waits for tasks that have not started yet.
  absl::Duration placement_timeout = absl::Minutes(10);
  // Of the coordinator, if this task hosts it: how often tasks send heartbeats,
  // and how long it considers a silent task alive. An infinite interval: there
  // are none, and only a lost connection counts.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  absl::Duration heartbeat_timeout = absl::Seconds(5);
  // A task or client without heartbeats for this long counts as dead
  // (ProcessOptions): steps that need it fail. For its own Process.
  absl::Duration peer_timeout = absl::Seconds(8);
  // Whether object stores are accessed with the identity of the cloud machine
  // if no other credentials are configured (ProcessOptions). For its own
  // Process.
  bool use_instance_metadata = false;
  // The functions of this program that graphs call
  // (docs/user/client_functions.md). For its own Process; otherwise set
  // ProcessOptions.
  ClientFunctions client_functions;
  // Stop once all tasks of this job have started and have stopped again
  // cleanly: "worker" makes parameter servers end with the training. The server
  // then leaves the cluster, and stops when the coordinator has, after half a
  // minute at the latest. If a task ends this way and starts again under a
  // coordinator that outlives training runs, it stops at the end of the next
  // one. Empty: no.
  std::string stop_after_job;
  // The drain time of a server that stops by itself; see Stop.
  absl::Duration drain = absl::Seconds(10);
  // Steps and calls longer than this are logged with what they wait for (tasks,
  // edges, queues), and again at doubling intervals. Infinite: never.
  absl::Duration log_waits_after = absl::Seconds(5);
  Quotas quotas;
  // Called, on a thread that may block, when the server has stopped by itself.
  std::function<void()> on_stopped;
  // Must outlive the server. Null: lines on stderr.
  Logger* logger = nullptr;
};

class Server {
 public:
  // Listens and is ready when it returns; does not wait for other tasks.
  // INVALID_ARGUMENT: the task is not in the spec, or an address does not
  // parse; ALREADY_EXISTS: a port is in use; FAILED_PRECONDITION: see
  // `insecure`, or `root` is not a directory; RESOURCE_EXHAUSTED: too few
  // descriptors are free. Raises the soft limit of open files to the hard
  // limit, and logs a warning if that is too low for the cluster.
  static absl::StatusOr<std::unique_ptr<Server>> Create(
      const ClusterSpec& cluster, const ServerOptions& options);

  // A cluster of one task, "/job:local/task:0", on a free port of loopback.
  static absl::StatusOr<std::unique_ptr<Server>> CreateLocal(
      ServerOptions options = {});

  // Stops at once, unless it has stopped.
  ~Server();

  // "zmq://host:port", for Session::Connect; with the assigned port if the spec
  // has port 0.
  const std::string& target() const;

  // "http://127.0.0.1:9100/metrics"; empty without metrics_port.
  const std::string& metrics_url() const;

  // Waits until the server has stopped: by any call of Stop (OK), by `weft
  // shutdown` or with stop_after_job (OK), or because the coordinator refuses
  // this task (FAILED_PRECONDITION, ALREADY_EXISTS, naming both sides).
  absl::Status Join();

  // Whether it was asked to stop: by Stop, by `weft shutdown`, or because the
  // job of stop_after_job has finished. A program that trains in the same
  // process calls this in its stop_requested, so that it saves while the server
  // still serves it. False for a server that was refused: its sessions fail
  // with the reason. Does not block.
  bool is_stop_requested() const;

  // Refuses new sessions, and steps of sessions that are not monitored
  // (SessionOptions::is_monitored). For up to `drain`, waits until the
  // monitored ones are closed and no step runs. Then cancels the rest, closes
  // sessions and connections, and joins. Further calls have no effect, except
  // for the first one after the server has stopped by itself: until then it
  // refuses clients at its address, with FAILED_PRECONDITION and its reason.
  absl::Status Stop(absl::Duration drain = absl::Seconds(10));

  // Stops at the end of the task's work, such that the tasks that stop after
  // its job (stop_after_job) learn of it: a task that has not joined yet joins
  // first, waiting for up to `drain`, and the one that hosts the coordinator
  // stays two heartbeats longer, and until all live tasks have learned of it,
  // for up to `drain`.
  absl::Status Finish(absl::Duration drain = absl::Seconds(10));

  // Leaves the cluster, as Finish does, and waits until the task that hosts the
  // coordinator has ended or was lost. So a server of the same task that this
  // program starts next cannot join the coordinator of the finished training.
  // Returns true at once if this task hosts it or has not joined. If a task of
  // job "coordinator" hosts it, which outlives training runs, this waits
  // instead until the other tasks of this task's job have left, were lost or
  // have not joined for 5 seconds, or the coordinator has not answered for 5
  // seconds. Returns false if the deadline passed first. May be called again,
  // by one thread at a time.
  bool LeaveAndAwaitCoordinatorsEnd(absl::Time deadline);

  // Waits until the server has stopped; false if the deadline passed first.
  bool AwaitStopped(absl::Time deadline);

  // Waits until all tasks of a job have started and have stopped again cleanly,
  // as reported by the coordinator's heartbeat replies; false if the deadline
  // passed first, or this server stops.
  bool AwaitJob(const std::string& job, absl::Time deadline);

  // Whether the task has joined its coordinator.
  bool joined() const;

  // For tools and tests. REQUIRES: a task with devices.
  TaskRuntime& runtime();
  // The sessions of its master; likewise.
  int num_sessions() const;

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_SERVER_H_
