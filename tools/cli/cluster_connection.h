// ClusterConnection sends the requests of a command to a running cluster: any
// of its tasks receives them, and forwards them to the coordinator.
//
// Threads: one at a time; every call waits, at most for the timeout. Errors:
// UNAVAILABLE names an unreachable target; otherwise the coordinator's.
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
#include "libs/protocol/coordinator/coordinator_client.h"
#include "libs/runtime/process/process.h"

namespace weft::tools {

class ClusterConnection : private protocol::CoordinatorEvents {
 public:
  // Does not wait for the connection. `process` must outlive it.
  // INVALID_ARGUMENT for a missing or malformed target.
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

  // Returns the task that would be a session's master: the connected one, if it
  // has devices, otherwise the first live one that has. FAILED_PRECONDITION if
  // there is none. REQUIRES: GetCluster has returned.
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
  // Declared last: its destructor ends all events.
  std::unique_ptr<protocol::CoordinatorClient> client_;
};

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CLUSTER_CONNECTION_H_
