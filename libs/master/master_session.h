// MasterSession is one session at its master: its graph, its callables, and its
// running steps. Calls that wait for the coordinator or for tasks hold no
// thread; their client and the end of the session cancel them.
//
// Threads: all methods may be called from any thread and do not block.
#ifndef WEFT_LIBS_MASTER_MASTER_SESSION_H_
#define WEFT_LIBS_MASTER_MASTER_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/hash_tables.h"
#include "libs/master/callable.h"
#include "libs/master/master.h"
#include "libs/master/open_calls.h"
#include "libs/master/session_graph.h"
#include "libs/master/session_quotas.h"
#include "libs/master/step_counter.h"
#include "libs/master/step_gate.h"
#include "libs/master/step_watch.h"
#include "libs/protocol/coordinator/coordinator.h"
#include "libs/protocol/master/master.h"

namespace weft {

class MasterSession : public std::enable_shared_from_this<MasterSession> {
 public:
  // Creates a session without notifying any task: a task is notified of the
  // session with its first partition.
  MasterSession(uint64_t id, const protocol::SessionConfig& config,
                const MasterOptions& options, StepCounter& steps,
                StepWatch& watch);
  ~MasterSession();

  // `client` cancels the call; see protocol::Master.
  void Extend(protocol::GraphExtension extension, Cancellation* client,
              protocol::Master::Answer<protocol::ExtensionResult> done);
  void MakeCallable(protocol::CallableSpec spec, Cancellation* client,
                    protocol::Master::Answer<uint64_t> done);
  void RunCallable(uint64_t callable, const protocol::CallableRun& run,
                   protocol::Master::Done done);
  // Returns the spec of a callable, or null if the callable is unknown.
  std::shared_ptr<const protocol::CallableSpec> FindSpec(
      uint64_t callable) const;
  void ReleaseCallable(uint64_t callable);

  uint64_t id() const { return id_.session; }
  bool is_monitored() const { return config_.is_monitored; }

  // Returns the named resources that the session's graph shares, with their
  // devices.
  std::vector<protocol::PlacedResource> declared() const {
    return graph_.declared();
  }

  // Starts no step of the callables until ReleaseHold; `quiet` is called when
  // none of them runs, or at the end of the hold.
  void HoldCallables(const protocol::StepId& holder,
                     const absl::btree_set<uint64_t>& callables,
                     absl::AnyInvocable<void()> quiet);
  void ReleaseHold(const protocol::StepId& holder);
  // Returns a step that the holder waits for.
  std::optional<SlowStep> FindWaitedFor(const protocol::StepId& holder) const;

  // Returns the session's oldest step, if that is below `number`. For a partial
  // run, its pending calls count; a partial run without pending calls does not.
  std::optional<SlowStep> FindSlow(uint64_t number) const;

  // Cancels partial runs that wait for their clients; their calls are refused
  // from now on.
  void CancelIdlePartialRuns(const absl::Status& why);

  // Refuses further calls and runs, cancels pending ones with `cause`, and when
  // all have ended makes the workers forget the session, unless `farewell` is
  // cancelled before. `done` is called when they have answered, at the latest 2
  // s after the end of the last run. Must be called once.
  void Close(const absl::Status& cause, OpenCalls::CallPtr farewell,
             absl::AnyInvocable<void()> done);

  class Step;

 private:
  // A callable that is being registered on its tasks.
  struct Making;
  using MakingPtr = std::shared_ptr<Making>;

  // The state of closing the session, once that has begun.
  struct Closing {
    OpenCalls::CallPtr farewell;
    absl::AnyInvocable<void()> done;
  };

  // Reserves quota for one more callable, until it is made or has failed.
  absl::Status ReserveCallable();
  absl::StatusOr<std::shared_ptr<Callable>> Compile(
      const protocol::CallableSpec& spec);
  // Creates the session on tasks that do not know it yet, then registers.
  void OpenOn(const MakingPtr& making);
  void OpenOnTask(const MakingPtr& making, const Callable::Part& part,
                  protocol::Worker::Done done);
  void NoteOpened(const Callable& callable);
  void Register(const MakingPtr& making);
  // Adds the callable to the session, unless its client is gone.
  absl::Status Keep(const MakingPtr& making);
  void Answer(Making& making, absl::StatusOr<uint64_t> result);
  void Deregister(const Callable& callable);
  // A callable that was released while a step of it was held stays registered
  // on its tasks until that step has ended. Returns true if it is kept.
  bool KeepWhileHeld(const std::shared_ptr<const Callable>& callable)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Called for a step that ends, which keeps the session alive until then.
  void DeregisterReleased(Step& step) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the deadline of a call to other tasks that begins now.
  absl::Time CallDeadline() const;
  // Called when one of the two parts of closing is done: all calls have ended,
  // or all runs. The second call frees the callables and notifies the tasks.
  void PartClosed();
  void ForgetOnTasks(Closing closing);
  void LogUnreached(const std::vector<std::string>& tasks) const;

