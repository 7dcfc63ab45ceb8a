// Coordinator::Impl is the state of a coordinator with all operations on it.
// Internal to this module. Its methods are in three files:
// coordinator_members.cc (membership), coordinator_calls.cc (waiting calls) and
// coordinator_placing.cc; short ones are in coordinator.cc.
//
// Threads: all public methods may be called from any thread; one lock.
#ifndef WEFT_LIBS_COORDINATOR_COORDINATOR_IMPL_H_
#define WEFT_LIBS_COORDINATOR_COORDINATOR_IMPL_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/async/limited_log.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/coordinator/coordinator.h"
#include "libs/coordinator/deferred_callbacks.h"
#include "libs/coordinator/finished_jobs.h"
#include "libs/coordinator/placement_work.h"
#include "libs/coordinator/resource_register.h"
#include "libs/coordinator/task_table.h"
#include "libs/coordinator/waiting_call.h"
#include "libs/placement/placer.h"

namespace weft {

class Coordinator::Impl : public std::enable_shared_from_this<Impl> {
 public:
  using ClusterQuery = protocol::ClusterQuery;
  using ClusterStatus = protocol::ClusterStatus;
  using HeartbeatReply = protocol::HeartbeatReply;
  using HeartbeatRequest = protocol::HeartbeatRequest;
  using JoinReply = protocol::JoinReply;
  using JoinRequest = protocol::JoinRequest;
  using PlacementReply = protocol::PlacementReply;
  using PlacementRequest = protocol::PlacementRequest;

  explicit Impl(const CoordinatorOptions& options);

