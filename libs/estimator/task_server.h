// TaskServer is the server that a program runs for its task while the task
// trains or serves variables. StartTaskServer is defined by libs/api, which may
// depend on servers.
//
// Threads: all methods may be called from any thread; Join, AwaitJob and Finish
// block.
#ifndef WEFT_LIBS_ESTIMATOR_TASK_SERVER_H_
#define WEFT_LIBS_ESTIMATOR_TASK_SERVER_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/cluster/cluster_spec.h"

namespace weft {
class Process;  // libs/runtime: threads and memory; only passed through here
}  // namespace weft

namespace weft::estimator {

// How often waiting functions check for stop requests.
inline constexpr absl::Duration kStopAskInterval = absl::Milliseconds(500);

struct TaskServerOptions {
  ClusterSpec cluster;
  std::string job_name;
  int task_index = 0;
  // Job after which the server stops: as soon as all its tasks have finished.
  // Empty: the server does not stop for a job.
  std::string stop_after_job;
  bool insecure = false;            // see ServerOptions
  std::optional<int> metrics_port;  // see ServerOptions
  // Heartbeat interval, if this task hosts the coordinator. It limits how soon
  // other tasks learn that a task has ended.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  // Process that the server uses, and which must outlive it. Null: the server
  // has a process of its own.
  Process* process = nullptr;
};

// TaskServer is a running server. Its destructor stops the server at once.
class TaskServer {
 public:
  virtual ~TaskServer() = default;

  // Returns the server's process. Sessions that use this process reach the
  // server without a socket.
  virtual Process* process() = 0;
  // Returns whether a stop was requested, like Server::is_stop_requested.
  virtual bool IsStopRequested() const = 0;
  // Waits until the server has stopped. Also polls `stop_requested` twice a
  // second, if not null, and stops the server when it returns true.
  virtual absl::Status Join(const std::function<bool()>& stop_requested) = 0;
  // Waits until all tasks of the job have finished. Returns false on timeout,
  // or if this server has stopped.
  virtual bool AwaitJob(const std::string& job, absl::Duration timeout) = 0;
  // Leaves the cluster and waits until its coordinator has ended, like
  // Server::LeaveAndAwaitCoordinatorsEnd. Returns false on timeout.
  virtual bool AwaitCoordinatorsEnd(absl::Duration timeout) = 0;
  // Reports that the task has finished, and stops the server.
  virtual absl::Status Finish() = 0;
};

using TaskServerFactory =
    std::function<absl::StatusOr<std::unique_ptr<TaskServer>>(
        const TaskServerOptions& options)>;

// Starts a Server (libs/server). Defined by //libs/api.
absl::StatusOr<std::unique_ptr<TaskServer>> StartTaskServer(
    const TaskServerOptions& options);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_TASK_SERVER_H_