  // Begins a step of a callable. Returns null, with the error in `status`, if
  // there is no such callable or the session is closed. Also returns null for a
  // partial run, which has only one step; then `partial` is set.
  std::unique_ptr<Step> BeginStep(uint64_t callable, absl::Status* status,
                                  std::shared_ptr<const Callable>* partial);
  std::unique_ptr<Step> NewStep(const std::shared_ptr<const Callable>& callable)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BeginPartialRun(const std::shared_ptr<const Callable>& callable);
  void ContinuePartialRun(const Callable& partial,
                          const protocol::CallableRun& run,
                          protocol::Master::Done done);
  // Returns the partition graphs, if the run requests them.
  absl::Status AddPartitionGraphs(const protocol::CallableSpec& spec,
                                  const protocol::CallableRun& run);
  absl::Status TakeFeeds(absl::Span<const Tensor> feeds, Step& step);
  // Runs a step in the way that its callable requires.
  void Dispatch(std::unique_ptr<Step> step, const protocol::CallableRun& run,
                protocol::Master::Done done);
  // Runs a step, or leaves it to the gate.
  void RunStep(Step* step, const protocol::CallableRun& run,
               protocol::Master::Done done);
  // Returns true if the step, with `done`, waits for the end of a hold.
  // Otherwise the step may begin.
  bool HoldBack(Step* step, const protocol::CallableRun& run,
                protocol::Master::Done& done) ABSL_LOCKS_EXCLUDED(mutex_);
  // Releases a cancelled step, if it waits.
  void ReleaseHeld(uint64_t step) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs a step that marks variables, while no step runs that writes them
  // (WriterHold).
  void RunWithoutWriters(Step* step, const protocol::CallableRun& run,
                         protocol::Master::Done done);
  void LimitHold(Step& step) const;
  void EndStep(std::unique_ptr<Step> step, absl::Status status);
  // Returns an error if the session is closed: FAILED_PRECONDITION if its
  // client has closed it, otherwise the cause.
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the number of the step or, for a partial run, of its oldest call.
  static uint64_t AgeOf(const Step& step);
  absl::Time Deadline(absl::Duration timeout) const;

  const protocol::WorkerSession id_;
  const protocol::SessionConfig config_;
  // Objects of the master, which must outlive its sessions.
  const MasterOptions& options_;
  StepCounter& steps_;
  StepWatch& watch_;

  SessionGraph graph_;
  FedBytes fed_;

  OpenCalls calls_;  // except runs

  mutable absl::Mutex mutex_;
  std::optional<absl::Status> closed_by_ ABSL_GUARDED_BY(mutex_);  // its cause
  uint64_t next_callable_ ABSL_GUARDED_BY(mutex_) = 1;
  // The tasks that have confirmed the session.
  absl::btree_set<std::string> open_on_ ABSL_GUARDED_BY(mutex_);
  // All tasks that the session was sent to, confirmed or not. They must be
  // notified of its end.
  absl::btree_set<std::string> sent_to_ ABSL_GUARDED_BY(mutex_);
  FlatHashMap<uint64_t, std::shared_ptr<const Callable>> callables_
      ABSL_GUARDED_BY(mutex_);
  // The released callables that KeepWhileHeld keeps.
  FlatHashMap<uint64_t, std::shared_ptr<const Callable>> released_
      ABSL_GUARDED_BY(mutex_);
  int64_t num_reserved_ ABSL_GUARDED_BY(mutex_) = 0;  // callables being made
  FlatHashSet<Step*> running_ ABSL_GUARDED_BY(mutex_);
  StepGate gate_ ABSL_GUARDED_BY(mutex_);
  // Ended steps, to be reused.
  std::vector<std::unique_ptr<Step>> idle_steps_ ABSL_GUARDED_BY(mutex_);
  int parts_to_close_ ABSL_GUARDED_BY(mutex_) = 2;  // see PartClosed
  Closing closing_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_MASTER_SESSION_H_
