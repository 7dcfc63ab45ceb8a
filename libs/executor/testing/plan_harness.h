// PlanHarness builds a small partition by hand, compiles and runs it. In
// addition to the array, state, control flow and edge families it has these
// ops:
//
//   TestAdd(x: float, y: float) -> float      cheap; works in place
//   TestLess(x: float, y: float) -> bool      cheap
//   TestWork(x: float) -> float               not cheap; counts its runs
//   TestWanted(x: float) -> y: float, z: float   leaves out outputs that are
//   not
//                                             required; counts those it sets
//   TestFail() -> float                       INVALID_ARGUMENT "test failure"
//   TestAsync(x: float) -> float              ends when the test says so, or
//                                             when the step is cancelled
//   TestLongAsync(x: float) -> float          the same; not cheap
//   TestAddress(x: float) -> int64            the address of x's memory
//   TestThrow(x: float) -> float              std::bad_alloc; if x is not
//                                             0, out of a ParallelFor
//   TestThrowAsync(x: float) -> float         std::bad_alloc, with `done` lost
//                                             or, if x is above 0, kept;
//                                             if x is below 0, caught, and
//                                             below -1 before `done` is lost
//
// Threads: graph and plan on one thread; Run from many.
#ifndef WEFT_LIBS_EXECUTOR_TESTING_PLAN_HARNESS_H_
#define WEFT_LIBS_EXECUTOR_TESTING_PLAN_HARNESS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/device/device.h"
#include "libs/executor/executor.h"
#include "libs/rendezvous/rendezvous.h"

namespace weft {

// The asynchronous kernels of a test that have begun and not ended.
class AsyncGate {
 public:
  // For the kernel. Returns true if kept; otherwise the gate is open and the
  // kernel must end itself.
  bool Wait(AsyncOpKernel::Done& done);
  // For the test. Ends all waiting and future kernels.
  void Open();
  // Ends the waiting kernels with an error; later ones wait.
  void Fail(const absl::Status& status);
  int num_waiting() const;

 private:
  std::vector<AsyncOpKernel::Done> Take(bool open);

  mutable absl::Mutex mutex_;
  bool is_open_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<AsyncOpKernel::Done> waiting_ ABSL_GUARDED_BY(mutex_);
};

class PlanHarness {
 public:
  // Without a scheduler it creates one with real threads.
  explicit PlanHarness(Scheduler* scheduler = nullptr);

  // Adds a node; an error fails the test at once.
  const Node* Add(const std::string& name, const std::string& op,
                  std::vector<OutputTensor> inputs = {}, AttrMap attrs = {},
                  std::vector<const Node*> control_inputs = {});
  OutputTensor Arg(int index, DataType type = DT_FLOAT);
  OutputTensor Const(const std::string& name, Tensor value,
                     std::vector<const Node*> control_inputs = {});
  const Node* Retval(int index, OutputTensor value);

  absl::Status Compile();

  // Runs the plan and waits for it.
  absl::StatusOr<std::vector<Tensor>> Run(std::vector<Tensor> args = {},
                                          RunWhere where = RunWhere::kCaller);
  // The same, with an external cancellation and another rendezvous.
  absl::StatusOr<std::vector<Tensor>> Run(std::vector<Tensor> args,
                                          RunWhere where,
                                          Cancellation& cancellation,
                                          Rendezvous& rendezvous);
  // The only float of result 0.
  absl::StatusOr<float> RunFloat(std::vector<Tensor> args = {},
                                 RunWhere where = RunWhere::kCaller);

  StepContext MakeContext(Cancellation& cancellation, Rendezvous& rendezvous);

  Graph graph;
  std::shared_ptr<const Plan> plan;
  AsyncGate gate;
  std::atomic<int> work_runs{0};
  std::atomic<int> wanted_outputs{0};
  ResourceManager resources{"localhost"};
  BufferPool pool;
  DeviceTrace* trace = nullptr;  // of the steps that Run begins

  Scheduler& scheduler() { return *scheduler_; }

 private:
  void RegisterTestKernels();

  SystemClock clock_;
  std::unique_ptr<Scheduler> own_scheduler_;
  Scheduler* scheduler_;
  std::unique_ptr<Random> random_;
  KernelRegistry kernels_;
  StatefulKernels stateful_kernels_;
  Device device_;
  ResourceManager step_resources_{"step"};
};

// A step that was started on this thread, and may wait for the test.
class BegunStep {
 public:
  // REQUIRES: the plan is compiled; the step must be over before this is
  // destroyed.
  BegunStep(PlanHarness& harness, std::vector<Tensor> arguments, uint64_t id);
  BegunStep(const BegunStep&) = delete;
  BegunStep& operator=(const BegunStep&) = delete;

  bool IsOver() const { return over_->IsSet(); }
  // Waits for its end, and returns its status.
  absl::Status Wait();

  Cancellation cancellation;
  LocalRendezvous rendezvous;
  std::vector<Tensor> retvals;

 private:
  const std::vector<Tensor> args_;
  const std::unique_ptr<Event> over_;
  absl::Status result_;
};

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_TESTING_PLAN_HARNESS_H_
