// StepTable holds the steps of a task that other tasks take part in: the
// running steps, steps for which values arrived before they began, and aborted
// steps that must not begin.
//
// Rules for adding entries: a value is kept only if its session is registered
// and its step is neither over nor aborted. Values that no step has received
// yet count against the session's quota; a step that exceeds it is aborted.
// Step ids count up per master, which sends with each request the id below
// which all are over, and, if an old step still runs, which of the later ones
// are over. The state of a master's steps is bounded if many of them do not
// end: the oldest are forgotten.
//
// Threads: all methods may be called from any thread; cancellations and
// deliveries run without the lock. Deliver and PushFailed, which reading
// threads call, cancel on the control pool.
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

// The other ends of a callable's edges.
struct StepPeers {
  PeerTasks all;
  PeerTasks senders;                           // of values for this task
  EdgeNames edges;                             // of all of them
  std::shared_ptr<const PeerTasks> receivers;  // null if there are none
};

class StepTable {
 public:
  // `scheduler` must outlive it. `reclaimer` frees the values of dropped steps:
  // never null. `task`: for errors.
  StepTable(int64_t max_unclaimed_bytes_per_session, Scheduler& scheduler,
            std::shared_ptr<Reclaimer> reclaimer,
            std::string task = "this task")
      : max_unclaimed_bytes_(max_unclaimed_bytes_per_session),
        scheduler_(scheduler),
        reclaimer_(std::move(reclaimer)),
        task_(std::move(task)) {}

  void AddSession(const protocol::WorkerSession& session);
  // Drops the waiting values of its steps. The result cancels them with
  // `cause`: it must be called once no lock is held.
  [[nodiscard]] absl::AnyInvocable<void()> RemoveSession(
      uint64_t session, const absl::Status& cause);

  // A step begins to run here: returns its exchange, where values may wait.
  // `peers` must outlive the step. Returns the cause if it was aborted before;
  // ABORTED if it is over, or its session unknown.
  absl::StatusOr<std::shared_ptr<StepExchange>> Begin(
      const protocol::PartitionStep& step, const StepPeers* peers);
  // The step runs no more; `status` is its result. Returns its final status:
  // the cause, if this table cancelled it before, even if too late for its
  // kernels to notice, because its sent values may be lost. REQUIRES: Begin was
  // OK.
  absl::Status End(const protocol::StepId& step, absl::Status status);

  // Frees the values that a failed step has not received; the caller's thread
  // may be one that ends steps.
  void Reclaim(std::shared_ptr<StepExchange> exchange) const {
    Dropped(reclaimer_).Add(std::move(exchange));
  }

  void Deliver(protocol::Push push);
  // A value of a step here could not be sent.
  void PushFailed(const protocol::Push& push, const absl::Status& why);
  // Returns the tasks to which the step may have sent values, if that is not
  // over: values in flight to them need not arrive.
  absl::btree_set<std::string> Abort(const protocol::StepId& step,
                                     uint64_t steps_finished_below,
                                     const absl::Status& cause);

  // A connection to `task` is established. Steps that receive from a task begin
  // only while there is one (UNAVAILABLE): values sent before may be lost.
  void PeerConnected(const std::string& task);
  // One of several connections to `task` was closed. Steps continue.
  void ConnectionClosed(const std::string& task) ABSL_LOCKS_EXCLUDED(mutex_);
  struct Loss {
    bool was_needed = false;  // running steps have an edge to the task
    // Steps that ended here after sending values to the task, but are not known
    // to be over: those values may be lost with the connection, and the steps
    // that wait for them must be notified. In order; each is returned once.
    std::vector<protocol::StepId> ended;
  };
  // A connection was lost: cancels the running steps with an edge to `task`.
  Loss PeerLost(const std::string& task, const absl::Status& cause);
  // Cancels the steps of a master. Returns true if there were any.
  bool CancelStepsOf(uint64_t master_incarnation, const absl::Status& cause);

  // Waits until no step runs here; false if `deadline` passed first.
  bool WaitUntilNone(Scheduler& scheduler, absl::Time deadline) {
    return running_.WaitUntilNone(scheduler, deadline);
  }

