// TaskRuntime runs a task's partitions: it holds the devices with their
// resources, the partitions that masters have registered, and their running
// steps.
//
// Lifetimes: a session's registrations, stateful kernels, own resources and
// steps end with the session, the session with the incarnation of its master.
// Losing the connection to a task ends the steps that have an edge to it or are
// driven by its master; the master's sessions are kept for a lease, in case it
// reconnects. Resources that sessions share belong to the device.
//
// Threads: all methods may be called from any thread; kernels run on the
// caller's thread, as PartitionStep::thread allows, or the Scheduler's pools.
// Sessions and registrations are destroyed on a separate thread (Reclaimer),
// which the destructor waits for.
//
// The methods are in one file per subject: task_runtime_sessions.cc,
// task_runtime_registrations.cc, task_runtime_holds.cc, task_runtime_peers.cc;
// short ones, and steps, in task_runtime.cc.
#ifndef WEFT_LIBS_RUNTIME_TASK_RUNTIME_H_
#define WEFT_LIBS_RUNTIME_TASK_RUNTIME_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/ended.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/async/reclaimer.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/device/device.h"
#include "libs/executor/executor.h"
#include "libs/executor/local_functions.h"
#include "libs/fs/file_system.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/protocol/coordinator/coordinator.h"
#include "libs/protocol/worker/worker.h"
#include "libs/resource/resource_manager.h"
#include "libs/runtime/registration.h"
#include "libs/runtime/runtime_metrics.h"
#include "libs/runtime/step_table.h"
#include "libs/runtime/task_runtime_options.h"
#include "libs/runtime/variable_holds.h"
#include "libs/runtime/variable_uses.h"

