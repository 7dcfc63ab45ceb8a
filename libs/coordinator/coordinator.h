// Coordinator implements protocol::Coordinator: it knows the cluster and places
// graphs on it. Its state is soft: a new coordinator learns everything from the
// tasks.
//
// Threads: all methods may be called from any thread; answers come without the
// lock held, on the thread that completed them, or a timer's.
#ifndef WEFT_LIBS_COORDINATOR_COORDINATOR_H_
#define WEFT_LIBS_COORDINATOR_COORDINATOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/protocol/coordinator/coordinator.h"

namespace weft {

struct CoordinatorOptions {
  Scheduler* scheduler = nullptr;  // never null; must outlive the coordinator
  Random* random = nullptr;        // likewise
  ClusterSpec cluster;
  std::string task;          // the task that hosts it
  uint64_t incarnation = 0;  // of that task; never 0
  // How often tasks report, and how long they may be silent; infinite: they
  // need not report at all.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  absl::Duration heartbeat_timeout = absl::Seconds(5);
  Logger* logger = nullptr;  // may be null
};

class Coordinator : public protocol::Coordinator {
 public:
  explicit Coordinator(const CoordinatorOptions& options);
  ~Coordinator() override;  // as Close

  void Join(const protocol::JoinRequest& request, absl::Time deadline,
            Answer<protocol::JoinReply> done) override;
  void Heartbeat(const protocol::HeartbeatRequest& request, absl::Time deadline,
                 Answer<protocol::HeartbeatReply> done) override;
  void Leave(const protocol::LeaveRequest& request, absl::Time deadline,
             Done done) override;
  void Place(const protocol::PlacementRequest& request, absl::Time deadline,
             std::shared_ptr<Cancellation> cancellation,
             Answer<protocol::PlacementReply> done) override;
  void EndSession(uint64_t session, absl::Time deadline, Done done) override;
  void ForgetContainers(const std::vector<std::string>& containers,
                        const std::vector<std::string>& device_filters,
                        absl::Time deadline,
                        std::shared_ptr<Cancellation> cancellation,
                        Done done) override;
  void ListDevices(const std::vector<std::string>& device_filters,
                   absl::Time deadline,
                   std::shared_ptr<Cancellation> cancellation,
                   Answer<std::vector<DeviceAttributes>> done) override;
  void GetCluster(const protocol::ClusterQuery& query, absl::Time deadline,
                  Answer<protocol::ClusterStatus> done) override;
  void Shutdown(absl::Time deadline, Done done) override;

  // The task that hosts the coordinator begins to stop: calls that wait for
  // tasks or reports fail with UNAVAILABLE, and so does each later call that
  // would have to wait.
  void EndWaits();

  // Fails waiting calls with UNAVAILABLE. After it returns, no task is declared
  // lost for missed heartbeats, and nothing is logged. Blocks while a line is
  // being logged.
  void Close();

  // Whether each other live task has received a heartbeat reply with the
  // currently finished jobs: it has sent another heartbeat since that reply.
  bool HaveAllAcknowledged() const;

  // Whether this incarnation of the task has left cleanly.
  bool HasLeft(const std::string& task, uint64_t incarnation) const;

  // The number of tasks of the cluster in each state.
  std::map<protocol::TaskState, int> CountTasks() const;

  // The connection to a task was lost; the task counts as lost until it joins
  // again.
  void OnTaskLost(const std::string& task, uint64_t incarnation,
                  const absl::Status& why);

 private:
  class Impl;
  // Shared with the timers, which hold weak references.
  const std::shared_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_COORDINATOR_H_
