// Worker is the role that runs partitions on a task's devices. A master drives
// it, in the same process or over the bus; other tasks push tensors to it.
//
// A master is identified by the incarnation of its task. Its registrations,
// running steps and private resources here end with it. The master chooses
// registration ids. Feeds and fetches are edges of the step with the master at
// their other end: a partition's _Arg and _Retval nodes carry the index of the
// callable's feed or fetch.
//
// Threads: every method may be called from any thread and does not block. Each
// `done` is called exactly once, perhaps before the call returns, on any
// thread: it must return soon and must not wait.
#ifndef WEFT_LIBS_PROTOCOL_WORKER_WORKER_H_
#define WEFT_LIBS_PROTOCOL_WORKER_WORKER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/saturated.h"
#include "libs/device/device.h"
#include "libs/graph/graph.h"
#include "libs/rendezvous/rendezvous.h"
#include "libs/tensor/tensor.h"
#include "libs/trace/step_stats.h"

namespace weft::protocol {

// A session, as identified on its tasks.
struct WorkerSession {
  uint64_t master_incarnation = 0;
  uint64_t session = 0;
};

// The options of a session on a task.
struct WorkerSessionOptions {
  bool isolated = false;      // own resource containers
  bool is_monitored = false;  // see SessionConfig
  friend bool operator==(const WorkerSessionOptions&,
                         const WorkerSessionOptions&) = default;
};

// The partition of a callable on one device.
struct DevicePartition {
  std::string device;  // full name
  std::shared_ptr<const Graph> graph;
};

// The partitions of a callable on one task.
struct PartitionRegistration {
  WorkerSession session;
  uint64_t registration = 0;
  std::vector<DevicePartition> partitions;
  // Whether the task must report the variables that it creates (NewVariables).
  bool wants_new_variables = false;
};

// The memory available for new variables, in bytes; INT64_MAX: unknown.
struct AvailableMemory {
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  // The bytes that the task's process can allocate in addition to those it
  // holds.
  int64_t task = kUnknown;
  // The machine of that process: the same text for all processes that run
  // there. Empty: unknown, so the other processes are unknown, too.
  std::string machine;
  // The memory that the machine has for all of its processes.
  int64_t machine_has = kUnknown;
  // The part of the machine's memory that the task's process has cached and
  // uses first.
  int64_t kept = 0;
};

// The variables to which steps of a registration give their first values on the
// task, in host memory, and the memory that they will take, before any of it is
// allocated. Nothing is reported if that is less than kConsiderable, so that
// other registrations do not read the machine's memory.
struct NewVariables {
  static constexpr int64_t kConsiderable = int64_t{64} << 20;

  int64_t bytes = 0;    // of all of them; at most INT64_MAX
  std::string largest;  // name of the largest variable
  int64_t largest_bytes = 0;
  AvailableMemory available;

  // Adds a variable. REQUIRES: not negative.
  void Add(const std::string& name, int64_t variable_bytes) {
    bytes = SaturatedAdd(bytes, variable_bytes);
    const bool is_largest = variable_bytes > largest_bytes ||
                            (variable_bytes == largest_bytes && name < largest);
    if (!is_largest) return;
    largest = name;
    largest_bytes = variable_bytes;
  }
};

// Identifies a step; ids count up per master.
struct StepId {
  uint64_t master_incarnation = 0;
  uint64_t step = 0;
  friend bool operator==(const StepId&, const StepId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const StepId& id) {
    return H::combine(std::move(h), id.master_incarnation, id.step);
  }
};

// The kernels for which Run may use the calling thread.
enum class CallingThread {
  kWaits,   // any kernel: it only waits for this step
  kReader,  // only cheap kernels, for a short while
  kOther,   // none
};

// A tensor sent along an edge from one task to another.
struct Push {
  WorkerSession session;
  uint64_t step = 0;
  uint64_t edge = 0;       // as numbered by the partitioner
  uint64_t frame = 0;      // 0 outside loops
  uint64_t iteration = 0;  // likewise
  bool is_dead = false;
  Tensor tensor;  // uninitialized if dead
  // Error: the tensor was not delivered; the step must fail.
  absl::Status received;
};

// A task's trace of a step, by its own clock.
struct PartitionTrace {
  StepStats stats;
  absl::Time begun;  // after the request to run it
  absl::Time ended;  // before its answer was sent
  // By the clock of the requester: when the answer arrived, before it was read,
  // which takes as long as the trace is large. Unset for tasks of the same
  // process.
  std::optional<absl::Time> answered;
};

// The steps of a master that are over: all below `below` except those in
// `running`. Unlike a low-water mark alone, it lets tasks forget the steps
// after one that does not end.
struct FinishedSteps {
  static constexpr size_t kMaxRunning = 64;
  uint64_t below = 0;
  std::vector<uint64_t> running;  // sorted, all below `below`

