// TaskServer: the server of the task that a program is, while it trains or
// serves variables. How one is started is given from outside: libs/api, which
// sees servers, defines it.
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

// How often who waits asks whether it is to stop.
inline constexpr absl::Duration kStopAskInterval = absl::Milliseconds(500);

struct TaskServerOptions {
  ClusterSpec cluster;
  std::string job_name;
  int task_index = 0;
  // The server stops once all tasks of this job have ended well; empty: no.
  std::string stop_after_job;
  bool insecure = false;            // as ServerOptions
  std::optional<int> metrics_port;  // likewise
  // The coordinator's, if this task plays it: how soon others hear of an end.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  // Whose threads and memory it uses, outlives it; null: one of its own.
  Process* process = nullptr;
};

// Stops at once when it goes.
class TaskServer {
 public:
  virtual ~TaskServer() = default;

  // Sessions that are given it reach the server without a socket.
  virtual Process* process() = 0;
  // Whether it was asked to stop, as Server::is_asked_to_stop.
  virtual bool IsAskedToStop() const = 0;
  // Waits until it has stopped, or until `stop_requested`, which may be null
  // and is asked twice a second; then it is stopped.
  virtual absl::Status Join(const std::function<bool()>& stop_requested) = 0;
  // Waits until all tasks of the job have ended well; false: not within the
  // timeout, or this server has stopped.
  virtual bool AwaitJob(const std::string& job, absl::Duration timeout) = 0;
  // Leaves the cluster and waits until its coordinator has ended, as
  // Server::LeaveAndAwaitCoordinatorsEnd; false: not within the timeout.
  virtual bool AwaitCoordinatorsEnd(absl::Duration timeout) = 0;
  // The task has done what it had to: stops, and others may hear of it.
  virtual absl::Status Finish() = 0;
};

using TaskServerFactory =
    std::function<absl::StatusOr<std::unique_ptr<TaskServer>>(
        const TaskServerOptions& options)>;

// A Server (libs/server). Defined by //libs/api.
absl::StatusOr<std::unique_ptr<TaskServer>> StartTaskServer(
    const TaskServerOptions& options);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_TASK_SERVER_H_
