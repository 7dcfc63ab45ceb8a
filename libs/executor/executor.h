// Plan and Start run one partition of one step.
//
// A Plan is a partition compiled to a flat form: nodes in arrays, pending
// counts, slots. It is created once for a registered partition and shared by
// all its steps. The inputs and outputs of a step are the partition's _Arg and
// _Retval nodes, numbered by their attr `index`.
//
// Threads: a Plan is immutable. Start may be called from any thread; kernels
// run on the calling thread as far as `where` allows and otherwise on the
// compute pool. Ready nodes go through a trampoline, never recursion. No lock
// is held while a kernel or `done` runs.
#ifndef WEFT_LIBS_EXECUTOR_EXECUTOR_H_
#define WEFT_LIBS_EXECUTOR_EXECUTOR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/executor/stateful_kernels.h"
#include "libs/graph/graph.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/op_kernel.h"
#include "libs/trace/device_trace.h"

namespace weft {

struct PlanOptions {
  const KernelRegistry* kernels = nullptr;      // never null
  Device* device = nullptr;                     // never null
  Random* random = nullptr;                     // never null
  StatefulKernels* stateful_kernels = nullptr;  // never null
  // The functions that kernels call; must outlive the plan. Null if there are
  // no functions.
  FunctionRuntime* functions = nullptr;
  // Name of the default container of the resources of all steps. If null, the
  // name is unknown, so kernels whose output depends on it run.
  const std::string* default_container = nullptr;
};

class Plan {
 public:
  virtual ~Plan() = default;

  // Compiles a partition, which is used only during the call. Errors name the
  // node.
  static absl::StatusOr<std::shared_ptr<const Plan>> Compile(
      const Graph& partition, const PlanOptions& options);

  // The number of inputs and of outputs: one more than the largest index of an
  // _Arg and of a _Retval node.
  virtual int num_args() const = 0;
  virtual int num_retvals() const = 0;
  virtual int num_nodes() const = 0;

  // Returns whether step `step_id` runs this plan now. Adds to `waits` a text
  // for each asynchronous kernel for which the step waits, such as "tensor x:0
  // from /job:ps/replica:0/task:0/device:CPU:0" and "node dequeue
  // (QueueDequeueV2) on jobs (FIFOQueueV2)". Adds nothing if the kernels of the
  // step run, or wait for a thread.
  virtual bool DescribeWaits(uint64_t step_id,
                             std::vector<std::string>& waits) const = 0;
  // Adds the number of nodes of all running steps of this plan that wait now,
  // by op.
  virtual void CountWaits(std::map<std::string, int64_t>& waits) const = 0;
};

// Where Start may run kernels before it returns.
enum class RunWhere {
  kCaller,  // any kernel on the calling thread: a client waiting for its step
  kReader,  // only cheap kernels with small inputs, for a short while
  kPool,    // no thread: everything runs on the compute pool
};

// Outbox holds back sent values until the thread that runs the kernels has no
// more work at hand. Thread-safe.
class Outbox {
 public:
  virtual ~Outbox() = default;
  // Sends the held values. Called before kernels that take long and when a
  // thread leaves the partition, except by the thread that ends it: its last
  // values are left to `done`.
  virtual void Flush() = 0;
  // Returns whether a value is held that must not wait for kernels other than
  // those that send. A hint.
  virtual bool IsUrgent() const { return false; }
};

// The inputs and outputs of one partition in a step. Everything pointed to must
// live until `done` has been called. The partitions of a step may share `args`
// and `retvals`, each using those that its nodes name. The owner of the
// rendezvous must abort it when the step is cancelled.
struct StepArgs {
  StepContext context;
  absl::Span<const Tensor> args;  // by index of _Arg; at least num_args()
  absl::Span<Tensor> retvals;     // by index of _Retval; at least num_retvals()
  Outbox* outbox = nullptr;       // null if nothing is held back
  // Records each successful run of a node; null if the step is not traced.
  // Nothing is added once `done` has been called.
  DeviceTrace* trace = nullptr;
};

// Runs the plan. `done` is called exactly once, on the thread that ends the
// step, perhaps before Start returns, when none of its kernels runs any more:
// with OK, or the first error that was not caused by the cancellation that
// another error triggered ("... [[node NAME (OP)]]" names the node). The first
// error cancels `context.cancellation`, so that waiting kernels are released;
// if the step was cancelled from outside, the cause is the result.
void Start(std::shared_ptr<const Plan> plan, const StepArgs& args,
           RunWhere where, absl::AnyInvocable<void(absl::Status)> done);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_EXECUTOR_H_