  bool Contains(uint64_t step) const {
    return step < below &&
           !std::binary_search(running.begin(), running.end(), step);
  }
};

// One step of a registration. The memory of the pointers and spans must live
// until the step is done.
struct PartitionStep {
  WorkerSession session;
  uint64_t registration = 0;
  uint64_t step = 0;
  // All steps of this master below this one are over.
  uint64_t steps_finished_below = 0;
  // More finished steps, if an old step of the master still runs; otherwise
  // null.
  const FinishedSteps* more_finished = nullptr;
  absl::Span<const Tensor> feeds;  // of the callable, by feed index
  absl::Span<Tensor> fetches;      // of the callable, by fetch index
  // The ones that this task's partitions consume and produce; the others are
  // not accessed.
  absl::Span<const int> feed_indices;
  absl::Span<const int> fetch_indices;
  // Ends the step early; never null. The step's own first error cancels it,
  // too.
  std::shared_ptr<Cancellation> cancellation;
  CallingThread thread = CallingThread::kOther;
  // Receives values for the master's task if the step succeeds, so that they
  // are sent with the answer instead of separately; null: they are delivered
  // like all others.
  struct WithAnswer {
    std::string master_task;  // canonical name
    std::vector<Push> pushes;
  };
  WithAnswer* with_answer = nullptr;
  // Connects a partial run to its client, for the task of the master: edges
  // from kFirstClientEdge on (libs/passes/prune.h). Otherwise null.
  std::shared_ptr<Rendezvous> client;
  // Filled if the step succeeds; null: the step is not traced.
  PartitionTrace* trace = nullptr;
};

// A registration that writes a variable, and the task of its master.
struct VariableWriter {
  std::string task;  // canonical name
  WorkerSession session;
  uint64_t registration = 0;
  friend bool operator==(const VariableWriter& a, const VariableWriter& b) {
    return a.task == b.task && a.registration == b.registration &&
           a.session.session == b.session.session &&
           a.session.master_incarnation == b.session.master_incarnation;
  }
};

// StepHold pauses the steps that write variables during another step, the
// holder, which must not see partial writes: a save of all variables of a
// cluster.
//
// First the holder's master makes each task that it runs on hold the variables
// that it accesses there, and report their writers (kHoldVariables): a graph
// registered from then on that writes one, too, is not answered, and so not
// run. Then it makes the master of each writer start no more steps of these and
// wait for the running ones (kHoldSteps). When the holder is done, both are
// notified (kReleaseSteps, kReleaseVariables) and report whether they held all
// the time: a hold ends by itself after its lease, and with its holder's
// master.
struct StepHold {
  enum class Action : uint8_t {
    kHoldVariables = 0,
    kReleaseVariables = 1,
    kHoldSteps = 2,
    kReleaseSteps = 3,
  };
  Action action = Action::kHoldVariables;
  StepId holder;
  // Of kHoldVariables: the holder's registration on the task.
  uint64_t session = 0;
  uint64_t registration = 0;
  // Of kHoldSteps: the writers of the task's master.
  std::vector<VariableWriter> writers;
  absl::Duration max_wait;  // of kHoldSteps
  absl::Duration lease;     // of kHoldVariables and kHoldSteps
};

class Worker {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;
  using DevicesDone =
      absl::AnyInvocable<void(absl::StatusOr<std::vector<DeviceAttributes>>)>;
  using WaitsDone =
      absl::AnyInvocable<void(absl::StatusOr<std::vector<std::string>>)>;
  using RegisterDone = absl::AnyInvocable<void(absl::StatusOr<NewVariables>)>;
  using HoldDone =
      absl::AnyInvocable<void(absl::StatusOr<std::vector<VariableWriter>>)>;

  virtual ~Worker() = default;

