#include "libs/executor/testing/plan_harness.h"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/state/state_kernels.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

std::shared_ptr<const OpRegistry> TestOps() {
  auto ops = std::make_shared<OpRegistry>();
  RegisterArrayOps(*ops);
  RegisterControlOps(*ops);
  RegisterStateOps(*ops);
  auto add = [&](absl::string_view name, std::vector<const char*> inputs,
                 const char* output) {
    OpDefBuilder builder(name);
    for (const char* input : inputs) builder.Input(input);
    ops->Add(builder.Output(output).Shape(shapes::Unknown));
  };
  add("TestAdd", {"x: float", "y: float"}, "z: float");
  add("TestLess", {"x: float", "y: float"}, "z: bool");
  add("TestWork", {"x: float"}, "y: float");
  add("TestFail", {}, "y: float");
  ops->Add(OpDefBuilder("TestWanted")
               .Input("x: float")
               .Output("y: float")
               .Output("z: float")
               .Shape(shapes::Unknown));
  add("TestAsync", {"x: float"}, "y: float");
  add("TestLongAsync", {"x: float"}, "y: float");
  add("TestAddress", {"x: float"}, "y: int64");
  add("TestThrow", {"x: float"}, "y: float");
  add("TestThrowAsync", {"x: float"}, "y: float");
  return ops;
}

class Add : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& y = context.input(1);
    ASSIGN_OR_RETURN(Tensor * z,
                     context.ForwardOrAllocate({0, 1}, 0, x.shape()));
    z->mutable_flat<float>()[0] = x.flat<float>()[0] + y.flat<float>()[0];
    return absl::OkStatus();
  }
};

class Less : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(Tensor * z, context.AllocateOutput(0, TensorShape()));
    z->mutable_scalar<bool>() =
        context.input(0).scalar<float>() < context.input(1).scalar<float>();
    return absl::OkStatus();
  }
};

class Wanted : public OpKernel {
 public:
  Wanted(const OpKernelConstruction& construction, std::atomic<int>& made)
      : OpKernel(construction), made_(made) {}
  absl::Status Compute(OpKernelContext& context) override {
    for (int i = 0; i < 2; ++i) {
      if (!context.output_required(i)) continue;
      made_.fetch_add(1);
      context.SetOutput(i, context.input(0));
    }
    return absl::OkStatus();
  }

 private:
  std::atomic<int>& made_;
};

class Work : public OpKernel {
 public:
  Work(const OpKernelConstruction& construction, std::atomic<int>& runs)
      : OpKernel(construction), runs_(runs) {}
  absl::Status Compute(OpKernelContext& context) override {
    runs_.fetch_add(1);
    context.SetOutput(0, context.TakeInput(0));
    return absl::OkStatus();
  }

 private:
  std::atomic<int>& runs_;
};

class Fail : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext&) override {
    return absl::InvalidArgumentError("test failure");
  }
};

// Ends once: with the gate or with the step's cancellation.
class Async : public AsyncOpKernel {
 public:
  Async(const OpKernelConstruction& construction, AsyncGate& gate)
      : AsyncOpKernel(construction), gate_(gate) {}

  void ComputeAsync(OpKernelContext& context, Done done) override {
    struct Ending {
      std::atomic<bool> ended{false};
      Done done;
    };
    auto ending = std::make_shared<Ending>();
    ending->done = std::move(done);
    auto end = [ending](const absl::Status& status) {
      if (!ending->ended.exchange(true)) ending->done(status);
    };
    const Cancellation::Token token =
        context.mutable_cancellation().Register(end);
    if (token == 0) return end(context.cancellation().status());
    Done wrapped = [&context, token, end](const absl::Status& status) {
      if (!context.mutable_cancellation().Deregister(token)) return;
      if (status.ok()) context.SetOutput(0, context.TakeInput(0));
      end(status);
    };
    if (!gate_.Wait(wrapped)) wrapped(absl::OkStatus());
  }

 private:
  AsyncGate& gate_;
};

