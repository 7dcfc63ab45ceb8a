// ClusterConnection: what a command asks of a running cluster: any of its tasks
// is asked, and passes it on to the coordinator.
//
// Threads: one at a time; every call waits, until the timeout at most. Errors:
// UNAVAILABLE names the target where nobody is; else the coordinator's.
#ifndef WEFT_TOOLS_CLI_CLUSTER_CONNECTION_H_
#define WEFT_TOOLS_CLI_CLUSTER_CONNECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/bus/address.h"
#include "libs/bus/message.h"
#include "libs/protocol/coordinator_client.h"
#include "libs/runtime/process.h"

namespace weft::tools {

class ClusterConnection : private protocol::CoordinatorEvents {
 public:
  // Does not wait for the connection. `process` outlives it. INVALID_ARGUMENT
  // where there is no target or it is none.
  static absl::StatusOr<std::unique_ptr<ClusterConnection>> Create(
      Process& process, const std::string& target, absl::Duration timeout);
  ~ClusterConnection() override;

  absl::StatusOr<protocol::ClusterStatus> GetCluster();
  absl::StatusOr<protocol::PlacementReply> Place(
      const protocol::PlacementRequest& request);
  absl::Status Shutdown();
  // As Session::Reset, by the master at `target`.
  absl::Status Reset(const std::string& target,
                     const std::vector<std::string>& containers);

  // Which of the tasks a session's master would be: the one that was reached,
  // if it has devices, else the first one that lives and has.
  // FAILED_PRECONDITION if there is none. Once GetCluster has answered.
  absl::StatusOr<protocol::TaskStatus> MasterOf(
      const protocol::ClusterStatus& cluster) ABSL_LOCKS_EXCLUDED(mutex_);

  Process& process() { return process_; }
  absl::Time Deadline() const;

 private:
  ClusterConnection(Process& process, const bus::Address& address,
                    absl::Duration timeout);

  void OnCoordinatorConnected(const bus::Identity& peer) override;
  void OnCoordinatorLost(const absl::Status& /*why*/) override {}

  Process& process_;
  const absl::Duration timeout_;
  absl::Mutex mutex_;
  std::string reached_ ABSL_GUARDED_BY(mutex_);  // task
  // Last: its end ends all events.
  std::unique_ptr<protocol::CoordinatorClient> client_;
};

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CLUSTER_CONNECTION_H_
