// Coordinator implements protocol::Coordinator: it tracks the tasks of the
// cluster and places graphs on them. Its state is soft: a new coordinator
// learns everything from the tasks.
//
// Threads: all methods may be called from any thread. Answers are passed
// without holding the lock, on the thread that completed the call or on a
// timer's thread.
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
  Random* random = nullptr;        // never null; must outlive the coordinator
  ClusterSpec cluster;
  std::string task;          // the coordinator's task
  uint64_t incarnation = 0;  // the task's incarnation; never 0
  // The interval between the heartbeats of a task, and the time without
  // heartbeats after which a task is lost. Infinite: tasks need not send
  // heartbeats.
  absl::Duration heartbeat_interval = absl::Seconds(1);
  absl::Duration heartbeat_timeout = absl::Seconds(5);
  Logger* logger = nullptr;  // may be null
};

class Coordinator : public protocol::Coordinator {
 public:
  explicit Coordinator(const CoordinatorOptions& options);
  ~Coordinator() override;  // calls Close

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

  // Called when the task that hosts the coordinator begins to stop. Calls that
  // wait for tasks or reports fail with UNAVAILABLE, and so does each later
  // call that has to wait.
  void EndWaits();

  // Fails waiting calls with UNAVAILABLE. After Close returns, no task is
  // declared lost for missed heartbeats, and nothing is logged. Blocks while a
  // line is being logged.
  void Close();

  // Returns whether each other live task has received a heartbeat reply with
  // the currently finished jobs. That is known once the task has sent another
  // heartbeat after that reply.
  bool HaveAllAcknowledged() const;

  // Returns whether this incarnation of the task has left cleanly.
  bool HasLeft(const std::string& task, uint64_t incarnation) const;

  // Returns the number of tasks of the cluster in each state.
  std::map<protocol::TaskState, int> CountTasks() const;

  // Records that the connection to a task was lost. The task counts as lost
  // until it joins again.
  void OnTaskLost(const std::string& task, uint64_t incarnation,
                  const absl::Status& why);

 private:
  class Impl;
  // Shared with the timers, which hold weak references to it.
  const std::shared_ptr<Impl> impl_;
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_COORDINATOR_H_
