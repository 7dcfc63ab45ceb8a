// TaskServer is the server of a program's task while it trains or serves
// variables. StartTaskServer is defined by libs/api, which may depend on
// servers.
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

// Polling interval of stop requests during waits.
inline constexpr absl::Duration kStopAskInterval = absl::Milliseconds(500);

struct TaskServerOptions {
  ClusterSpec cluster;
  std::string job_name;
  int task_index = 0;
  // Stops the server once all tasks of this job have finished; empty: never.
  std::string stop_after_job;
  bool insecure = false;            // as ServerOptions
  std::optional<int> metrics_port;  // likewise
  // Heartbeat interval if this task hosts the coordinator: how soon others
  // learn of an end.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  // Process of the server, which must outlive it; null: its own.
  Process* process = nullptr;
};

// The destructor stops the server at once.
class TaskServer {
 public:
  virtual ~TaskServer() = default;

  // Sessions with this process reach the server without a socket.
  virtual Process* process() = 0;
  // Whether a stop was requested, as Server::is_stop_requested.
  virtual bool IsStopRequested() const = 0;
  // Waits until the server has stopped, or until `stop_requested`, which may be
  // null and is polled twice a second, and then stops it.
  virtual absl::Status Join(const std::function<bool()>& stop_requested) = 0;
  // Waits until all tasks of the job have finished; false on timeout, or if
  // this server has stopped.
  virtual bool AwaitJob(const std::string& job, absl::Duration timeout) = 0;
  // Leaves the cluster and waits until its coordinator has ended, as
  // Server::LeaveAndAwaitCoordinatorsEnd; false on timeout.
  virtual bool AwaitCoordinatorsEnd(absl::Duration timeout) = 0;
  // Reports that the task has finished, and stops.
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
