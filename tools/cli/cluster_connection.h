// ClusterConnection sends the requests of a command to a running cluster. Any
// task of the cluster receives them and forwards them to the coordinator.
//
// Not thread-safe. Each call blocks, at most for the timeout. UNAVAILABLE names
// an unreachable target. All other errors are those of the coordinator.
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
  // Creates a connection without waiting until it is established. `process`
  // must outlive the result. Returns INVALID_ARGUMENT if the target is missing
  // or malformed.
  static absl::StatusOr<std::unique_ptr<ClusterConnection>> Create(
      Process& process, const std::string& target, absl::Duration timeout);
  ~ClusterConnection() override;

  absl::StatusOr<protocol::ClusterStatus> GetCluster();
  absl::StatusOr<protocol::PlacementReply> Place(
      const protocol::PlacementRequest& request);
  absl::Status Shutdown();
  // Resets containers like Session::Reset, through the master at `target`.
  absl::Status Reset(const std::string& target,
                     const std::vector<std::string>& containers);

  // Returns the task to use as the master of a session: the connected task if
  // it has devices, or else the first live task with devices. Returns
  // FAILED_PRECONDITION if there is no such task. REQUIRES: GetCluster has
  // returned.
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
  std::string reached_ ABSL_GUARDED_BY(mutex_);  // the connected task
  // Declared last, because its destructor ends all events.
  std::unique_ptr<protocol::CoordinatorClient> client_;
};

}  // namespace weft::tools

#endif  // WEFT_TOOLS_CLI_CLUSTER_CONNECTION_H_