class Throw : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    if (context.input(0).scalar<float>() == 0) throw std::bad_alloc();
    context.scheduler().ParallelFor(
        100, 1, [](int64_t, int64_t) { throw std::bad_alloc(); });
    return absl::OkStatus();
  }
};

class ThrowAsync : public AsyncOpKernel {
 public:
  using AsyncOpKernel::AsyncOpKernel;
  void ComputeAsync(OpKernelContext& context, Done done) override {
    const float x = context.input(0).scalar<float>();
    if (x == 0) Lose(std::move(done));
    if (x < 0) {
      Done dropped;
      try {
        if (x < -1) dropped = std::move(done);
        Lose(std::move(done));
      } catch (const std::bad_alloc&) {
      }
      return;
    }
    context.scheduler().Schedule(Pool::kCompute,
                                 [&context, kept = std::move(done)]() mutable {
                                   context.SetOutput(0, context.TakeInput(0));
                                   kept(absl::OkStatus());
                                 });
    throw std::bad_alloc();
  }

 private:
  [[noreturn]] static void Lose(Done done) {
    const Done lost = std::move(done);
    throw std::bad_alloc();
  }
};

class Address : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(0, TensorShape()));
    y->mutable_scalar<int64_t>() =
        reinterpret_cast<intptr_t>(context.input(0).data());
    return absl::OkStatus();
  }
};

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace

bool AsyncGate::Wait(AsyncOpKernel::Done& done) {
  absl::MutexLock lock(&mutex_);
  if (is_open_) return false;
  waiting_.push_back(std::move(done));
  return true;
}

std::vector<AsyncOpKernel::Done> AsyncGate::Take(bool open) {
  absl::MutexLock lock(&mutex_);
  is_open_ = is_open_ || open;
  return std::exchange(waiting_, {});
}

void AsyncGate::Open() {
  for (AsyncOpKernel::Done& done : Take(true)) done(absl::OkStatus());
}

void AsyncGate::Fail(const absl::Status& status) {
  for (AsyncOpKernel::Done& done : Take(false)) done(status);
}

int AsyncGate::num_waiting() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int>(waiting_.size());
}

PlanHarness::PlanHarness(Scheduler* scheduler)
    : graph(TestOps()),
      own_scheduler_(scheduler == nullptr
                         ? NewThreadScheduler(clock_, {.compute_threads = 4})
                         : nullptr),
      scheduler_(scheduler == nullptr ? own_scheduler_.get() : scheduler),
      random_(NewSeededRandom(1)),
      device_({.name = "/job:localhost/replica:0/task:0/device:CPU:0",
               .device_type = "CPU"},
              pool) {
  RegisterArrayKernels(kernels_);
  RegisterControlFlowKernels(kernels_);
  RegisterSendRecvKernels(kernels_);
  RegisterStateKernels(kernels_);
  RegisterTestKernels();
}

void PlanHarness::RegisterTestKernels() {
  kernels_.Register<weft::Add>("TestAdd", {}, /*is_cheap=*/true);
  kernels_.Register<Less>("TestLess", {}, /*is_cheap=*/true);
  kernels_.Register<weft::Fail>("TestFail", {}, /*is_cheap=*/true);
  kernels_.Register<Address>("TestAddress", {}, /*is_cheap=*/true);
  kernels_.Register<Throw>("TestThrow", {}, /*is_cheap=*/true);
  kernels_.Register<ThrowAsync>("TestThrowAsync", {}, /*is_cheap=*/true);
  kernels_.Register({.op = "TestWanted"}, [this](const auto& construction) {
    return std::make_unique<Wanted>(construction, wanted_outputs);
  });
  kernels_.Register({.op = "TestWork"}, [this](const auto& construction) {
    return std::make_unique<Work>(construction, work_runs);
  });
  for (const bool is_cheap : {true, false}) {
    kernels_.Register(
        {.op = is_cheap ? "TestAsync" : "TestLongAsync", .is_cheap = is_cheap},
        [this](const auto& construction) {
          return std::make_unique<Async>(construction, gate);
        });
  }
}

