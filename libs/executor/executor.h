// Plan and Start: how one partition of one step runs.
//
// A Plan is a partition compiled flat: nodes in arrays, pending counts, slots.
// It is made once for a registered partition and shared by all its steps. The
// values a step takes in and gives out are the partition's _Arg and _Retval
// nodes, numbered by their attr `index`.
//
// Threads: a Plan is immutable. Start may be called from any thread; kernels
// run on the calling thread as far as `where` allows and on the compute pool
// beyond that. Ready nodes go through a trampoline, never recursion. No lock is
// held while a kernel or `done` runs.
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
  // What kernels call functions with; outlives the plan. Null: none does.
  FunctionRuntime* functions = nullptr;
  // That of the resources of all steps. Null: not known, so kernels whose
  // output depends on it run.
  const std::string* default_container = nullptr;
};

class Plan {
 public:
  virtual ~Plan() = default;

  // The partition is needed during the call only. Errors name the node.
  static absl::StatusOr<std::shared_ptr<const Plan>> Compile(
      const Graph& partition, const PlanOptions& options);

  // One more than the largest index.
  virtual int num_args() const = 0;
  virtual int num_retvals() const = 0;
  virtual int num_nodes() const = 0;

  // Whether a step of that id runs this plan now; adds what it waits for: the
  // asynchronous kernels that have begun and not ended, a text each, as
  // "tensor x:0 from /job:ps/replica:0/task:0/device:CPU:0" and
  // "node dequeue (QueueDequeueV2) on jobs (FIFOQueueV2)". None: its kernels
  // run, or wait for a thread.
  virtual bool DescribeWaits(uint64_t step_id,
                             std::vector<std::string>& waits) const = 0;
  // Adds how many nodes of all steps that run this plan now wait so, by op.
  virtual void CountWaits(std::map<std::string, int64_t>& waits) const = 0;
};

// Where Start may run kernels before it returns.
enum class RunWhere {
  kCaller,  // any kernel on the calling thread: a client waiting for its step
  kReader,  // only cheap kernels with small inputs, for a short while
  kPool,    // none: everything on the compute pool
};

// What kernels send may be held back until the thread that ran them has no more
// to do at once. Thread-safe.
class Outbox {
 public:
  virtual ~Outbox() = default;
  // Sends it. Called before kernels that take long and where a thread leaves
  // the partition, but not by the one that ends it: its last values are left to
  // `done`.
  virtual void Flush() = 0;
  // Whether something is held back that should wait for no other kernel than
  // those that send. A hint.
  virtual bool IsUrgent() const { return false; }
};

// What a step brings to one partition. Everything pointed to lives until
// `done` has been called. The partitions of a step may share `args` and
// `retvals`, each using those its nodes name. The owner of the rendezvous
// aborts it when the step is cancelled.
struct StepArgs {
  StepContext context;
  absl::Span<const Tensor> args;  // by index of _Arg; at least num_args()
  absl::Span<Tensor> retvals;     // by index of _Retval; likewise
  Outbox* outbox = nullptr;       // null when nothing is held back
  // Takes down each run of a node that ends well; null: nothing does. Nothing
  // is added once `done` is called.
  DeviceTrace* trace = nullptr;
};

// Runs the plan. `done` is called exactly once, on whichever thread ends the
// step, perhaps before Start returns, when no kernel of it runs any more:
// with OK, or the first error that was not made by the cancellation it caused
// ("... [[node NAME (OP)]]" names the node). The first error cancels
// `context.cancellation`, so that what waits is released; when the step was
// cancelled from outside, its cause is the result.
void Start(std::shared_ptr<const Plan> plan, const StepArgs& args,
           RunWhere where, absl::AnyInvocable<void(absl::Status)> done);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_EXECUTOR_H_