  // Returns its devices. Waits for the task to connect and answer, over as many
  // connections as necessary, until `deadline`: UNAVAILABLE if there is no
  // connection then, DEADLINE_EXCEEDED if it does not answer.
  virtual void GetStatusWhenConnected(absl::Time deadline,
                                      DevicesDone done) = 0;

  // Idempotent.
  virtual void CreateWorkerSession(const WorkerSession& session,
                                   const WorkerSessionOptions& options,
                                   absl::Time deadline, Done done) = 0;
  // Ends the session's steps and forgets its registrations, stateful kernels
  // and, if isolated, its variables. OK if unknown.
  virtual void DeleteWorkerSession(const WorkerSession& session,
                                   absl::Time deadline, Done done) = 0;

  // Compiles the partitions. Idempotent. ABORTED for an unknown session, which
  // a restarted task has lost. A task of an older version reports no variables.
  virtual void Register(const PartitionRegistration& registration,
                        absl::Time deadline, RegisterDone done) = 0;
  // Running steps continue to their end. Does nothing if unknown.
  virtual void Deregister(const WorkerSession& session,
                          uint64_t registration) = 0;

  // `done` is called when nothing of the step runs here any more or, after its
  // cancellation, when nothing of it can change a resource any more; and with
  // UNAVAILABLE if the task was lost.
  virtual void Run(const PartitionStep& step, Done done) = 0;

  // Values for steps, which may not have begun here yet. Dropped if the session
  // is unknown or the step over. A push that cannot be delivered or kept aborts
  // its step at the end that detects it.
  virtual void Deliver(std::vector<Push> pushes) = 0;

  // Ends a running or future step; done when nothing of it can change a
  // resource any more.
  virtual void Abort(const StepId& step, uint64_t steps_finished_below,
                     const absl::Status& cause, Done done) = 0;

  // The step was aborted: values passed to Deliver for it that are still in
  // flight to the task may be dropped.
  virtual void AbandonPushes(const StepId& /*step*/) {}

  // Describes what a step waits for on this task now: a text for each edge
  // whose value has not arrived and each waiting kernel (Plan::DescribeWaits),
  // at most kMaxWaits. Empty while its kernels run. NOT_FOUND if it does not
  // run here.
  static constexpr size_t kMaxWaits = 16;
  virtual void DescribeWaits(const StepId& step, absl::Time deadline,
                             WaitsDone done) = 0;

  // See StepHold. kHoldVariables returns the registrations that write one of
  // the variables, at most kMaxWriters, except for those of masters that are
  // not connected, whose steps are being ended; INVALID_ARGUMENT if the holder
  // itself writes one. kHoldSteps is done when no step of the writers runs;
  // DEADLINE_EXCEEDED, naming one, if some still run after `max_wait`; writers
  // that no longer exist are ignored. The other two return FAILED_PRECONDITION
  // if the hold did not last all the time.
  static constexpr size_t kMaxWriters = 65536;
  static constexpr absl::Duration kMaxLease = absl::Minutes(10);
  virtual void HoldSteps(const StepHold& hold, absl::Time deadline,
                         HoldDone done) = 0;

  // None named: the default container of each device. Sessions with resources
  // in one of the containers end, with their steps (ABORTED); the calling
  // master has ended its own before. Nothing is cleared once `deadline` has
  // passed or `client`, never null, is cancelled.
  virtual void ClearContainers(const std::vector<std::string>& containers,
                               absl::Time deadline,
                               const std::shared_ptr<Cancellation>& client,
                               Done done) = 0;
};

// The master of a Worker's task, to which the Worker forwards the step-related
// part of holds.
class StepHolds {
 public:
  virtual ~StepHolds() = default;
  // kHoldSteps and kReleaseSteps; see Worker::HoldSteps.
  virtual void HoldSteps(const StepHold& hold, Worker::Done done) = 0;
  // Ends the holds of a lost master.
  virtual void EndHolds(uint64_t master_incarnation) = 0;
};

// WorkerDirectory finds the other tasks of a cluster.
class WorkerDirectory {
 public:
  virtual ~WorkerDirectory() = default;
  // Returns the task by its canonical name, "/job:ps/replica:0/task:0"; null if
  // the cluster has no such task. Lives as long as the directory.
  virtual Worker* Find(const std::string& task) = 0;
  // All tasks that have devices, in the order of their names.
  virtual std::vector<std::string> Tasks() const = 0;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_WORKER_WORKER_H_