namespace weft {

class TaskRuntime : public protocol::Worker,
                    public std::enable_shared_from_this<TaskRuntime> {
 public:
  // The number of deleted sessions remembered; later requests for them are
  // refused.
  static constexpr size_t kEndedRemembered = 1000;
  // The same for registrations that were released before they arrived. Their
  // releases overtake graphs that wait for the compute pool.
  static constexpr size_t kReleasedRemembered = 65536;
  // The maximum number of concurrent holds of variables.
  static constexpr size_t kMaxHolds = 1000;

  // Must be owned by a shared_ptr if other tasks may connect: timers of leases
  // have weak references to it.
  TaskRuntime(std::vector<std::unique_ptr<Device>> devices,
              const TaskRuntimeOptions& options);
  // REQUIRES: no step is running.
  ~TaskRuntime() override;

  void GetStatusWhenConnected(absl::Time deadline, DevicesDone done) override;
  void CreateWorkerSession(const protocol::WorkerSession& session,
                           const protocol::WorkerSessionOptions& options,
                           absl::Time deadline, Done done) override;
  void DeleteWorkerSession(const protocol::WorkerSession& session,
                           absl::Time deadline, Done done) override;
  void Register(const protocol::PartitionRegistration& registration,
                absl::Time deadline, RegisterDone done) override;
  void Deregister(const protocol::WorkerSession& session,
                  uint64_t registration) override;
  void Run(const protocol::PartitionStep& step, Done done) override;
  void Deliver(std::vector<protocol::Push> pushes) override;
  void Abort(const protocol::StepId& step, uint64_t steps_finished_below,
             const absl::Status& cause, Done done) override;
  void DescribeWaits(const protocol::StepId& step, absl::Time deadline,
                     WaitsDone done) override;
  void HoldSteps(const protocol::StepHold& hold, absl::Time deadline,
                 HoldDone done) override;
  void ClearContainers(const std::vector<std::string>& containers,
                       absl::Time deadline,
                       const std::shared_ptr<Cancellation>& client,
                       Done done) override;

  // Sets the holder of the steps of this task's own master; once, before others
  // may connect. Without it, there are no such steps.
  void SetMaster(std::weak_ptr<protocol::StepHolds> master);

  // A connection with another task, in either direction, is established or was
  // lost. Counted: a task may have several. A loss cancels the running steps
  // that have an edge to the task or are driven by it: true if there were any.
  // PERMISSION_DENIED while the incarnation has connections as another task:
  // this one does not count, and its loss must not be reported.
  absl::Status PeerConnected(const std::string& task, uint64_t incarnation)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool PeerLost(const std::string& task, uint64_t incarnation,
                const absl::Status& why);
  // A connection that has carried no message of a step was lost. Drops it and
  // returns true if the same process has another one: its steps continue.
  // Returns false, without a change, if it is the last one: then call PeerLost.
  bool DropUnusedConnection(const std::string& task, uint64_t incarnation)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // A value of a step here could not be sent.
  void PushFailed(const protocol::Push& push, const absl::Status& why) {
    steps_.PushFailed(push, why);
  }

  // Waits until no step runs that another task takes part in; false if
  // `deadline` passed first. Blocks.
  bool WaitForSteps(absl::Time deadline) {
    return steps_.WaitUntilNone(*options_.scheduler, deadline);
  }
  // Refuses with `cause` new sessions of other masters, and steps of sessions
  // that are not monitored; running ones continue. Sessions of masters that are
  // lost, now or later, end at once, unless one of them is monitored: then that
  // master has the drain_lease to return. A master that has announced its end
  // is not waited for.
  void Drain(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until there is no monitored session of another master; false if
  // `deadline` passed first. Blocks.
  bool WaitForMonitoredSessions(absl::Time deadline) {
    return monitored_.WaitUntilNone(*options_.scheduler, deadline);
  }
  // Ends all steps and sessions with `cause` and refuses new ones.
  void Stop(const absl::Status& cause);

  std::vector<DeviceAttributes> Devices() const;
  // The shared resources on the devices, with their containers' names.
  std::vector<protocol::PlacedResource> SharedResources() const;
  // Of the devices that report it. Does not wait for any of them.
  std::vector<protocol::DeviceUse> MemoryInUse() const;

  // Counts the task's resources, and the waiting nodes of its steps, by op:
  // waiting for a tensor of another device, for space in a queue, and so on.
  // Both visit all resources and registrations, and wait for their locks.
  ResourceTotals CountResources() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::map<std::string, int64_t> CountWaits() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The shared resources of device `i`; for tools and tests.
  ResourceManager& resources(int i) { return *shared_resources_[i]; }
  // The size of the table of steps.
  StepTable::Size steps() const { return steps_.size(); }
  int num_sessions() const;
  int num_registrations() const;  // of all sessions

 private:
  struct Session {
    // Iterators keep alive what their functions use, and thus themselves. Runs
    // on the Reclaimer's thread: it may close files.
    ~Session();
    // The containers of a graph that it registers. Their names count as
    // registered bytes for as long as the session lives.
    void AddContainers(const Registration::Containers& more);

    // Its resources and kernels have memory there; destroyed last.
    std::vector<std::shared_ptr<Device>> devices;
    uint64_t master_incarnation = 0;
    bool is_monitored = false;
    std::shared_ptr<void> expects_saves;
    StatefulKernels stateful_kernels;
    // The functions of its kernels, one for each device.
    std::vector<std::shared_ptr<LocalFunctions>> functions;
    // One for each device, if isolated.
    std::vector<std::shared_ptr<ResourceManager>> own_resources;
    absl::btree_map<uint64_t, std::shared_ptr<Registration>> registrations;
    int64_t registered_bytes = 0;  // of these, and of containers
    // Of all graphs that it has ever registered: resources outlive graphs.
    Registration::Containers containers;
    int64_t function_bytes = 0;  // kept until the session ends
    // The released ones, some of whose steps may still run.
    std::vector<std::pair<uint64_t, std::weak_ptr<Registration>>> released;
  };
  // Returns RESOURCE_EXHAUSTED if a new session would exceed max_sessions.
  absl::Status CheckRoomFor(const protocol::WorkerSession& session) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Returns RESOURCE_EXHAUSTED if the registration with graphs of that size,
  // unless it already exists, and its new functions would exceed a quota.
  absl::Status CheckRegistered(
      const protocol::PartitionRegistration& registration,
      const Session& session, int64_t graph_bytes, int64_t function_bytes) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Ordered, so that a simulation can be repeated.
  using Sessions = absl::btree_map<uint64_t, std::shared_ptr<Session>>;
  // Removed from all tables; must be destroyed without the lock.
  struct RemovedSession {
    std::shared_ptr<Session> session;
    std::shared_ptr<void> expects_saves;
    absl::btree_map<uint64_t, std::shared_ptr<Registration>> registrations;
    absl::AnyInvocable<void()> cancel_steps;  // must also be called without it
  };
  // The registrations of a session, and released ones that still run.
  struct SessionGraphs {
    std::string task;  // of its master; empty while that is not connected
    protocol::WorkerSession session;
    std::vector<std::pair<uint64_t, std::shared_ptr<Registration>>>
        registrations;
  };
  // The writers of some variables: graphs of connected masters, and the other
  // masters.
  struct Writers {
    std::vector<protocol::VariableWriter> named;
    absl::btree_set<uint64_t> absent;
  };
  struct PeerState {
    std::string task;
    int connections = 0;
    Scheduler::TimerId lease = 0;
    bool claims = false;
    // The peer was lost while others claimed its task, which it still has.
    bool is_claimed = false;
    uint64_t losses = 0;     // the number of leases begun
    bool has_ended = false;  // as announced by itself
  };

  // Returns the end iterator if the session does not exist, or belongs to
  // another master.
  Sessions::const_iterator FindSession(const protocol::WorkerSession& session)
      const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Returns the error if the session, or an unknown one (the end), may not
  // register and run.
  absl::Status CheckSessionActive(Sessions::const_iterator it) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // The session of the registration; an error if it is not needed any more.
  absl::StatusOr<std::shared_ptr<Session>> SessionFor(
      const protocol::PartitionRegistration& registration) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::shared_ptr<Registration>> FindRegistration(
      const protocol::WorkerSession& session, uint64_t registration) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The registrations of all sessions of one master, or of all masters.
  std::vector<std::shared_ptr<Registration>> RegistrationsOf(
      std::optional<uint64_t> master_incarnation) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status AddSession(const protocol::WorkerSession& session,
                          const protocol::WorkerSessionOptions& options);
  // Returns why a session is refused; OK for one of the own master, which may
  // continue.
  absl::Status CheckAdmits(const Session& session) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Whether WaitForMonitoredSessions waits for the session.
  bool IsMonitoredByOther(const Session& session) const {
    return session.is_monitored &&
           session.master_incarnation != options_.incarnation;
  }
  void RemoveSession(const protocol::WorkerSession& session,
                     const absl::Status& cause);
  RemovedSession TakeOut(Sessions::const_iterator it, const absl::Status& cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void CancelSteps(std::vector<RemovedSession> sessions);
  // The same, on the control pool: the caller's thread may read messages.
  void CancelStepsSoon(std::vector<RemovedSession> sessions);
  // The index of the device in devices_.
  absl::StatusOr<size_t> FindDevice(const std::string& name) const;
  // The bytes of the functions that the session does not have yet.
  absl::StatusOr<int64_t> CountNewFunctions(
      const protocol::PartitionRegistration& registration,
      const Session& session) const;
  // Returns the added bytes in `bytes`, also if it fails.
  absl::Status AddFunctions(const protocol::PartitionRegistration& registration,
                            const Session& session, int64_t& added) const;
  // Returns the session with the functions of the registration, if its graphs
  // of that size are within the quota.
  absl::StatusOr<std::shared_ptr<Session>> BeginRegistration(
      const protocol::PartitionRegistration& registration, int64_t graph_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<Registration>> AddRegistration(
      const protocol::PartitionRegistration& registration);
  // Returns FAILED_PRECONDITION, naming them, if a graph waits for variables
  // that will never have a value: another existing session has initialized
  // others of the awaited variables on the device, has finished doing so, and
  // has none of these names.
  absl::Status CheckAwaited(const VariableUses& uses) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The names of `variables` that such a session lacks.
  absl::btree_set<std::string> FindLacking(
      const absl::btree_set<VariableKey>& variables,
      const absl::btree_set<VariableKey>& awaited) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds `then` to what waits for a hold, or calls it.
  void AfterHolds(const VariableUses& uses, absl::AnyInvocable<void()> then)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status EndedBefore(const protocol::StepId& holder) const;
  absl::StatusOr<std::vector<protocol::VariableWriter>> HoldVariables(
      const protocol::StepHold& hold) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ReleaseVariables(const protocol::StepId& holder)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds a hold without the masters of its writers.
  absl::Status AddHold(const protocol::StepHold& hold,
                       const absl::btree_set<VariableKey>& variables)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the writers to a hold that was added before. On an error the hold is
  // removed, to be ended: ABORTED if a master has returned whose steps were not
  // waited for.
  absl::Status NoteWriters(const protocol::StepId& holder,
                           const Writers& writers, VariableHolds::Hold& refused)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<SessionGraphs> AllGraphs() const ABSL_LOCKS_EXCLUDED(mutex_);
  Writers FindWriters(const absl::btree_set<VariableKey>& variables) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The task of a connected master; empty while it is not connected.
  std::string TaskOf(uint64_t master_incarnation) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Ends the holds of a master that is not connected any more, and of one that
  // was absent when they began.
  void EndHoldsOf(uint64_t master_incarnation) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndHoldsWithout(uint64_t master_incarnation) ABSL_LOCKS_EXCLUDED(mutex_);
  void End(VariableHolds::Hold hold);
  // The new variables in host memory, if they are large.
  protocol::NewVariables FindNewVariables(const Registration& graph) const;
  // Waits for the tasks that the edges go to, so that the first step does not
  // have to.
  void ConnectTo(const RemoteEdges& edges, absl::Time deadline, Done done);
  absl::StatusOr<std::shared_ptr<Registration>> Compile(
      const protocol::PartitionRegistration& registration,
      std::shared_ptr<Session> session) const;
  absl::StatusOr<Registration::DevicePlan> CompilePartition(
      const protocol::DevicePartition& partition, Session& session) const;
  std::vector<std::shared_ptr<ResourceManager>> NewResources() const;
  // Ends the sessions that have had a graph with a resource in one of them.
  // (The master that clears containers has ended its own before.)
  void EndSessionsThatUse(const Registration::Containers& containers)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<uint64_t> SessionsThatUse(
      const Registration::Containers& containers) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // OK unless the caller has given up.
  absl::Status CheckWanted(absl::Time deadline,
                           const Cancellation& client) const;
  // Notifies a lost task, once it is back, that a step has failed.
  void AbortAt(const std::string& task, const protocol::StepId& step,
               const absl::Status& cause);
  // Forgets the sessions of a master that will not return.
  void DropMaster(uint64_t incarnation, const absl::Status& cause);
  // Removes the sessions of a master; forgets it unless it is connected.
  std::vector<RemovedSession> ForgetMaster(uint64_t incarnation,
                                           const absl::Status& cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The task's other incarnations that have connections, or have none.
  std::vector<uint64_t> OthersOf(const std::string& task, uint64_t incarnation,
                                 bool connected) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Whether another incarnation is the task.
  bool IsTaken(const std::string& task, uint64_t incarnation) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Its lease begins with the loss of its last connection. Returns true if it
  // only claims its task.
  bool LoseConnection(uint64_t incarnation, bool has_ended)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The task's other connected incarnations no longer claim it; returns true if
  // there are any.
  bool EndClaims(const std::string& task, uint64_t incarnation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropPredecessor(const std::string& task, uint64_t incarnation);
  absl::Duration LeaseOf(uint64_t incarnation, const PeerState& peer) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool HasMonitoredSession(uint64_t incarnation) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void BeginLease(uint64_t incarnation, PeerState& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the sessions that end with a lease; none if the lease is restarted
  // because no process claims the task any more.
  std::vector<RemovedSession> EndLease(uint64_t incarnation, PeerState& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The lease that began with the master's loss of that number has expired.
  void LeaseExpired(uint64_t incarnation, uint64_t loss);

  const std::vector<std::shared_ptr<Device>> devices_;
  const TaskRuntimeOptions options_;
  // For sessions and registrations, whose last reference may be on any thread.
  const std::shared_ptr<Reclaimer> reclaimer_;
  // For values that no step has received: their memory must not wait for files
  // that the other one closes.
  const std::shared_ptr<Reclaimer> value_reclaimer_;
  const std::vector<std::shared_ptr<ResourceManager>> shared_resources_;
  StepTable steps_;
  InFlight monitored_;   // open monitored sessions of other masters
  InFlight cancelling_;  // closures of CancelStepsSoon

  mutable absl::Mutex mutex_;
  // Why new sessions and steps are refused. While the task drains, steps of
  // monitored sessions are not refused.
  absl::Status stopped_ ABSL_GUARDED_BY(mutex_);
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  // The registrations inside are protected by mutex_, too.
  Sessions sessions_ ABSL_GUARDED_BY(mutex_);
  // Master and session.
  Ended<std::pair<uint64_t, uint64_t>> ended_sessions_ ABSL_GUARDED_BY(mutex_){
      kEndedRemembered};
  // Session and registration; those that were released before they arrived.
  Ended<std::pair<uint64_t, uint64_t>> ended_registrations_
      ABSL_GUARDED_BY(mutex_){kReleasedRemembered};
  std::map<uint64_t, PeerState> peers_ ABSL_GUARDED_BY(mutex_);
  VariableHolds holds_ ABSL_GUARDED_BY(mutex_);
  // Of steps; those that were released before they arrived.
  Ended<protocol::StepId> ended_holds_ ABSL_GUARDED_BY(mutex_){
      kEndedRemembered};
  std::weak_ptr<protocol::StepHolds> master_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_TASK_RUNTIME_H_
