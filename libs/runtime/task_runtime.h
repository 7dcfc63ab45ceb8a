// TaskRuntime runs the partitions of a task. It holds the devices with their
// resources, the partitions that masters have registered, and the running
// steps.
//
// Lifetimes: the registrations, stateful kernels, own resources and steps of a
// session end with the session. A session ends with the incarnation of its
// master. Losing the connection to a task ends the steps that have an edge to
// the task or are driven by its master. The sessions of the master are kept for
// a lease, in case it reconnects. Resources that sessions share belong to the
// device.
//
// Threads: all methods may be called from any thread. Kernels run on the
// caller's thread, as PartitionStep::thread allows, or on the Scheduler's
// pools. Sessions and registrations are destroyed on a separate thread
// (Reclaimer), for which the destructor waits.
//
// The methods are in one file per subject: task_runtime_sessions.cc,
// task_runtime_registrations.cc, task_runtime_holds.cc and
// task_runtime_peers.cc. Steps and short methods are in task_runtime.cc.
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
  // The number of deleted sessions that are remembered, so that later requests
  // for them are refused.
  static constexpr size_t kEndedRemembered = 1000;
  // The number of registrations that are remembered because their release
  // arrived before they did. This happens because registrations wait for the
  // compute pool and releases do not.
  static constexpr size_t kReleasedRemembered = 65536;
  // The maximum number of concurrent holds of variables (protocol::StepHold).
  static constexpr size_t kMaxHolds = 1000;

  // A TaskRuntime must be owned by a shared_ptr if other tasks may connect,
  // because the timers of leases have weak references to it.
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

  // Sets the object that holds back steps of this task's own master. Must be
  // called at most once, before others may connect. Without it, this task is
  // assumed to have no steps of its own.
  void SetMaster(std::weak_ptr<protocol::StepHolds> master);

  // Record that a connection with another task, in either direction, was
  // established or was lost. A task may have several connections, which are
  // counted. PeerLost cancels the running steps that have an edge to the task
  // or are driven by it, and returns true if there were any.
  //
  // PeerConnected returns UNAVAILABLE while the same incarnation has
  // connections under the name of another task. The refused connection does not
  // count, and its loss must not be reported.
  absl::Status PeerConnected(const std::string& task, uint64_t incarnation)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool PeerLost(const std::string& task, uint64_t incarnation,
                const absl::Status& why);
  // Records the loss of a connection over which no message of a step was sent.
  // If the same process has another connection, its steps continue and the
  // result is true. If this was the last connection, nothing is changed and the
  // result is false; the caller must then call PeerLost.
  bool DropUnusedConnection(const std::string& task, uint64_t incarnation)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Records that a value which a step on this task sent could not be delivered.
  void PushFailed(const protocol::Push& push, const absl::Status& why) {
    steps_.PushFailed(push, why);
  }

  // Waits until no step runs in which another task takes part; returns false if
  // `deadline` passes first. Blocks.
  bool WaitForSteps(absl::Time deadline) {
    return steps_.WaitUntilNone(*options_.scheduler, deadline);
  }
  // Refuses, with `cause`, new sessions of other masters and new steps of
  // sessions that are not monitored; running steps continue. When a master is
  // lost, or was lost before, its sessions end at once. If one of them is
  // monitored, they end only after drain_lease, in which the master may return.
  // If a master has announced its end, no time is granted.
  void Drain(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until no other master has a monitored session; returns false if
  // `deadline` passes first. Blocks.
  bool WaitForMonitoredSessions(absl::Time deadline) {
    return monitored_.WaitUntilNone(*options_.scheduler, deadline);
  }
  // Ends all steps and sessions with `cause` and refuses new ones.
  void Stop(const absl::Status& cause);

  std::vector<DeviceAttributes> Devices() const;
  // Returns the shared resources on the devices, with the names of their
  // containers.
  std::vector<protocol::PlacedResource> SharedResources() const;
  // Returns the memory in use on the devices that report it. Does not wait for
  // any device.
  std::vector<protocol::DeviceUse> MemoryInUse() const;

  // CountResources counts the task's resources. CountWaits counts the waiting
  // nodes of its steps by op; a node may wait, for example, for a tensor of
  // another device or for space in a queue. Both methods visit all resources
  // and registrations, and acquire their locks.
  ResourceTotals CountResources() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::map<std::string, int64_t> CountWaits() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns the shared resources of device `i`; for tools and tests.
  ResourceManager& resources(int i) { return *shared_resources_[i]; }
  // Returns the sizes of the table of steps.
  StepTable::Size steps() const { return steps_.size(); }
  int num_sessions() const;
  int num_registrations() const;  // of all sessions

 private:
  struct Session {
    // Destroys the resources explicitly, because iterators own the functions
    // that they use, and these own the iterators. Must run on the Reclaimer's
    // thread, because it may close files.
    ~Session();
    // Adds the containers of a graph that the session registers. Their names
    // count as registered bytes until the session ends.
    void AddContainers(const Registration::Containers& more);

    // The devices in whose memory the session has resources and kernels;
    // destroyed last.
    std::vector<std::shared_ptr<Device>> devices;
    uint64_t master_incarnation = 0;
    bool is_monitored = false;
    std::shared_ptr<void> expects_saves;
    StatefulKernels stateful_kernels;
    // The functions that the session's kernels may call, one library for each
    // device.
    std::vector<std::shared_ptr<LocalFunctions>> functions;
    // One for each device if the session is isolated; otherwise empty.
    std::vector<std::shared_ptr<ResourceManager>> own_resources;
    absl::btree_map<uint64_t, std::shared_ptr<Registration>> registrations;
    int64_t registered_bytes = 0;  // of registrations, containers
    // The containers of all graphs that the session has ever registered,
    // because resources outlive graphs.
    Registration::Containers containers;
    int64_t function_bytes = 0;  // kept until the session ends
    // The registrations that were released; some of their steps may still run.
    std::vector<std::pair<uint64_t, std::weak_ptr<Registration>>> released;
  };
  // Returns RESOURCE_EXHAUSTED if a new session would exceed max_sessions.
  absl::Status CheckRoomFor(const protocol::WorkerSession& session) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Returns RESOURCE_EXHAUSTED if the registration would exceed a quota: its
  // graphs have `graph_bytes`, its new functions `function_bytes`. Registering
  // an existing registration again needs no quota.
  absl::Status CheckRegistered(
      const protocol::PartitionRegistration& registration,
      const Session& session, int64_t graph_bytes, int64_t function_bytes) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Sessions by id; ordered, so that a simulation can be repeated.
  using Sessions = absl::btree_map<uint64_t, std::shared_ptr<Session>>;
  // A session that was removed from all tables. It must be destroyed without
  // the lock.
  struct RemovedSession {
    std::shared_ptr<Session> session;
    std::shared_ptr<void> expects_saves;
    absl::btree_map<uint64_t, std::shared_ptr<Registration>> registrations;
    absl::AnyInvocable<void()> cancel_steps;  // must be called without the lock
  };
  // The registrations of a session, including released registrations whose
  // steps still run.
  struct SessionGraphs {
    std::string task;  // of its master; empty if not connected
    protocol::WorkerSession session;
    std::vector<std::pair<uint64_t, std::shared_ptr<Registration>>>
        registrations;
  };
  // The writers of some variables: `named` are graphs of connected masters,
  // `absent` are masters that are not connected and have graphs that write
  // them.
  struct Writers {
    std::vector<protocol::VariableWriter> named;
    absl::btree_set<uint64_t> absent;
  };
  struct PeerState {
    std::string task;
    int connections = 0;
    Scheduler::TimerId lease = 0;
    bool claims = false;
    // Whether the peer was lost while other processes claimed its task. The
    // peer still has the task.
    bool is_claimed = false;
    uint64_t losses = 0;     // number of leases begun so far
    bool has_ended = false;  // whether it announced its end
  };

  // Returns the end iterator if the session does not exist, or belongs to
  // another master.
  Sessions::const_iterator FindSession(const protocol::WorkerSession& session)
      const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Returns an error if the session may not register graphs and run steps. The
  // end iterator stands for an unknown session.
  absl::Status CheckSessionActive(Sessions::const_iterator it) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Returns the session of the registration; an error if the registration is
  // not needed any more.
  absl::StatusOr<std::shared_ptr<Session>> SessionFor(
      const protocol::PartitionRegistration& registration) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::shared_ptr<Registration>> FindRegistration(
      const protocol::WorkerSession& session, uint64_t registration) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the registrations of all sessions of one master, or of all masters.
  std::vector<std::shared_ptr<Registration>> RegistrationsOf(
      std::optional<uint64_t> master_incarnation) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status AddSession(const protocol::WorkerSession& session,
                          const protocol::WorkerSessionOptions& options);
  // Returns the error with which the session is refused; OK if it may continue.
  absl::Status CheckAdmits(const Session& session) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Returns whether WaitForMonitoredSessions waits for the session.
  bool IsMonitoredByOther(const Session& session) const {
    return session.is_monitored &&
           session.master_incarnation != options_.incarnation;
  }
  void RemoveSession(const protocol::WorkerSession& session,
                     const absl::Status& cause);
  RemovedSession TakeOut(Sessions::const_iterator it, const absl::Status& cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static void CancelSteps(std::vector<RemovedSession> sessions);
  // Calls CancelSteps on the control pool, because the caller's thread may read
  // messages.
  void CancelStepsSoon(std::vector<RemovedSession> sessions);
  // Returns the index of the device in devices_.
  absl::StatusOr<size_t> FindDevice(const std::string& name) const;
  // Returns the bytes of the functions that the session does not have yet.
  absl::StatusOr<int64_t> CountNewFunctions(
      const protocol::PartitionRegistration& registration,
      const Session& session) const;
  // Adds the functions to the session. `added` receives the bytes of the added
  // functions, even after an error.
  absl::Status AddFunctions(const protocol::PartitionRegistration& registration,
                            const Session& session, int64_t& added) const;
  // Adds the registration's functions to its session, and returns the session.
  // Fails if the graphs, which have `graph_bytes`, exceed the quota.
  absl::StatusOr<std::shared_ptr<Session>> BeginRegistration(
      const protocol::PartitionRegistration& registration, int64_t graph_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<Registration>> AddRegistration(
      const protocol::PartitionRegistration& registration);
  // Returns FAILED_PRECONDITION, with the names of the variables, if a graph
  // waits for variables that will never have a value. That is so if another
  // session has finished initializing other variables that the graph awaits on
  // the device, and has no variables of the missing names.
  absl::Status CheckAwaited(const VariableUses& uses) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the names of those `variables` that such another session lacks.
  absl::btree_set<std::string> FindLacking(
      const absl::btree_set<VariableKey>& variables,
      const absl::btree_set<VariableKey>& awaited) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls `then`, or defers it to the end of a hold that affects the variables.
  void AfterHolds(const VariableUses& uses, absl::AnyInvocable<void()> then)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status EndedBefore(const protocol::StepId& holder) const;
  absl::StatusOr<std::vector<protocol::VariableWriter>> HoldVariables(
      const protocol::StepHold& hold) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ReleaseVariables(const protocol::StepId& holder)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds a hold, as yet without the masters of the variables' writers.
  absl::Status AddHold(const protocol::StepHold& hold,
                       const absl::btree_set<VariableKey>& variables)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the writers to an existing hold. After an error the hold is removed
  // and returned in `refused`, so that the caller can end it. Returns ABORTED
  // if a master has reconnected whose steps the hold did not wait for.
  absl::Status NoteWriters(const protocol::StepId& holder,
                           const Writers& writers, VariableHolds::Hold& refused)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<SessionGraphs> AllGraphs() const ABSL_LOCKS_EXCLUDED(mutex_);
  Writers FindWriters(const absl::btree_set<VariableKey>& variables) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the task of a connected master; empty while the master is not
  // connected.
  std::string TaskOf(uint64_t master_incarnation) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // EndHoldsOf ends the holds whose holder is a step of a master that is not
  // connected any more. EndHoldsWithout ends the holds for which the master
  // counted as absent.
  void EndHoldsOf(uint64_t master_incarnation) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndHoldsWithout(uint64_t master_incarnation) ABSL_LOCKS_EXCLUDED(mutex_);
  void End(VariableHolds::Hold hold);
  // Returns the graph's new variables in host memory, if they are large.
  protocol::NewVariables FindNewVariables(const Registration& graph) const;
  // Waits until the tasks to which the edges lead are connected, so that the
  // first step need not wait.
  void ConnectTo(const RemoteEdges& edges, absl::Time deadline, Done done);
  absl::StatusOr<std::shared_ptr<Registration>> Compile(
      const protocol::PartitionRegistration& registration,
      std::shared_ptr<Session> session) const;
  absl::StatusOr<Registration::DevicePlan> CompilePartition(
      const protocol::DevicePartition& partition, Session& session) const;
  std::vector<std::shared_ptr<ResourceManager>> NewResources() const;
  // Ends the sessions that have had a graph with a resource in one of the
  // containers. The master that clears containers has ended its own sessions
  // before.
  void EndSessionsThatUse(const Registration::Containers& containers)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<uint64_t> SessionsThatUse(
      const Registration::Containers& containers) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Returns OK unless the caller has given up the request.
  absl::Status CheckWanted(absl::Time deadline,
                           const Cancellation& client) const;
  // Notifies a task, whose connection was lost, that a step has failed, once
  // the task is connected again.
  void AbortAt(const std::string& task, const protocol::StepId& step,
               const absl::Status& cause);
  // Forgets the sessions of a master that will not return.
  void DropMaster(uint64_t incarnation, const absl::Status& cause);
  // Removes the sessions of a master; forgets the master unless it is
  // connected.
  std::vector<RemovedSession> ForgetMaster(uint64_t incarnation,
                                           const absl::Status& cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns other incarnations of the task: those that have connections if
  // `connected`, else those that do not.
  std::vector<uint64_t> OthersOf(const std::string& task, uint64_t incarnation,
                                 bool connected) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Returns whether another incarnation owns the task.
  bool IsTaken(const std::string& task, uint64_t incarnation) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Records the loss of a connection. The loss of the last one begins the
  // incarnation's lease. Returns true if the incarnation only claims its task,
  // but does not own it.
  bool LoseConnection(uint64_t incarnation, bool has_ended)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends the claims of other connected incarnations to the task; returns true
  // if there are any such incarnations.
  bool EndClaims(const std::string& task, uint64_t incarnation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropPredecessor(const std::string& task, uint64_t incarnation);
  absl::Duration LeaseOf(uint64_t incarnation, const PeerState& peer) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  bool HasMonitoredSession(uint64_t incarnation) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  void BeginLease(uint64_t incarnation, PeerState& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends a lease: removes the master's sessions and returns them. Returns no
  // sessions if the lease is restarted, because the process that claimed the
  // task is gone.
  std::vector<RemovedSession> EndLease(uint64_t incarnation, PeerState& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Called when the lease has expired that began when the master was lost for
  // the time number `loss`.
  void LeaseExpired(uint64_t incarnation, uint64_t loss);

  const std::vector<std::shared_ptr<Device>> devices_;
  const TaskRuntimeOptions options_;
  // Destroys sessions and registrations, whose last reference may be released
  // on any thread.
  const std::shared_ptr<Reclaimer> reclaimer_;
  // Frees values that no step has received. Separate from reclaimer_, so that
  // freeing memory does not wait for files that reclaimer_ closes.
  const std::shared_ptr<Reclaimer> value_reclaimer_;
  const std::vector<std::shared_ptr<ResourceManager>> shared_resources_;
  StepTable steps_;
  InFlight monitored_;   // open monitored sessions of other masters
  InFlight cancelling_;  // closures of CancelStepsSoon

  mutable absl::Mutex mutex_;
  // The error with which new sessions and steps are refused; OK while the task
  // runs. Steps of monitored sessions are not refused while the task drains.
  absl::Status stopped_ ABSL_GUARDED_BY(mutex_);
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  // Also guards the registrations within the sessions.
  Sessions sessions_ ABSL_GUARDED_BY(mutex_);
  // Keys: the master and the session.
  Ended<std::pair<uint64_t, uint64_t>> ended_sessions_ ABSL_GUARDED_BY(mutex_){
      kEndedRemembered};
  // The registrations that were released before they arrived. Keys: the session
  // and the registration.
  Ended<std::pair<uint64_t, uint64_t>> ended_registrations_
      ABSL_GUARDED_BY(mutex_){kReleasedRemembered};
  std::map<uint64_t, PeerState> peers_ ABSL_GUARDED_BY(mutex_);
  VariableHolds holds_ ABSL_GUARDED_BY(mutex_);
  // The holds that were released before they arrived. Keys: the steps that
  // requested them.
  Ended<protocol::StepId> ended_holds_ ABSL_GUARDED_BY(mutex_){
      kEndedRemembered};
  std::weak_ptr<protocol::StepHolds> master_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_TASK_RUNTIME_H_