const Node* PlanHarness::Add(const std::string& name, const std::string& op,
                             std::vector<OutputTensor> inputs, AttrMap attrs,
                             std::vector<const Node*> control_inputs) {
  absl::StatusOr<Node*> node =
      graph.AddNode({.name = name,
                     .op = op,
                     .inputs = std::move(inputs),
                     .control_inputs = std::move(control_inputs),
                     .attrs = std::move(attrs)});
  if (!node.ok()) Die(node.status());
  return *node;
}

OutputTensor PlanHarness::Arg(int index, DataType type) {
  return {Add(absl::StrCat("arg", index), "_Arg", {},
              {{"T", type}, {"index", index}}),
          0};
}

OutputTensor PlanHarness::Const(const std::string& name, Tensor value,
                                std::vector<const Node*> control_inputs) {
  const DataType type = value.dtype();
  return {Add(name, "Const", {}, {{"dtype", type}, {"value", std::move(value)}},
              std::move(control_inputs)),
          0};
}

const Node* PlanHarness::Retval(int index, OutputTensor value) {
  const DataType type = RemoveRefType(value.node->output_type(value.index));
  return Add(absl::StrCat("retval", index), "_Retval", {value},
             {{"T", type}, {"index", index}});
}

absl::Status PlanHarness::Compile() {
  ASSIGN_OR_RETURN(
      plan, Plan::Compile(
                graph, {.kernels = &kernels_,
                        .device = &device_,
                        .random = random_.get(),
                        .stateful_kernels = &stateful_kernels_,
                        .default_container = &resources.default_container()}));
  return absl::OkStatus();
}

StepContext PlanHarness::MakeContext(Cancellation& cancellation,
                                     Rendezvous& rendezvous) {
  return {.step_id = 1,
          .cancellation = &cancellation,
          .scheduler = scheduler_,
          .device = &device_,
          .allocator = &pool,
          .resources = &resources,
          .step_resources = &step_resources_,
          .rendezvous = &rendezvous};
}

absl::StatusOr<std::vector<Tensor>> PlanHarness::Run(std::vector<Tensor> args,
                                                     RunWhere where) {
  Cancellation cancellation;
  LocalRendezvous rendezvous;
  return Run(std::move(args), where, cancellation, rendezvous);
}

absl::StatusOr<std::vector<Tensor>> PlanHarness::Run(std::vector<Tensor> args,
                                                     RunWhere where,
                                                     Cancellation& cancellation,
                                                     Rendezvous& rendezvous) {
  if (plan == nullptr) RETURN_IF_ERROR(Compile());
  std::vector<Tensor> retvals(plan->num_retvals());
  std::unique_ptr<Event> over = scheduler_->NewEvent();
  absl::Status result;
  Start(plan,
        {.context = MakeContext(cancellation, rendezvous),
         .args = args,
         .retvals = absl::MakeSpan(retvals),
         .trace = trace},
        where, [&](absl::Status status) {
          result = std::move(status);
          over->Set();
        });
  over->Wait();
  RETURN_IF_ERROR(result);
  return retvals;
}

absl::StatusOr<float> PlanHarness::RunFloat(std::vector<Tensor> args,
                                            RunWhere where) {
  ASSIGN_OR_RETURN(std::vector<Tensor> results, Run(std::move(args), where));
  return results.at(0).scalar<float>();
}

BegunStep::BegunStep(PlanHarness& harness, std::vector<Tensor> arguments,
                     uint64_t id)
    : retvals(harness.plan->num_retvals()),
      args_(std::move(arguments)),
      over_(harness.scheduler().NewEvent()) {
  StepContext context = harness.MakeContext(cancellation, rendezvous);
  context.step_id = id;
  Start(harness.plan, {context, args_, absl::MakeSpan(retvals)},
        RunWhere::kCaller, [this](absl::Status status) {
          result_ = std::move(status);
          over_->Set();
        });
}

absl::Status BegunStep::Wait() {
  over_->Wait();
  return result_;
}

}  // namespace weft