  void Close() ABSL_LOCKS_EXCLUDED(mutex_);
  void EndWaits() ABSL_LOCKS_EXCLUDED(mutex_);
  void Join(const JoinRequest& request, Answer<JoinReply> done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Heartbeat(const HeartbeatRequest& request, Answer<HeartbeatReply> done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Leave(const protocol::LeaveRequest& request) ABSL_LOCKS_EXCLUDED(mutex_);
  void OnTaskLost(const std::string& task, uint64_t incarnation,
                  const absl::Status& why) ABSL_LOCKS_EXCLUDED(mutex_);
  void Place(const PlacementRequest& request, absl::Time deadline,
             std::shared_ptr<Cancellation> cancellation,
             Answer<PlacementReply> done) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndSession(uint64_t session) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ForgetContainers(const std::vector<std::string>& containers,
                                const std::vector<std::string>& device_filters)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void ListDevices(const std::vector<std::string>& device_filters,
                   absl::Time deadline,
                   std::shared_ptr<Cancellation> cancellation,
                   Answer<std::vector<DeviceAttributes>> done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  ClusterStatus GetCluster(const ClusterQuery& query)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void GetFreshCluster(absl::Time deadline, Answer<ClusterStatus> done)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool HaveAllAcknowledged() const ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasLeft(const std::string& task, uint64_t incarnation) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::map<protocol::TaskState, int> CountTasks() const
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Shutdown() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Calls = std::map<uint64_t, WaitingCall>;
  // By task and container.
  using SessionsByContainer = std::map<std::string, std::map<std::string, int>>;

  absl::Time Now() const { return scheduler_.clock().Now(); }
  // Logs after the lock is released: a logger may be slow.
  void Log(Severity severity, std::string line, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  ClusterStatus Status(const SessionsByContainer& sessions_by_container) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Membership.
  absl::StatusOr<JoinReply> JoinLocked(const JoinRequest& request,
                                       DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogRefusal(const JoinRequest& request, const absl::Status& why,
                  DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // FAILED_PRECONDITION for a task that claims to be of another cluster.
  absl::Status CheckUuid(const JoinRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SettleUuid(const std::string& told)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::string SettledUuid() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return uuid_is_settled_ ? cluster_uuid_ : "";
  }
  absl::StatusOr<HeartbeatReply> HeartbeatLocked(
      const HeartbeatRequest& request, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MustStop(const std::string& task) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether this process sent its Leave before it joined.
  bool HasLeftEarly(const JoinRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records the early leaves of this cluster, and forgets all others, once the
  // uuid is final.
  void SettleEarlyLeaves(DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordLeave(const std::string& task, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeReport(const std::string& task, const protocol::TaskReport& report,
                  DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropTask(const std::string& task, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records tasks that left before they joined this coordinator, as reported by
  // `reporter`.
  void NoteLeft(const std::vector<protocol::LeftTask>& left,
                const std::string& reporter, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts that the task has left, or is back.
  void CountChange(const std::string& task)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the tasks that left or came back after that version.
  std::vector<protocol::LeftTask> LeftSince(uint64_t version) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UpdateFinishedJobs() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ExtendTimeoutsIfLate(absl::Time now, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ArmTick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Tick() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waiting calls.
  absl::Status CheckRequest(const PlacementRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Begin(WaitingCall call, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns false if it is cancelled already.
  bool WatchCancellation(uint64_t id, WaitingCall& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ArmTimer(uint64_t id, WaitingCall& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TimerFired(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Cancelled(uint64_t id, const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Stopping() const;
  std::vector<uint64_t> CallIds() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // A placement waits for the first report of a task that has joined.
  void AwaitReport(const std::string& task, WaitingCall& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnTaskJoined(const std::string& task, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnTaskGone(const std::string& task, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TaskReported(const std::string& task, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Continues a call, or ends it, if there is nothing to wait for.
  void Advance(uint64_t id, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void AnswerStatus(Calls::iterator call, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  WaitingCall Remove(Calls::iterator call, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Fail(Calls::iterator call, absl::Status why,
            DeferredCallbacks& callbacks) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckMaster(const WaitingCall& call) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Placement, one graph at a time.
  void Kick() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PlaceNext() ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<PlacementWork> TakeWork(DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Placed(const PlacementWork& work, absl::StatusOr<Placement> placement,
              DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes a call that failed because a task has left wait until that task is
  // back. Returns false if the call has waited long enough or failed for
  // another reason.
  bool AwaitReturn(Calls::iterator it, const std::string& task,
                   const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Settle(Calls::iterator it, Placement placement,
              DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const CoordinatorOptions options_;
  Scheduler& scheduler_;
  InFlight logging_;  // lines that are not logged yet

  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::string cluster_uuid_ ABSL_GUARDED_BY(mutex_);
  // No task can know another uuid.
  bool uuid_is_settled_ ABSL_GUARDED_BY(mutex_) = false;
  TaskTable tasks_ ABSL_GUARDED_BY(mutex_);
  ResourceRegister register_ ABSL_GUARDED_BY(mutex_);
  // By task: the last Leave of a process that had not joined, until the
  // cluster's uuid is final.
  std::map<std::string, protocol::LeaveRequest> early_leaves_
      ABSL_GUARDED_BY(mutex_);
  FinishedJobs finished_jobs_ ABSL_GUARDED_BY(mutex_);
  // The number of times that tasks have left or come back, from 1; and when
  // each task last did.
  uint64_t left_version_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<std::string, uint64_t> left_changes_ ABSL_GUARDED_BY(mutex_);
  // How often each task was sent these.
  std::map<std::string, int64_t> beats_since_ ABSL_GUARDED_BY(mutex_);
  // The last task and incarnation whose join was refused.
  std::pair<std::string, uint64_t> last_refused_ ABSL_GUARDED_BY(mutex_);
  LineLimit refusals_ ABSL_GUARDED_BY(mutex_);  // lines about these
  Scheduler::TimerId tick_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time tick_due_ ABSL_GUARDED_BY(mutex_);
  bool was_late_ ABSL_GUARDED_BY(mutex_) = false;  // the last tick
  // Infinite future: no shutdown was requested.
  absl::Time stopping_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  // No call may wait for tasks or reports any more.
  bool ends_waits_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_call_ ABSL_GUARDED_BY(mutex_) = 1;
  Calls calls_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> queue_ ABSL_GUARDED_BY(mutex_);
  bool is_placing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_COORDINATOR_IMPL_H_
