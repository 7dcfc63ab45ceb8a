// MasterSession: one session as its master sees it: its graph, the callables
// made of it, the steps that run.
// Calls that wait for the coordinator or for tasks hold no thread meanwhile;
// their client and the session's end cancel them.
//
// Threads: all methods may be called from any thread; none waits.
#ifndef WEFT_LIBS_MASTER_MASTER_SESSION_H_
#define WEFT_LIBS_MASTER_MASTER_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/btree_set.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/cancellation.h"
#include "libs/base/hash_tables.h"
#include "libs/master/callable.h"
#include "libs/master/master.h"
#include "libs/master/open_calls.h"
#include "libs/master/session_graph.h"
#include "libs/master/session_quotas.h"
#include "libs/master/step_counter.h"
#include "libs/master/step_gate.h"
#include "libs/master/step_watch.h"
#include "libs/protocol/coordinator.h"
#include "libs/protocol/master.h"

namespace weft {

class MasterSession : public std::enable_shared_from_this<MasterSession> {
 public:
  // Tells nobody yet: a task learns of the session with the first partition
  // that it gets.
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
  // Null when unknown.
  std::shared_ptr<const protocol::CallableSpec> FindSpec(
      uint64_t callable) const;
  void ReleaseCallable(uint64_t callable);

  uint64_t id() const { return id_.session; }
  bool is_monitored() const { return config_.is_monitored; }

  // The named resources that its graph shares, and where.
  std::vector<protocol::PlacedResource> declared() const {
    return graph_.declared();
  }

  // Begins no step of the callables until ReleaseHold; `quiet` is called when
  // none of them runs, or at the end of the hold.
  void HoldCallables(const protocol::StepId& holder,
                     const absl::btree_set<uint64_t>& callables,
                     absl::AnyInvocable<void()> quiet);
  void ReleaseHold(const protocol::StepId& holder);
  // A step that the holder waits for.
  std::optional<SlowStep> FindWaitedFor(const protocol::StepId& holder) const;

  // Its oldest step, if that is below `number`. Of a partial run its calls
  // count, and nothing as long as there is none.
  std::optional<SlowStep> FindSlow(uint64_t number) const;

  // Partial runs that wait for their clients, whose calls are refused from now
  // on.
  void CancelIdlePartialRuns(const absl::Status& why);

  // Refuses further calls and runs, cancels those under way with `cause`, and
  // when all have ended has the workers forget the session, for as long as
  // `farewell` is not cancelled. `done` is called when they have heard, at the
  // latest 2 s after the end of the last run. Once.
  void Close(const absl::Status& cause, OpenCalls::CallPtr farewell,
             absl::AnyInvocable<void()> done);

  class Step;

 private:
  // A callable on its way to its tasks.
  struct Making;
  using MakingPtr = std::shared_ptr<Making>;

  // The session's end, once it has begun.
  struct Closing {
    OpenCalls::CallPtr farewell;
    absl::AnyInvocable<void()> done;
  };

  // Room for one more, until it is made or has failed.
  absl::Status ReserveCallable();
  absl::StatusOr<std::shared_ptr<Callable>> Compile(
      const protocol::CallableSpec& spec);
  // Tells tasks of the session that do not know of it yet, then registers.
  void OpenOn(const MakingPtr& making);
  void OpenOnTask(const MakingPtr& making, const Callable::Part& part,
                  protocol::Worker::Done done);
  void NoteOpened(const Callable& callable);
  void Register(const MakingPtr& making);
  // Makes it one of the session's, unless nobody wants it any more.
  absl::Status Keep(const MakingPtr& making);
  void Answer(Making& making, absl::StatusOr<uint64_t> result);
  void Deregister(const Callable& callable);
  // A callable that was released while a step of it was held off is one of its
  // tasks' until that step has ended. True: it is kept.
  bool KeepWhileHeld(const std::shared_ptr<const Callable>& callable)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Of a step that ends, and keeps the session until it has.
  void DeregisterReleased(Step& step) ABSL_LOCKS_EXCLUDED(mutex_);
  // When a call to other tasks that begins now is given up.
  absl::Time CallDeadline() const;
  // One of the two things that the end waits for is over: calls, and runs.
  void PartClosed();
  void ForgetOnTasks(Closing closing);
  void LogUntold(const std::vector<std::string>& tasks) const;

