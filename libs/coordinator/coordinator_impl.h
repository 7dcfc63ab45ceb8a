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
  // Numbers of sessions, by task and by container.
  using SessionsByContainer = std::map<std::string, std::map<std::string, int>>;

  absl::Time Now() const { return scheduler_.clock().Now(); }
  // Logs the line after the lock is released, because a logger may be slow.
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
  // Returns FAILED_PRECONDITION if the task belongs to another cluster by its
  // uuid.
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
  // Returns whether the process that wants to join has already sent its Leave
  // request.
  bool HasLeftEarly(const JoinRequest& request) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Once the cluster's uuid is final: records the early leaves of tasks of this
  // cluster, and forgets all other early leaves.
  void SettleEarlyLeaves(DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RecordLeave(const std::string& task, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TakeReport(const std::string& task, const protocol::TaskReport& report,
                  DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropTask(const std::string& task, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Records tasks that have left before this coordinator knew them, as reported
  // by `reporter`.
  void NoteLeft(const std::vector<protocol::LeftTask>& left,
                const std::string& reporter, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts that the task has left or has come back, as a new version.
  void CountChange(const std::string& task)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the tasks that have left or come back since that version.
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
  // Watches the call's cancellation. Returns false if the call is already
  // cancelled.
  bool WatchCancellation(uint64_t id, WaitingCall& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ArmTimer(uint64_t id, WaitingCall& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TimerFired(uint64_t id) ABSL_LOCKS_EXCLUDED(mutex_);
  void Cancelled(uint64_t id, const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status Stopping() const;
  std::vector<uint64_t> CallIds() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes a placement wait for the first report of the task, if the task has
  // joined and has not sent a report yet.
  void AwaitReport(const std::string& task, WaitingCall& call)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnTaskJoined(const std::string& task, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnTaskGone(const std::string& task, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TaskReported(const std::string& task, DeferredCallbacks& callbacks)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Continues the call, or answers it, if it does not have to wait any more.
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
  // Whether the uuid is final: no task can have another one.
  bool uuid_is_settled_ ABSL_GUARDED_BY(mutex_) = false;
  TaskTable tasks_ ABSL_GUARDED_BY(mutex_);
  ResourceRegister register_ ABSL_GUARDED_BY(mutex_);
  // For each task, the last Leave request of a process that had not joined.
  // Kept until the cluster's uuid is final.
  std::map<std::string, protocol::LeaveRequest> early_leaves_
      ABSL_GUARDED_BY(mutex_);
  FinishedJobs finished_jobs_ ABSL_GUARDED_BY(mutex_);
  // left_version_ counts how often tasks have left or come back, starting from
  // 1. left_changes_ is the version of each task's last change.
  uint64_t left_version_ ABSL_GUARDED_BY(mutex_) = 1;
  std::map<std::string, uint64_t> left_changes_ ABSL_GUARDED_BY(mutex_);
  // The number of heartbeat replies that each task was sent since the finished
  // jobs last changed.
  std::map<std::string, int64_t> beats_since_ ABSL_GUARDED_BY(mutex_);
  // The last task and incarnation whose join was refused.
  std::pair<std::string, uint64_t> last_refused_ ABSL_GUARDED_BY(mutex_);
  LineLimit refusals_ ABSL_GUARDED_BY(mutex_);  // about refused joins
  Scheduler::TimerId tick_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Time tick_due_ ABSL_GUARDED_BY(mutex_);
  // whether the last tick was late
  bool was_late_ ABSL_GUARDED_BY(mutex_) = false;
  // When a shutdown was requested; infinite future if it was not.
  absl::Time stopping_since_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  // Whether calls that would have to wait for tasks or reports fail instead.
  bool ends_waits_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t next_call_ ABSL_GUARDED_BY(mutex_) = 1;
  Calls calls_ ABSL_GUARDED_BY(mutex_);
  std::deque<uint64_t> queue_ ABSL_GUARDED_BY(mutex_);
  bool is_placing_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_COORDINATOR_COORDINATOR_IMPL_H_