  // For tests.
  struct Size {
    int running = 0;
    int waiting = 0;            // steps that have not begun
    int aborted = 0;            // steps remembered as aborted
    int ended = 0;              // and as successful, after sending values
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
    // Both null until it runs.
    std::shared_ptr<Cancellation> cancellation;
    const StepPeers* peers = nullptr;
    absl::Status cancelled;  // the cause, if this table cancelled it
    bool is_running() const { return cancellation != nullptr; }
  };
  // Removed exchanges, with possibly large values. When it is destroyed, after
  // the lock is released, it hands them to the Reclaimer.
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
  // Kept while it has sessions, or running steps.
  struct Master {
    int sessions = 0;
    uint64_t steps_finished_below = 0;
    protocol::FinishedSteps more_finished;  // the latest
    Steps steps;
    absl::btree_map<uint64_t, Aborted> aborted;  // the last of them
    StepSet aborted_before;
    SentSteps ended;  // successfully
  };
  struct Session {
    uint64_t master_incarnation = 0;
    std::shared_ptr<UnclaimedBytes> unclaimed;
  };
  using Cancellations = std::vector<std::shared_ptr<Cancellation>>;

  // Counts a closed connection to `task`.
  void CountClosed(const std::string& task)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK while the session belongs to the master.
  absl::Status CheckSession(const protocol::WorkerSession& session) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // OK while the step may run or continue. `peers` names edges, if known.
  absl::Status CheckStep(const Master& master, uint64_t step,
                         const StepPeers* peers) const;
  absl::Status NameEdge(uint64_t edge, const StepPeers* peers,
                        const absl::Status& cause) const;
  static absl::btree_set<std::string> ReceiversOf(const Master& master,
                                                  uint64_t step);
  static void Remember(Master& master, uint64_t step, Aborted aborted);
  // Returns what must be cancelled once the lock is released.
  static std::shared_ptr<Cancellation> MarkCancelled(Entry& entry,
                                                     const absl::Status& cause);
  // Frees it when the caller's thread may be a reading thread.
  void DropValue(Tensor value) const;
  // As Cancel, on the control pool. No effect if it is null.
  void CancelSoon(std::shared_ptr<Cancellation> step,
                  const absl::Status& cause) const;
  // The result of Abort, and what must be cancelled: null, if it does not run.
  struct AbortedStep {
    absl::btree_set<std::string> receivers;
    std::shared_ptr<Cancellation> running;
  };
  AbortedStep MarkAborted(const protocol::StepId& step,
                          uint64_t steps_finished_below,
                          const absl::Status& cause)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void AbortSoon(const protocol::StepId& step, const absl::Status& cause);
  // Ends the step whose value for the edge is lost. Returns false if it is
  // unknown here.
  bool Refuse(const protocol::StepId& step, uint64_t edge,
              const absl::Status& cause) ABSL_LOCKS_EXCLUDED(mutex_);
  // REQUIRES: CheckSession is OK.
  Entry& FindOrAdd(const protocol::WorkerSession& session, uint64_t step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns null if it is unknown here.
  Entry* Find(const protocol::StepId& step)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Forget(const protocol::StepId& step, absl::Status status)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void ForgetIfGone(uint64_t master_incarnation)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckConnected(const PeerTasks& senders) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes a step that has not begun; returns the next one.
  static Steps::iterator Drop(Master& master, Steps::iterator step,
                              Dropped& dropped);
  void ForgetFinished(Master& master, uint64_t steps_finished_below,
                      Dropped& dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetMoreFinished(Master& master, const protocol::FinishedSteps& over,
                          Dropped& dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of [from, to), removes those that have not begun and are over.
  void DropFinished(Master& master, uint64_t from, uint64_t to,
                    Dropped& dropped) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the exchange for the push; null if it must be dropped.
  std::shared_ptr<StepExchange> Admit(const protocol::Push& push)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Marks steps of the master as cancelled and drops those that have not begun;
  // only those of `session`, 0: all.
  Cancellations CancelSteps(Master& master, uint64_t session,
                            const absl::Status& cause, Dropped& dropped)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int64_t max_unclaimed_bytes_;
  Scheduler& scheduler_;
  const std::shared_ptr<Reclaimer> reclaimer_;
  const std::string task_;
  InFlight running_;
  mutable absl::Mutex mutex_;
  // Ordered, as the steps of each are, so that a simulation can be repeated.
  absl::btree_map<uint64_t, Master> masters_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<uint64_t, Session> sessions_ ABSL_GUARDED_BY(mutex_);
  // Task -> connections to it.
  absl::flat_hash_map<std::string, int> connected_ ABSL_GUARDED_BY(mutex_);
  int64_t looked_at_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_STEP_TABLE_H_
