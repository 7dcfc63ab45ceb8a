// Worker: the role that runs partitions on a task's devices. A master drives
// it, in the same process or over the bus; other tasks push tensors to it.
//
// A master is known by its incarnation, that of its task. Its registrations,
// running steps and private resources here die with it. Registration ids are
// chosen by the master. Feeds and fetches are edges of the step with the master
// at their other end: a partition's _Arg and _Retval nodes carry the index of
// the callable's feed or fetch.
//
// Threads: every method may be called from any thread and does not block. Each
// `done` is called exactly once, perhaps before the call returns, on any
// thread: it must return soon and must not wait.
#ifndef WEFT_LIBS_PROTOCOL_WORKER_H_
#define WEFT_LIBS_PROTOCOL_WORKER_H_

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
#include "libs/base/cancellation.h"
#include "libs/base/saturated.h"
#include "libs/device/device.h"
#include "libs/graph/graph.h"
#include "libs/rendezvous/rendezvous.h"
#include "libs/tensor/tensor.h"
#include "libs/trace/step_stats.h"

namespace weft::protocol {

// A session as its tasks know it.
struct WorkerSession {
  uint64_t master_incarnation = 0;
  uint64_t session = 0;
};

// How a task keeps a session.
struct WorkerSessionOptions {
  bool isolated = false;      // resource containers of its own
  bool is_monitored = false;  // see SessionConfig
  friend bool operator==(const WorkerSessionOptions&,
                         const WorkerSessionOptions&) = default;
};

// What one device runs of a callable.
struct DevicePartition {
  std::string device;  // full name
  std::shared_ptr<const Graph> graph;
};

// What one task runs of a callable.
struct PartitionRegistration {
  WorkerSession session;
  uint64_t registration = 0;
  std::vector<DevicePartition> partitions;
  // Whether the task is to say which variables it makes (NewVariables).
  bool wants_new_variables = false;
};

// How much memory there is for more, in bytes; INT64_MAX: nobody knows.
struct MemoryRoom {
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::max();
  // What the task's process can hold besides what it holds.
  int64_t task = kUnknown;
  // The machine of that process: the same text for all that run there. Empty:
  // not known, so nobody can say who else does.
  std::string machine;
  // What that has for all processes on it.
  int64_t machine_has = kUnknown;
  // What the task's process keeps of that machine and uses first.
  int64_t kept = 0;
};

// The variables to which steps of a registration give their first values on the
// task, in the memory of its host: what they will take, before anything of it
// is taken. Where that is less than kConsiderable nothing is told, so that what
// is registered otherwise costs nobody a look at the machine.
struct NewVariables {
  static constexpr int64_t kConsiderable = int64_t{64} << 20;

  int64_t bytes = 0;    // of all; at most INT64_MAX
  std::string largest;  // a name
  int64_t largest_bytes = 0;
  MemoryRoom room;

  // One more. REQUIRES: not negative.
  void Add(const std::string& name, int64_t variable_bytes) {
    bytes = SaturatedAdd(bytes, variable_bytes);
    const bool is_largest = variable_bytes > largest_bytes ||
                            (variable_bytes == largest_bytes && name < largest);
    if (!is_largest) return;
    largest = name;
    largest_bytes = variable_bytes;
  }
};

// Which step; ids count up per master.
struct StepId {
  uint64_t master_incarnation = 0;
  uint64_t step = 0;
  friend bool operator==(const StepId&, const StepId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const StepId& id) {
    return H::combine(std::move(h), id.master_incarnation, id.step);
  }
};

// What the thread that calls Run may be used for.
enum class CallingThread {
  kWaits,   // any kernel: it has nothing to do but wait for this step
  kReader,  // only cheap kernels, for a short while
  kOther,   // none
};

// A tensor on its way along an edge from one task to another.
struct Push {
  WorkerSession session;
  uint64_t step = 0;
  uint64_t edge = 0;       // as the partitioner numbered it
  uint64_t frame = 0;      // 0 outside loops
  uint64_t iteration = 0;  // likewise
  bool is_dead = false;
  Tensor tensor;  // none when dead
  // Why the tensor is not there although it should be: the step is in vain.
  absl::Status landed;
};

// What a task tells of a step that is traced, by its own clock.
struct PartitionTrace {
  StepStats stats;
  absl::Time begun;  // after it was asked to run it
  absl::Time ended;  // before its answer left
  // By the clock of who asked: when the answer was here, before it was read,
  // which takes as long as the trace does. Unset by tasks of the same process.
  std::optional<absl::Time> answered;
};

// Which steps of a master are over: all below `below` but those of `running`.
// Unlike a low-water mark alone, it lets tasks forget the steps after one that
// does not end.
struct StepsOver {
  static constexpr size_t kMaxRunning = 64;
  uint64_t below = 0;
  std::vector<uint64_t> running;  // sorted, all below `below`