  // Null, with the reason in `status`, when there is no such callable or the
  // session is closed.
  // Of a partial run there is no other step than its one: `partial` is set.
  std::unique_ptr<Step> BeginStep(uint64_t callable, absl::Status* status,
                                  std::shared_ptr<const Callable>* partial);
  std::unique_ptr<Step> NewStep(const std::shared_ptr<const Callable>& callable)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status BeginPartialRun(const std::shared_ptr<const Callable>& callable);
  void GoOnWith(const Callable& partial, const protocol::CallableRun& run,
                protocol::Master::Done done);
  // The partition graphs, where the run wants them.
  absl::Status TellGraphs(const protocol::CallableSpec& spec,
                          const protocol::CallableRun& run);
  absl::Status TakeFeeds(absl::Span<const Tensor> feeds, Step& step);
  // Runs it, as its callable wants it to be.
  void Dispatch(std::unique_ptr<Step> step, const protocol::CallableRun& run,
                protocol::Master::Done done);
  // Runs it, or leaves it to the gate to do so.
  void RunStep(Step* step, const protocol::CallableRun& run,
               protocol::Master::Done done);
  // Whether it waits, with `done`, for the end of a hold; or it may begin.
  bool HoldBack(Step* step, const protocol::CallableRun& run,
                protocol::Master::Done& done) ABSL_LOCKS_EXCLUDED(mutex_);
  // One that was cancelled, if it waits.
  void LetGoOfHeld(uint64_t step) ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs it while no step runs that writes what it marks (WriterHold).
  void RunWithoutWriters(Step* step, const protocol::CallableRun& run,
                         protocol::Master::Done done);
  void LimitHold(Step& step) const;
  void EndStep(std::unique_ptr<Step> step, absl::Status status);
  // FAILED_PRECONDITION once the client has closed it, the cause once somebody
  // else has.
  absl::Status CheckOpen() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Its number, or that of its oldest call.
  static uint64_t AgeOf(const Step& step);
  absl::Time Deadline(absl::Duration timeout) const;

  const protocol::WorkerSession id_;
  const protocol::SessionConfig config_;
  const MasterOptions& options_;  // the master's, which outlives its sessions
  StepCounter& steps_;            // likewise
  StepWatch& watch_;              // likewise

  SessionGraph graph_;
  FedBytes fed_;

  OpenCalls calls_;  // but for runs

  mutable absl::Mutex mutex_;
  std::optional<absl::Status> closed_by_ ABSL_GUARDED_BY(mutex_);  // its cause
  uint64_t next_callable_ ABSL_GUARDED_BY(mutex_) = 1;
  // Tasks that know of the session, and those that may, having been told.
  absl::btree_set<std::string> open_on_ ABSL_GUARDED_BY(mutex_);
  absl::btree_set<std::string> told_ ABSL_GUARDED_BY(mutex_);
  FlatHashMap<uint64_t, std::shared_ptr<const Callable>> callables_
      ABSL_GUARDED_BY(mutex_);
  // Of those that were released, the ones that KeepWhileHeld keeps.
  FlatHashMap<uint64_t, std::shared_ptr<const Callable>> released_
      ABSL_GUARDED_BY(mutex_);
  int64_t num_reserved_ ABSL_GUARDED_BY(mutex_) = 0;  // callables yet to come
  FlatHashSet<Step*> running_ ABSL_GUARDED_BY(mutex_);
  StepGate gate_ ABSL_GUARDED_BY(mutex_);
  // Steps that ended, to be used again.
  std::vector<std::unique_ptr<Step>> idle_steps_ ABSL_GUARDED_BY(mutex_);
  int parts_to_close_ ABSL_GUARDED_BY(mutex_) = 2;  // see PartClosed
  Closing closing_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_MASTER_SESSION_H_
