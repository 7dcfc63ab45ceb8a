// StepTable holds those steps of a task in which other tasks take part: running
// steps, steps for which values arrived before they began, and aborted steps
// that must not begin.
//
// Rules for adding entries: a value is kept only if its session is registered
// and its step is neither over nor aborted. Values that no step has received
// yet count against the session's quota; a step that exceeds the quota is
// aborted.
//
// Rules for removing entries: each master numbers its steps in ascending order.
// With each request it sends the number below which all steps are over and, if
// an old step still runs, which of the later steps are over. If many steps of a
// master do not end, the oldest are forgotten, so that the state of each master
// is bounded.
//
// Threads: all methods may be called from any thread. The lock is not held
// while steps are cancelled and values are delivered. Deliver and PushFailed,
// which are called by threads that read messages, cancel on the control pool.
#ifndef WEFT_LIBS_RUNTIME_STEP_TABLE_H_
#define WEFT_LIBS_RUNTIME_STEP_TABLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/in_flight.h"
#include "libs/base/async/reclaimer.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/protocol/worker/worker.h"
#include "libs/runtime/step_exchange.h"
#include "libs/runtime/step_set.h"
#include "libs/runtime/unclaimed_bytes.h"

namespace weft {

// The tasks at the other ends of a callable's edges.
struct StepPeers {
  PeerTasks all;
  // tasks that send values to this task
  PeerTasks senders;
  // all edges from and to these tasks
  EdgeNames edges;
  // tasks that get values; null: none
  std::shared_ptr<const PeerTasks> receivers;
};

class StepTable {
 public:
  // `scheduler` must outlive the table. `reclaimer` frees the values of dropped
  // steps; never null. `task` is this task's name for errors.
  StepTable(int64_t max_unclaimed_bytes_per_session, Scheduler& scheduler,
            std::shared_ptr<Reclaimer> reclaimer,
            std::string task = "this task")
      : max_unclaimed_bytes_(max_unclaimed_bytes_per_session),
        scheduler_(scheduler),
        reclaimer_(std::move(reclaimer)),
        task_(std::move(task)) {}

  void AddSession(const protocol::WorkerSession& session);
  // Removes the session, and drops the values that arrived for its steps and
  // were not received. Returns a function that cancels the session's running
  // steps with `cause`. The caller must call it once it holds no lock.
  [[nodiscard]] absl::AnyInvocable<void()> RemoveSession(
      uint64_t session, const absl::Status& cause);

  // Records that a step begins to run on this task. Returns the step's
  // exchange, which may already contain values from other tasks. `peers` must
  // outlive the step. Returns the cause if the step was aborted before; ABORTED
  // if the step is over or its session is unknown.
  absl::StatusOr<std::shared_ptr<StepExchange>> Begin(
      const protocol::PartitionStep& step, const StepPeers* peers);
  // Records that the step has ended here with the result `status`. Returns its
  // final status. If this table cancelled the step before, that is the cause of
  // the cancellation, even if it came too late for the kernels to notice,
  // because values that the step sent may be lost. REQUIRES: Begin returned OK.
  absl::Status End(const protocol::StepId& step, absl::Status status);

  // Frees the values that a failed step has not received, on a separate thread,
  // because the caller's thread may be one that must not be delayed.
  void Reclaim(std::shared_ptr<StepExchange> exchange) const {
    Dropped(reclaimer_).Add(std::move(exchange));
  }

  void Deliver(protocol::Push push);
  // Records that a value which a step on this task sent could not be delivered.
  void PushFailed(const protocol::Push& push, const absl::Status& why);
  // Aborts the step. Returns the tasks to which the step may have sent values,
  // unless the step is over. Values in flight to these tasks need not arrive.
  absl::btree_set<std::string> Abort(const protocol::StepId& step,
                                     uint64_t steps_finished_below,
                                     const absl::Status& cause);

  // Records that a connection to `task` is established. A step that receives
  // values from a task begins only while there is a connection to it; otherwise
  // Begin returns UNAVAILABLE, because values sent before may be lost.
  void PeerConnected(const std::string& task);
  // Records that one of several connections to `task` was closed. Steps
  // continue.
  void ConnectionClosed(const std::string& task) ABSL_LOCKS_EXCLUDED(mutex_);
  struct Loss {
    bool was_needed = false;  // running steps have an edge to the task
    // The steps that ended on this task after sending values to the lost task,
    // and are not known to be over everywhere. These values may be lost with
    // the connection, so other tasks that wait for them must be notified.
    // Sorted; each step is returned only once.
    std::vector<protocol::StepId> ended;
  };
  // Records that the connection to `task` was lost, and cancels the running
  // steps with an edge to it.
  Loss PeerLost(const std::string& task, const absl::Status& cause);
  // Cancels the steps of a master. Returns true if the master had running
  // steps.
  bool CancelStepsOf(uint64_t master_incarnation, const absl::Status& cause);

  // Waits until no step runs on this task; returns false if `deadline` passes
  // first.
  bool WaitUntilNone(Scheduler& scheduler, absl::Time deadline) {
    return running_.WaitUntilNone(scheduler, deadline);
  }

  // The size of the table, for tests.
  struct Size {
    int running = 0;
    int waiting = 0;            // steps that have not begun
    int aborted = 0;            // steps remembered as aborted
    int ended = 0;              // ended steps remembered as successful
    int masters = 0;            // with sessions, or running steps
    int64_t waiting_bytes = 0;  // of values that were not received yet
    int64_t meetings = 0;       // keys stored by running and waiting steps
    int64_t looked_at = 0;  // steps examined so far to find those that are over
  };
  Size size() const;