  bool Contains(uint64_t step) const {
    return step < below &&
           !std::binary_search(running.begin(), running.end(), step);
  }
};

// One step of a registration. What the pointers and spans view lives until the
// step is done.
struct PartitionStep {
  WorkerSession session;
  uint64_t registration = 0;
  uint64_t step = 0;
  // All steps of this master below this one are over.
  uint64_t steps_over_below = 0;
  // More of them, where an old step of the master still runs; else null.
  const StepsOver* more_over = nullptr;
  absl::Span<const Tensor> feeds;  // of the callable, by feed index
  absl::Span<Tensor> fetches;      // of the callable, by fetch index
  // Those that this task's partitions take and make; the others it leaves
  // alone.
  absl::Span<const int> feed_indices;
  absl::Span<const int> fetch_indices;
  // Ends the step early; never null. The step's own first error cancels it too.
  std::shared_ptr<Cancellation> cancellation;
  CallingThread thread = CallingThread::kOther;
  // Where values for the master's task may be left when the step ends well, so
  // that they travel with the answer instead of by themselves; null: they are
  // delivered like all others.
  struct WithAnswer {
    std::string master_task;  // canonical name
    std::vector<Push> pushes;
  };
  WithAnswer* with_answer = nullptr;
  // Where a partial run meets its client, for the task of the master: edges
  // from kFirstClientEdge on (libs/passes/prune.h). Null for any other.
  std::shared_ptr<Rendezvous> client;
  // Filled when the step ends well; null: the step is not traced.
  PartitionTrace* trace = nullptr;
};

// A registration that writes a variable, and the task whose master has it.
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

// Steps that write variables are kept away from another one, the holder, which
// is to see none of them half done: a save of all variables of a cluster.
//
// First the holder's master has each task that it runs on hold the variables
// that it touches there, and say who writes them (kHoldVariables): a graph
// registered from then on that writes one, too, is not answered, and so not
// run. Then it has the master of each writer begin no more steps of these and
// wait for those that run (kHoldSteps). When the holder is done, both are told
// (kReleaseSteps, kReleaseVariables), and say whether they held all the time:
// a hold ends by itself after its lease, and with its holder's master.
struct StepHold {
  enum class Action : uint8_t {
    kHoldVariables = 0,
    kReleaseVariables = 1,
    kHoldSteps = 2,
    kReleaseSteps = 3,
  };
  Action action = Action::kHoldVariables;
  StepId holder;
  // Of kHoldVariables: what the holder runs on the task.
  uint64_t session = 0;
  uint64_t registration = 0;
  // Of kHoldSteps: those of the task's master.
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

  // Its devices. Waits for the task to be there and to answer, over as many
  // connections as it takes, until `deadline`: UNAVAILABLE where there is no
  // connection then, DEADLINE_EXCEEDED where it does not answer.
  virtual void GetStatusWhenConnected(absl::Time deadline,
                                      DevicesDone done) = 0;

