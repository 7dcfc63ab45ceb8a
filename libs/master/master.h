// Master owns sessions and drives the workers that run their steps.
//
// Extensions of a session's graph are placed when they arrive. The graph of a
// callable is pruned, partitioned and registered once; a run then only carries
// feeds and fetches.
//
// Threads: all methods may be called from any thread; waiting calls hold none.
// No lock is held during a worker's call or a caller's `done`; README.md lists
// the lock order.
#ifndef WEFT_LIBS_MASTER_MASTER_H_
#define WEFT_LIBS_MASTER_MASTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/ended.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/async/reclaimer.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/graph/functions/function_expander.h"
#include "libs/graph/graph.h"
#include "libs/graph/op_def.h"
#include "libs/master/open_calls.h"
#include "libs/master/session_metrics.h"
#include "libs/master/session_quotas.h"
#include "libs/master/step_counter.h"
#include "libs/master/step_watch.h"
#include "libs/master/weak_table.h"
#include "libs/passes/constant_folding.h"
#include "libs/protocol/coordinator/coordinator.h"
#include "libs/protocol/master/master.h"
#include "libs/protocol/worker/worker.h"

namespace weft {

class MasterSession;

struct MasterOptions {
  Scheduler* scheduler = nullptr;  // never null
  Random* random = nullptr;        // never null
  std::shared_ptr<const OpRegistry> ops;
  // The tasks of the cluster, including this one. Must outlive the master.
  protocol::WorkerDirectory* directory = nullptr;  // never null
  // Places the sessions' graphs. Must outlive the master.
  protocol::Coordinator* coordinator = nullptr;  // never null
  // Canonical name of the master's own task, which unpinned nodes prefer.
  std::string task;
  // Drawn each time the task starts; never 0.
  uint64_t incarnation = 0;
  // The types of the devices that have a kernel for the node, the best first.
  // Tasks run the same build, so this task's kernels are those of all.
  std::function<std::vector<std::string>(const Node&)> device_types;
  // Computes the outputs of a node on one of the cluster's devices for known
  // inputs, for constant folding. May be empty: then nothing is folded.
  NodeEvaluator evaluate;
  // How function calls are expanded when a graph is extended.
  ExpanderOptions functions;
  // TensorFlow answers an unknown feed or fetch with INVALID_ARGUMENT in an
  // in-process session, and with NOT_FOUND on a server.
  absl::StatusCode unknown_tensor_code = absl::StatusCode::kInvalidArgument;
  // Receives each line of a session that logs placement. May be null.
  std::function<void(const std::string& line)> log_placement;
  // How long placement waits for tasks that have not joined yet, in sessions
  // without an operation timeout.
  absl::Duration placement_timeout = absl::Minutes(10);
  // Waits longer than this are logged with what they wait for, and again at
  // doubling intervals (libs/master/step_watch.h). Infinite: never.
  absl::Duration log_waits_after = absl::Seconds(5);
  SessionQuotas quotas;  // of each session
  int64_t max_sessions = std::numeric_limits<int64_t>::max();
  Logger* logger = nullptr;  // may be null
  // The metrics of steps; must outlive the steps. May be null.
  SessionMetrics* metrics = nullptr;
};

class Master : public protocol::Master,
               public protocol::StepHolds,
               public std::enable_shared_from_this<Master> {
 public:
  // The maximum number of concurrent holds of this master's steps.
  static constexpr size_t kMaxHolds = 1000;

  // Must be owned by a shared_ptr if steps may be held: timers of holds have
  // weak references to it.
  explicit Master(MasterOptions options);
  // Closes open sessions, and waits for pending calls.
  ~Master() override;

  void CreateSession(const protocol::SessionConfig& config,
                     Answer<uint64_t> done) override;
  void ExtendSession(uint64_t session, protocol::GraphExtension extension,
                     Cancellation* client,
                     Answer<protocol::ExtensionResult> done) override;
  void MakeCallable(uint64_t session, protocol::CallableSpec spec,
                    Cancellation* client, Answer<uint64_t> done) override;
  void RunCallable(uint64_t session, uint64_t callable,
                   const protocol::CallableRun& run, Done done) override;
  absl::Status CheckSession(uint64_t session) override;
  std::shared_ptr<const protocol::CallableSpec> FindSpec(
      uint64_t session, uint64_t callable) override;
  void ReleaseCallable(uint64_t session, uint64_t callable, Done done) override;
  void CloseSession(uint64_t session, Done done) override;
  void Reset(const std::vector<std::string>& containers,
             const std::vector<std::string>& device_filters,
             Cancellation* client, Done done) override;
  void ListDevices(Cancellation* client,
                   Answer<std::vector<DeviceAttributes>> done) override;

  void HoldSteps(const protocol::StepHold& hold, Done done) override;
  void EndHolds(uint64_t master_incarnation) override;

  // Returns the shared resources that the master's sessions have declared, for
  // a restarted coordinator.
  std::vector<protocol::DeclaredResources> Declared() const;

  int num_sessions() const;

  // Refuses new sessions and, for sessions that are not monitored, steps and
  // all other calls that wait for other tasks (UNAVAILABLE). Waits until the
  // monitored sessions are closed and no step runs, until `deadline`; then
  // cancels pending calls and closes all sessions. When it has returned,
  // nothing of the master uses the directory or the coordinator any more.
  // Blocks.
  void Drain(absl::Time deadline);

 private:
  struct Resetting;
  struct Listing;
  // A Holding is the steps of this master's sessions that are held for a step
  // of some master.
  struct Holding {
    std::vector<std::shared_ptr<MasterSession>> sessions;
    Scheduler::TimerId lease = 0;
    Scheduler::TimerId wait = 0;
    // Ends the wait for running steps.
    std::shared_ptr<Cancellation> limit;
  };

  // Returns a session; ABORTED if it is unknown, which makes a monitored
  // session recreate itself.
  absl::StatusOr<std::shared_ptr<MasterSession>> Find(uint64_t session) const;
  // Returns all sessions in the order of their ids, so that a simulation can be
  // repeated.
  std::vector<std::shared_ptr<MasterSession>> Sessions() const;
  absl::StatusOr<uint64_t> NewSession(const protocol::SessionConfig& config);
  absl::StatusOr<OpenCalls::CallPtr> BeginCall(Cancellation* client);
  // Closes all sessions concurrently. `done` is called when the tasks have been
  // notified, or after the timeout for that.
  void CloseAll(const absl::Status& cause, absl::AnyInvocable<void()> done);
  // Closes all sessions, and waits until no call is pending.
  void End(const absl::Status& cause);
  void ClearContainers(std::shared_ptr<Resetting> reset);
  static void ClearOn(protocol::Worker& worker,
                      const std::shared_ptr<Resetting>& reset,
                      protocol::Worker::Done done);
  // Makes the reset continue without the tasks that have left. Repeated while
  // the reset waits.
  void SkipLeftTasks(const std::shared_ptr<Resetting>& reset);
  void ForgetContainers(std::shared_ptr<Resetting> reset);
  // The sessions of the writers with their callables, including sessions that
  // are being closed while their steps run. ABORTED if a writer belongs to
  // another process of this task, which is about to end, or if two processes
  // claim to be this task.
  using Held = std::vector<
      std::pair<std::shared_ptr<MasterSession>, absl::btree_set<uint64_t>>>;
  absl::StatusOr<Held> FindHeld(const protocol::StepHold& hold) const;
  bool Holds(const protocol::StepId& holder) const;
  absl::Status AddHolding(const protocol::StepHold& hold, Holding holding);
  absl::Status ReleaseSteps(const protocol::StepId& holder);
  // Returns the error for a holder whose wait timed out.
  absl::Status StillRunning(const protocol::StepId& holder) const;
  // Returns the oldest step of each session that has steps below `number`.
  std::vector<SlowStep> FindSlow(uint64_t number) const;
  absl::Status CheckNotDraining() const;
  // Returns OK unless the master drains and the session's steps do not continue
  // during a drain.
  absl::Status CheckServes(const MasterSession& session) const;
  // Notes that a session was removed from the table.
  void NoteTakenOut(const MasterSession& session);
  // Returns the error of calls that are refused or ended because the task shuts
  // down.
  absl::Status ShuttingDown() const;

  const MasterOptions options_;
  // Frees sessions, whose last reference may be released on any thread.
  const std::shared_ptr<Reclaimer> reclaimer_;
  StepCounter steps_;
  const std::shared_ptr<StepWatch> watch_;
  // Cancelled by Drain: refuses calls, and ends waits for tasks and the
  // coordinator.
  Cancellation drain_;
  OpenCalls calls_;     // of no session: resets, ends of sessions
  InFlight monitored_;  // open monitored sessions
  mutable absl::Mutex mutex_;
  // Ordered, so that a simulation can be repeated.
  absl::btree_map<uint64_t, std::shared_ptr<MasterSession>> sessions_
      ABSL_GUARDED_BY(mutex_);
  // Sessions that were removed from sessions_ and that their steps keep alive.
  WeakTable<MasterSession> closing_ ABSL_GUARDED_BY(mutex_);
  mutable absl::Mutex holds_mutex_;
  // The holds by incarnation and step of the holder.
  absl::btree_map<std::pair<uint64_t, uint64_t>, Holding> holds_
      ABSL_GUARDED_BY(holds_mutex_);
  // Holds that were released before they arrived.
  Ended<protocol::StepId> ended_holds_ ABSL_GUARDED_BY(holds_mutex_){kMaxHolds};
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_MASTER_H_
