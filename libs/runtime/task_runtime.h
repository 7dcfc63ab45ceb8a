// TaskRuntime: a task's engine room: its devices with their resources, the
// partitions that masters have registered, and the steps that run them.
//
// Who dies with whom: a session's registrations, stateful kernels, own
// resources and steps die with the session, the session with the incarnation of
// its master. Losing the connection to a task ends the steps that have an edge
// to it or are driven by its master; the master's sessions stay for a lease, in
// case it connects again. Resources that sessions share belong to the device.
//
// Threads: all methods may be called from any thread; kernels run on the
// caller's thread, as PartitionStep::thread says, or the Scheduler's pools.
// Sessions and registrations are destroyed on a thread of their own
// (Reclaimer), for which the destructor waits.
//
// The methods lie in a file for each subject: task_runtime_sessions.cc,
// task_runtime_registrations.cc, task_runtime_holds.cc, task_runtime_peers.cc;
// what is short, and steps, in task_runtime.cc.
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
#include "libs/base/cancellation.h"
#include "libs/base/ended.h"
#include "libs/base/in_flight.h"
#include "libs/base/random.h"
#include "libs/base/reclaimer.h"
#include "libs/base/scheduler.h"
#include "libs/device/device.h"
#include "libs/executor/executor.h"
#include "libs/executor/local_functions.h"
#include "libs/fs/file_system.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/protocol/coordinator.h"
#include "libs/protocol/worker.h"
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
  // Of sessions that were deleted: what comes later for one is refused.
  static constexpr size_t kEndedRemembered = 1000;
  // The same of registrations that were released before they were there. Their
  // releases overtake graphs that wait for the compute pool.
  static constexpr size_t kReleasedRemembered = 65536;
  // Steps for which variables may be held at once.
  static constexpr size_t kMaxHolds = 1000;

  // Owned by a shared_ptr where other tasks may connect: timers of leases hold
  // on to it weakly.
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
  void Abort(const protocol::StepId& step, uint64_t steps_over_below,
             const absl::Status& cause, Done done) override;
  void DescribeWaits(const protocol::StepId& step, absl::Time deadline,
                     WaitsDone done) override;
  void HoldSteps(const protocol::StepHold& hold, absl::Time deadline,
                 HoldDone done) override;
  void ClearContainers(const std::vector<std::string>& containers,
                       absl::Time deadline,
                       const std::shared_ptr<Cancellation>& client,
                       Done done) override;

  // Who holds the steps of this task's own master; once, before others may
  // connect. Without, there is none that could run.
  void SetMaster(std::weak_ptr<protocol::StepHolds> master);

  // A connection with another task, in either direction, has come up or was
  // lost. Counted: a task may have several. A loss cancels the running steps
  // that have an edge to the task or are driven by it: true if there were any.
  // PERMISSION_DENIED while the incarnation has connections as another task:
  // this one does not count, and is not to be told lost.
  absl::Status PeerConnected(const std::string& task, uint64_t incarnation)
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool PeerLost(const std::string& task, uint64_t incarnation,
                const absl::Status& why);
  // A connection that has carried no message of a step was lost. Drops it and
  // returns true if the same process has another one: its steps go on. Returns
  // false, without a change, if it is the last one: then call PeerLost.
  bool DropUnusedConnection(const std::string& task, uint64_t incarnation)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // A value that a step here made did not get away.
  void PushFailed(const protocol::Push& push, const absl::Status& why) {
    steps_.PushFailed(push, why);
  }

  // Waits until no step runs that another task has a part in; false when
  // `deadline` came first. Blocks.
  bool WaitForSteps(absl::Time deadline) {
    return steps_.WaitUntilNone(*options_.scheduler, deadline);
  }
  // Refuses with `cause` new sessions of other masters, and steps of sessions
  // that are not monitored; those that run go on. Sessions of masters that are
  // lost, now or from here on, end at once, unless one of them is monitored:
  // then that master has the drain_lease to come back. One that has said that
  // it ends is not waited for.
  void Drain(const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until no monitored session of another master is here; false when
  // `deadline` came first. Blocks.
  bool WaitForMonitoredSessions(absl::Time deadline) {
    return monitored_.WaitUntilNone(*options_.scheduler, deadline);
  }
  // Ends all steps and sessions with `cause` and refuses new ones.
  void Stop(const absl::Status& cause);

  std::vector<DeviceAttributes> Devices() const;
  // What sessions share on the devices, with its containers' names.
  std::vector<protocol::PlacedResource> SharedResources() const;
  // Of the devices that can tell. Waits for none of them.
  std::vector<protocol::DeviceUse> MemoryInUse() const;

  // What the task holds now, and how many nodes of its steps wait, by op: for
  // a tensor of another device, for room in a queue, and so on. They look at
  // all resources and at all registrations, and wait for their locks.
  ResourceTotals CountResources() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::map<std::string, int64_t> CountWaits() const ABSL_LOCKS_EXCLUDED(mutex_);

  // The shared resources of device `i`; for tools and tests.
  ResourceManager& resources(int i) { return *shared_resources_[i]; }
  // What waits in the table of steps.
  StepTable::Size steps() const { return steps_.size(); }
  int num_sessions() const;
  int num_registrations() const;  // of all sessions

 private:
  struct Session {
    // Iterators keep what their functions use, and with it themselves. Runs on
    // the Reclaimer's thread: it may close files.
    ~Session();
    // Of a graph that it registers. Their names count as registered bytes for
    // as long as the session lives.
    void AddContainers(const Registration::Containers& more);

    // Its resources and kernels have memory there; destroyed last.
    std::vector<std::shared_ptr<Device>> devices;
    uint64_t master_incarnation = 0;
    bool is_monitored = false;
    std::shared_ptr<void> expects_saves;
    StatefulKernels stateful_kernels;
    // What its kernels call functions with, one for each device.
    std::vector<std::shared_ptr<LocalFunctions>> functions;
    // One for each device, when isolated.
    std::vector<std::shared_ptr<ResourceManager>> own_resources;
    absl::btree_map<uint64_t, std::shared_ptr<Registration>> registrations;
    int64_t registered_bytes = 0;  // of these, and of containers
    // Of all graphs that it has ever registered: resources outlive them.
    Registration::Containers containers;
    int64_t function_bytes = 0;  // kept until the session ends
    // Of those that were released, some whose steps may still run.
    std::vector<std::pair<uint64_t, std::weak_ptr<Registration>>> released;
  };
  // RESOURCE_EXHAUSTED where a session that is not here exceeds max_sessions.
  absl::Status CheckRoomFor(const protocol::WorkerSession& session) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // RESOURCE_EXHAUSTED where the registration with graphs of so many bytes,
  // unless it is there already, and its new functions would exceed a quota.
  absl::Status CheckRegistered(
      const protocol::PartitionRegistration& registration,
      const Session& session, int64_t graph_bytes, int64_t function_bytes) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Ordered, so that a simulation repeats.
  using Sessions = absl::btree_map<uint64_t, std::shared_ptr<Session>>;
  // What is in no table any more, and is destroyed without the lock.
  struct RemovedSession {
    std::shared_ptr<Session> session;
    std::shared_ptr<void> expects_saves;
    absl::btree_map<uint64_t, std::shared_ptr<Registration>> registrations;
    absl::AnyInvocable<void()> cancel_steps;  // called without it, too
  };
  // What a session has registered, and what of that runs though it was
  // released.
  struct SessionGraphs {
    std::string task;  // of its master; empty while that is not connected
    protocol::WorkerSession session;
    std::vector<std::pair<uint64_t, std::shared_ptr<Registration>>>
        registrations;
  };
  // Who writes some variables: graphs of masters that are connected, and the
  // other masters.
  struct Writers {
    std::vector<protocol::VariableWriter> named;
    absl::btree_set<uint64_t> absent;
  };
  struct PeerState {
    std::string task;
    int connections = 0;
    Scheduler::TimerId lease = 0;
    bool claims = false;
    // It was lost while others claimed its task, which is still its own.
    bool is_claimed = false;
    uint64_t losses = 0;     // leases begun
    bool has_ended = false;  // as it has said
  };

  // The end where the session is not there, or is another master's.
  Sessions::const_iterator FindSession(const protocol::WorkerSession& session)
      const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Why the session, or one that is not here (the end), may not register and
  // run.
  absl::Status CheckGoesOn(Sessions::const_iterator it) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Where the registration belongs; an error if it is not wanted any more.
  absl::StatusOr<std::shared_ptr<Session>> SessionFor(
      const protocol::PartitionRegistration& registration) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::shared_ptr<Registration>> FindRegistration(
      const protocol::WorkerSession& session, uint64_t registration) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // All of the sessions of one master, or of all.
  std::vector<std::shared_ptr<Registration>> RegistrationsOf(
      std::optional<uint64_t> master_incarnation) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status AddSession(const protocol::WorkerSession& session,
                          const protocol::WorkerSessionOptions& options);
  // Why a session is refused; OK for one of the own master that it lets go on.
  absl::Status CheckAdmits(const Session& session) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // True for the sessions that WaitForMonitoredSessions waits for.
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
  // Where in devices_ the device is.
  absl::StatusOr<size_t> FindDevice(const std::string& name) const;
  // What the session does not have yet of the functions, in bytes.
  absl::StatusOr<int64_t> CountNewFunctions(
      const protocol::PartitionRegistration& registration,
      const Session& session) const;
  // Says how many bytes it has added, also where it fails.
  absl::Status AddFunctions(const protocol::PartitionRegistration& registration,
                            const Session& session, int64_t& added) const;
  // The session with the functions of the registration, if its graphs of so
  // many bytes have room.
  absl::StatusOr<std::shared_ptr<Session>> BeginRegistration(
      const protocol::PartitionRegistration& registration, int64_t graph_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<Registration>> AddRegistration(
      const protocol::PartitionRegistration& registration);
  // FAILED_PRECONDITION, naming them, where a graph waits for variables that
  // will never have a value: another session that is here has initialised
  // others of those that are waited for on the device, is done with that, and
  // has none of these names.
  absl::Status CheckAwaited(const VariableUses& uses) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The names of `variables` that some session so lacks.
  absl::btree_set<std::string> FindLacking(
      const absl::btree_set<VariableKey>& variables,
      const absl::btree_set<VariableKey>& awaited) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds it to those that one has to wait for, or calls it.
  void AfterHolds(const VariableUses& uses, absl::AnyInvocable<void()> then)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status EndedBefore(const protocol::StepId& holder) const;
  absl::StatusOr<std::vector<protocol::VariableWriter>> HoldVariables(
      const protocol::StepHold& hold) ABSL_LOCKS_EXCLUDED(mutex_);
  absl::Status ReleaseVariables(const protocol::StepId& holder)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Without those that it has to do with yet.
  absl::Status AddHold(const protocol::StepHold& hold,
                       const absl::btree_set<VariableKey>& variables)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a hold that was added before them. An error takes it out, to be ended:
  // ABORTED if a master is not absent any more, which steps were not waited
  // for.
  absl::Status NoteWriters(const protocol::StepId& holder,
                           const Writers& writers, VariableHolds::Hold& refused)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<SessionGraphs> AllGraphs() const ABSL_LOCKS_EXCLUDED(mutex_);
  Writers FindWriters(const absl::btree_set<VariableKey>& variables) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The task of a connected master; empty while it is not.
  std::string TaskOf(uint64_t master_incarnation) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Those of a master that is not connected any more, and of one that had been
  // absent when they began.
  void EndHoldsOf(uint64_t master_incarnation) ABSL_LOCKS_EXCLUDED(mutex_);
  void EndHoldsWithout(uint64_t master_incarnation) ABSL_LOCKS_EXCLUDED(mutex_);
  void End(VariableHolds::Hold hold);
  // Those that it makes in the host's memory, if they are many bytes.
  protocol::NewVariables FindNewVariables(const Registration& graph) const;
  // Waits for the tasks that the edges go to, so that the first step need not.
  void ConnectTo(const RemoteEdges& edges, absl::Time deadline, Done done);
  absl::StatusOr<std::shared_ptr<Registration>> Compile(
      const protocol::PartitionRegistration& registration,
      std::shared_ptr<Session> session) const;
  absl::StatusOr<Registration::DevicePlan> CompilePartition(
      const protocol::DevicePartition& partition, Session& session) const;
  std::vector<std::shared_ptr<ResourceManager>> NewResources() const;
  // Ends the sessions that have had a graph with a resource in one of them.
  // (The master that has containers cleared has ended its own before.)
  void EndSessionsThatUse(const Registration::Containers& containers)
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<uint64_t> SessionsThatUse(
      const Registration::Containers& containers) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // OK unless whoever asks has given up.
  absl::Status CheckWanted(absl::Time deadline,
                           const Cancellation& client) const;
  // Tells a task that was lost that a step is in vain, once it is back.
  void AbortAt(const std::string& task, const protocol::StepId& step,
               const absl::Status& cause);
  // Forgets the sessions of a master that is gone for good.
  void DropMaster(uint64_t incarnation, const absl::Status& cause);
  // Takes out the sessions of a master; forgets it unless it is connected.
  std::vector<RemovedSession> ForgetMaster(uint64_t incarnation,
                                           const absl::Status& cause)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Those of the task's other incarnations that have connections, or none.
  std::vector<uint64_t> OthersOf(const std::string& task, uint64_t incarnation,
                                 bool connected) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Whether another incarnation is the task.
  bool IsTaken(const std::string& task, uint64_t incarnation) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // With the last one its lease begins. True: it only claims its task.
  bool LoseConnection(uint64_t incarnation, bool has_ended)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The task's other incarnations that are connected claim it no more; true if
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
  // Takes out the sessions that end with a lease; none if that begins anew,
  // because nobody claims the task any more.
  std::vector<RemovedSession> EndLease(uint64_t incarnation, PeerState& peer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The lease that began with the master's loss of that number.
  void LeaseExpired(uint64_t incarnation, uint64_t loss);

  const std::vector<std::shared_ptr<Device>> devices_;
  const TaskRuntimeOptions options_;
  // Of sessions and registrations, whose last holder may be any thread.
  const std::shared_ptr<Reclaimer> reclaimer_;
  // Of values that no step has taken: their memory must not wait for files that
  // the other one closes.
  const std::shared_ptr<Reclaimer> value_reclaimer_;
  const std::vector<std::shared_ptr<ResourceManager>> shared_resources_;
  StepTable steps_;
  InFlight monitored_;   // open monitored sessions of other masters
  InFlight cancelling_;  // closures of CancelStepsSoon

  mutable absl::Mutex mutex_;
  // Why new sessions and steps are refused. While the task drains, steps of
  // monitored sessions are not.
  absl::Status stopped_ ABSL_GUARDED_BY(mutex_);
  bool is_draining_ ABSL_GUARDED_BY(mutex_) = false;
  // The registrations inside are protected by mutex_ too.
  Sessions sessions_ ABSL_GUARDED_BY(mutex_);
  // Master and session.
  Ended<std::pair<uint64_t, uint64_t>> ended_sessions_ ABSL_GUARDED_BY(mutex_){
      kEndedRemembered};
  // Session and registration; those that were released before they were there.
  Ended<std::pair<uint64_t, uint64_t>> ended_registrations_
      ABSL_GUARDED_BY(mutex_){kReleasedRemembered};
  std::map<uint64_t, PeerState> peers_ ABSL_GUARDED_BY(mutex_);
  VariableHolds holds_ ABSL_GUARDED_BY(mutex_);
  // Of steps; those that were released before they came.
  Ended<protocol::StepId> ended_holds_ ABSL_GUARDED_BY(mutex_){
      kEndedRemembered};
  std::weak_ptr<protocol::StepHolds> master_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_TASK_RUNTIME_H_