  // Doing it again changes nothing.
  virtual void CreateWorkerSession(const WorkerSession& session,
                                   const WorkerSessionOptions& options,
                                   absl::Time deadline, Done done) = 0;
  // Ends the session's steps and forgets its registrations, stateful kernels
  // and, if isolated, its variables. OK when unknown.
  virtual void DeleteWorkerSession(const WorkerSession& session,
                                   absl::Time deadline, Done done) = 0;

  // Compiles the partitions. Idempotent. ABORTED for an unknown session, which
  // the task has lost by restarting. A task of an older version tells of no
  // variables.
  virtual void Register(const PartitionRegistration& registration,
                        absl::Time deadline, RegisterDone done) = 0;
  // Steps that run go on to their end. Nothing happens when unknown.
  virtual void Deregister(const WorkerSession& session,
                          uint64_t registration) = 0;

  // `done` comes when nothing of the step runs here any more or, after its
  // cancellation, when nothing of it can change a resource any more; and with
  // UNAVAILABLE when the task was lost.
  virtual void Run(const PartitionStep& step, Done done) = 0;

  // Values for steps, which may not have begun here yet. Dropped when the
  // session is unknown or the step over. A push that can't be delivered or
  // kept aborts its step at whichever end notices.
  virtual void Deliver(std::vector<Push> pushes) = 0;

  // Ends a step, running or yet to come; done when nothing of it can change a
  // resource any more.
  virtual void Abort(const StepId& step, uint64_t steps_over_below,
                     const absl::Status& cause, Done done) = 0;

  // The step was aborted: values that Deliver was given for it, and that are on
  // their way to the task, need not arrive.
  virtual void AbandonPushes(const StepId& /*step*/) {}

  // What a step waits for on this task now: a text for each edge whose value
  // has not come and each kernel that waits (Plan::DescribeWaits), at most
  // kMaxWaits. None while its kernels run. NOT_FOUND when it does not run here.
  static constexpr size_t kMaxWaits = 16;
  virtual void DescribeWaits(const StepId& step, absl::Time deadline,
                             WaitsDone done) = 0;

  // See StepHold. Of kHoldVariables: the registrations that write one of the
  // variables, at most kMaxWriters, but for those of masters that are not
  // connected, whose steps are being ended; INVALID_ARGUMENT where the holder
  // itself writes one. Of kHoldSteps: done when no step of the
  // writers runs; DEADLINE_EXCEEDED, naming one, when some still do after
  // `max_wait`; writers that there are no more do not matter. Of the other two:
  // FAILED_PRECONDITION when it has not held all the time.
  static constexpr size_t kMaxWriters = 65536;
  static constexpr absl::Duration kMaxLease = absl::Minutes(10);
  virtual void HoldSteps(const StepHold& hold, absl::Time deadline,
                         HoldDone done) = 0;

  // None named: the default container of each device. Sessions with resources
  // in one of the containers end, with their steps (ABORTED); the master that
  // asks has ended its own before. Nothing is cleared once `deadline` has
  // passed or `client`, never null, is cancelled.
  virtual void ClearContainers(const std::vector<std::string>& containers,
                               absl::Time deadline,
                               const std::shared_ptr<Cancellation>& client,
                               Done done) = 0;
};

// The master of a Worker's task, to which that hands on what concerns its
// steps.
class StepHolds {
 public:
  virtual ~StepHolds() = default;
  // kHoldSteps and kReleaseSteps; see Worker::HoldSteps.
  virtual void HoldSteps(const StepHold& hold, Worker::Done done) = 0;
  // Those of a master that is lost end.
  virtual void EndHolds(uint64_t master_incarnation) = 0;
};

// How a task finds the others of its cluster.
class WorkerDirectory {
 public:
  virtual ~WorkerDirectory() = default;
  // The task by its canonical name, "/job:ps/replica:0/task:0"; null when the
  // cluster has none of that name. Lives as long as the directory.
  virtual Worker* Find(const std::string& task) = 0;
  // All tasks that have devices, in the order of their names.
  virtual std::vector<std::string> Tasks() const = 0;
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_WORKER_H_
