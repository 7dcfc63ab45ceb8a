// Master: owns sessions and drives the workers that run their steps.
//
// A session's graph is placed as it grows; what a callable needs is pruned,
// partitioned and registered once; a run then only carries feeds and fetches.
//
// Threads: all methods may be called from any thread; what waits holds none. No
// lock is held during a worker's call or a caller's `done`; README.md says
// which are taken one after another.
#ifndef WEFT_LIBS_MASTER_MASTER_H_
#define WEFT_LIBS_MASTER_MASTER_H_

#include <atomic>
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
#include "libs/base/cancellation.h"
#include "libs/base/ended.h"
#include "libs/base/in_flight.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/reclaimer.h"
#include "libs/base/scheduler.h"
#include "libs/graph/function_expander.h"
#include "libs/graph/graph.h"
#include "libs/graph/op_def.h"
#include "libs/master/open_calls.h"
#include "libs/master/session_metrics.h"
#include "libs/master/session_quotas.h"
#include "libs/master/step_counter.h"
#include "libs/master/step_watch.h"
#include "libs/master/weak_table.h"
#include "libs/passes/constant_folding.h"
#include "libs/protocol/coordinator.h"
#include "libs/protocol/master.h"
#include "libs/protocol/worker.h"

namespace weft {

class MasterSession;

struct MasterOptions {
  Scheduler* scheduler = nullptr;  // never null
  Random* random = nullptr;        // never null
  std::shared_ptr<const OpRegistry> ops;
  // The tasks of the cluster, this one among them. Outlives the master.
  protocol::WorkerDirectory* directory = nullptr;  // never null
  // Who places the sessions' graphs. Outlives the master.
  protocol::Coordinator* coordinator = nullptr;  // never null
  // Canonical name of the master's own task, which unpinned nodes prefer.
  std::string task;
  // Drawn anew each time the task starts; never 0.
  uint64_t incarnation = 0;
  // Types of the devices that have a kernel for the node, the best first. Tasks
  // run the same build, so this one's kernels are those of all.
  std::function<std::vector<std::string>(const Node&)> device_types;
  // What a node on one of the cluster's devices gives for known inputs; for
  // folding constants. May be empty: then nothing is folded.
  NodeEvaluator evaluate;
  // How calls of functions are expanded where a graph grows.
  ExpanderOptions functions;
  // TensorFlow answers an unknown feed or fetch with INVALID_ARGUMENT in an
  // in-process session, and with NOT_FOUND on a server.
  absl::StatusCode unknown_tensor_code = absl::StatusCode::kInvalidArgument;
  // Gets each line of a session that logs placement. May be null.
  std::function<void(const std::string& line)> log_placement;
  // How long placement waits for tasks that are not there yet, in sessions
  // without an operation timeout.
  absl::Duration patience = absl::Minutes(10);
  // What takes longer is logged with what it waits for, and again each time as
  // much time has passed (libs/master/step_watch.h). Infinite: never.
  absl::Duration log_waits_after = absl::Seconds(5);
  SessionQuotas quotas;  // of each session
  int64_t max_sessions = std::numeric_limits<int64_t>::max();
  Logger* logger = nullptr;  // may be null
  // What is counted of steps; outlives them. Null: nothing.
  SessionMetrics* metrics = nullptr;
};

class Master : public protocol::Master,
               public protocol::StepHolds,
               public std::enable_shared_from_this<Master> {
 public:
  // Steps of others for which its own may be held off at once.
  static constexpr size_t kMaxHolds = 1000;

  // Owned by a shared_ptr where steps may be held off: timers of holds hold on
  // to it weakly.
  explicit Master(MasterOptions options);
  // Closes what is open, and waits for the calls that are under way.
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

  // What its sessions have declared to share, for a coordinator that has
  // started anew.
  std::vector<protocol::DeclaredResources> Declared() const;

  int num_sessions() const;

  // Refuses new sessions and, of sessions that are not monitored, steps and all
  // else that waits for others (UNAVAILABLE). Waits until the monitored
  // sessions are closed and no step runs, until `deadline`; then cancels what
  // is under way and closes all sessions. Nothing of the master uses the
  // directory or the coordinator any more when it has returned. Blocks.
  void Drain(absl::Time deadline);

 private:
  struct Resetting;
  struct Listing;
  // Steps of its sessions that are held off for a step of some master.
  struct Holding {
    std::vector<std::shared_ptr<MasterSession>> sessions;
    Scheduler::TimerId lease = 0;
    Scheduler::TimerId wait = 0;
    // Ends the wait for those that run.
    std::shared_ptr<Cancellation> limit;
  };

  // ABORTED when unknown, which makes a monitored session rebuild itself.
  absl::StatusOr<std::shared_ptr<MasterSession>> Find(uint64_t session) const;
  // In the order of their ids, so that a simulation repeats.
  std::vector<std::shared_ptr<MasterSession>> Sessions() const;
  absl::StatusOr<uint64_t> NewSession(const protocol::SessionConfig& config);
  absl::StatusOr<OpenCalls::CallPtr> BeginCall(Cancellation* client);
  // All that there are, side by side; `done` when tasks have heard, or have had
  // their time for it.
  void CloseAll(const absl::Status& cause, absl::AnyInvocable<void()> done);
  // Closes all, and waits until nothing is under way.
  void End(const absl::Status& cause);
  void ClearContainers(std::shared_ptr<Resetting> reset);
  static void ClearOn(protocol::Worker& worker,
                      const std::shared_ptr<Resetting>& reset,
                      protocol::Worker::Done done);
  // Has the reset go on without the tasks that have left: now, and as long as
  // it waits.
  void SkipLeftTasks(const std::shared_ptr<Resetting>& reset);
  void ForgetContainers(std::shared_ptr<Resetting> reset);
  // The sessions of the writers, with the callables; also those that are being
  // closed, while their steps run. ABORTED where one is of another process of
  // this task, which is gone soon, or two claim to be it.
  using Held = std::vector<
      std::pair<std::shared_ptr<MasterSession>, absl::btree_set<uint64_t>>>;
  absl::StatusOr<Held> FindHeld(const protocol::StepHold& hold) const;
  bool Holds(const protocol::StepId& holder) const;
  absl::Status AddHolding(const protocol::StepHold& hold, Holding holding);
  absl::Status ReleaseSteps(const protocol::StepId& holder);
  // Why the holder waits in vain.
  absl::Status StillRunning(const protocol::StepId& holder) const;
  // The oldest step of each session that has some below `number`.
  std::vector<SlowStep> FindSlow(uint64_t number) const;
  absl::Status CheckNotDraining() const;
  // OK for a session whose steps go on while the master drains.
  absl::Status CheckServes(const MasterSession& session) const;
  // One of the table of sessions has been taken out.
  void NoteTakenOut(const MasterSession& session);
  // What is refused, or ends, because of that.
  absl::Status ShuttingDown() const;

  const MasterOptions options_;
  // Of sessions, whose last holder may be any thread.
  const std::shared_ptr<Reclaimer> reclaimer_;
  StepCounter steps_;
  const std::shared_ptr<StepWatch> watch_;
  std::atomic<bool> draining_{false};
  // Cancelled when that is set: ends waits for tasks and the coordinator.
  Cancellation drain_;
  OpenCalls calls_;     // of no session: resets, farewells
  InFlight monitored_;  // open monitored sessions
  mutable absl::Mutex mutex_;
  // Ordered, so that a simulation repeats.
  absl::btree_map<uint64_t, std::shared_ptr<MasterSession>> sessions_
      ABSL_GUARDED_BY(mutex_);
  // Taken out of these, and kept by their steps.
  WeakTable<MasterSession> closing_ ABSL_GUARDED_BY(mutex_);
  mutable absl::Mutex holds_mutex_;
  // By incarnation and step of the holder.
  absl::btree_map<std::pair<uint64_t, uint64_t>, Holding> holds_
      ABSL_GUARDED_BY(holds_mutex_);
  // Those that were released before they came.
  Ended<protocol::StepId> ended_holds_ ABSL_GUARDED_BY(holds_mutex_){kMaxHolds};
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_MASTER_H_