 private:
  struct Entry {
    std::shared_ptr<StepExchange> exchange;
    uint64_t session = 0;
    // Both pointers are null until the step runs.
    std::shared_ptr<Cancellation> cancellation;
    const StepPeers* peers = nullptr;
    absl::Status cancelled;  // the cause, if this table cancelled it
    bool is_running() const { return cancellation != nullptr; }
  };
  // Dropped collects removed exchanges, whose values may be large. When it is
  // destroyed, after the lock is released, it hands the exchanges to the
  // Reclaimer.
  class Dropped {
   public:
    explicit Dropped(std::shared_ptr<Reclaimer> reclaimer)
        : reclaimer_(std::move(reclaimer)) {}
    Dropped(Dropped&&) = default;
    ~Dropped() {
      if (exchanges_.empty()) return;
      reclaimer_->Own(std::make_unique<Exchanges>(std::move(exchanges_)));
    }
    void Add(std::shared_ptr<StepExchange> exchange) {
      exchange->ReleaseQuota();
      exchanges_.push_back(std::move(exchange));
    }

   private:
    using Exchanges = std::vector<std::shared_ptr<StepExchange>>;
    const std::shared_ptr<Reclaimer> reclaimer_;
    Exchanges exchanges_;
  };
  using Steps = absl::btree_map<uint64_t, Entry>;
  struct Aborted {
    absl::Status cause;
    uint64_t edge = 0;  // the edge whose value was lost; 0: another cause
  };
  // The state of a master. It exists while the master has sessions or running
  // steps.
  struct Master {
    int sessions = 0;
    uint64_t steps_finished_below = 0;
    protocol::FinishedSteps more_finished;  // the latest
    Steps steps;
    absl::btree_map<uint64_t, Aborted> aborted;  // the latest ones
    StepSet aborted_before;
    SentSteps ended;  // ended successfully
  };
  struct Session {
    uint64_t master_incarnation = 0;
    std::shared_ptr<UnclaimedBytes> unclaimed;
  };
  using Cancellations = std::vector<std::shared_ptr<Cancellation>>;

  // Counts a closed connection to `task`.
  void CountClosed(const std::string& task)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns OK while the session belongs to the master.
  absl::Status CheckSession(const protocol::WorkerSession& session) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns OK while the step may run or continue. `peers`, if not null, has
  // names of edges for the error.
  absl::Status CheckStep(const Master& master, uint64_t step,
                         const StepPeers* peers) const;
  absl::Status NameEdge(uint64_t edge, const StepPeers* peers,
                        const absl::Status& cause) const;
  static absl::btree_set<std::string> ReceiversOf(const Master& master,
                                                  uint64_t step);
  static void Remember(Master& master, uint64_t step, Aborted aborted);
  // Marks the step as cancelled. Returns its cancellation, which the caller
  // must cancel once the lock is released; null if the step does not run.
  static std::shared_ptr<Cancellation> MarkCancelled(Entry& entry,
                                                     const absl::Status& cause);
  // Frees the value. A large value is freed on another thread, because the
  // caller's thread may read messages.
  void DropValue(Tensor value) const;
  // Cancels the step on the control pool. Has no effect if `step` is null.
  void CancelSoon(std::shared_ptr<Cancellation> step,
                  const absl::Status& cause) const;
  // The result of Abort, with the cancellation of the step; null if the step
  // does not run.
  struct AbortedStep {
    absl::btree_set<std::string> receivers;
    std::shared_ptr<Cancellation> running;
  };
  AbortedStep MarkAborted(const protocol::StepId& step,
                          uint64_t steps_finished_below,
                          const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void AbortSoon(const protocol::StepId& step, const absl::Status& cause);
  // Ends the step because the value for the edge is lost. Returns false if the
  // step is unknown on this task.
  bool Refuse(const protocol::StepId& step, uint64_t edge,
              const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mutex_);
  // REQUIRES: CheckSession returned OK.
  Entry& FindOrAdd(const protocol::WorkerSession& session, uint64_t step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns null if the step is unknown on this task.
  Entry* Find(const protocol::StepId& step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Forget(const protocol::StepId& step, absl::Status status)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void ForgetIfGone(uint64_t master_incarnation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckConnected(const PeerTasks& senders) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes a step that has not begun; returns an iterator to the next step.
  static Steps::iterator Drop(Master& master, Steps::iterator step,
                              Dropped& dropped);
  void ForgetFinished(Master& master, uint64_t steps_finished_below,
                      Dropped& dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetMoreFinished(Master& master, const protocol::FinishedSteps& over,
                          Dropped& dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes those steps in [from, to) that are over and have not begun here.
  void DropFinished(Master& master, uint64_t from, uint64_t to,
                    Dropped& dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the exchange that must receive the push; null if the push must be
  // dropped.
  std::shared_ptr<StepExchange> Admit(const protocol::Push& push)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Marks steps of the master as cancelled, and drops those that have not
  // begun. Only the steps of `session`, or all steps if it is 0.
  Cancellations CancelSteps(Master& master, uint64_t session,
                            const absl::Status& cause, Dropped& dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t max_unclaimed_bytes_;
  Scheduler& scheduler_;
  const std::shared_ptr<Reclaimer> reclaimer_;
  const std::string task_;
  InFlight running_;
  mutable absl::Mutex mutex_;
  // Masters and their steps are ordered, so that a simulation can be repeated.
  absl::btree_map<uint64_t, Master> masters_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Session> sessions_ ABSL_GUARDED_BY(mutex_);
  // Maps each task to the number of connections to it.
  absl::flat_hash_map<std::string, int> connected_ ABSL_GUARDED_BY(mutex_);
  int64_t looked_at_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_STEP_TABLE_H_
