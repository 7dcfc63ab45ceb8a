#include "libs/executor/executor.h"

#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/pool_progress.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/forwarding_scheduler.h"
#include "libs/executor/testing/plan_harness.h"

namespace weft {
namespace {

constexpr RunWhere kEverywhere[] = {RunWhere::kCaller, RunWhere::kReader,
                                    RunWhere::kPool};

Tensor Float(float value) { return Tensor::Scalar(value); }

// x + 1 + 1 + ... (n times).
OutputTensor Chain(PlanHarness& h, OutputTensor x, int n) {
  OutputTensor one = h.Const("one", Float(1));
  for (int i = 0; i < n; ++i) {
    x = {h.Add(absl::StrCat("add", i), "TestAdd", {x, one}), 0};
  }
  return x;
}

TEST(ExecutorTest, RunsAChainOnEveryThread) {
  PlanHarness h;
  h.Retval(0, Chain(h, h.Arg(0), 100));
  for (RunWhere where : kEverywhere) {
    for (int step = 0; step < 3; ++step) {
      ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(step)}, where));
      EXPECT_EQ(result, step + 100);
    }
  }
  EXPECT_EQ(h.plan->num_args(), 1);
  EXPECT_EQ(h.plan->num_retvals(), 1);
  EXPECT_EQ(h.plan->num_nodes(), 103);
}

TEST(ExecutorTest, RunsDiamonds) {
  PlanHarness h;
  OutputTensor x = h.Arg(0);
  for (int i = 0; i < 20; ++i) {
    OutputTensor a = {h.Add(absl::StrCat("a", i), "Identity", {x}), 0};
    OutputTensor b = {h.Add(absl::StrCat("b", i), "TestWork", {x}), 0};
    x = {h.Add(absl::StrCat("c", i), "TestAdd", {a, b}), 0};
  }
  h.Retval(0, x);
  for (RunWhere where : kEverywhere) {
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(1)}, where));
    EXPECT_EQ(result, 1 << 20);
  }
}

// Gradient graphs depend on nodes whose values are not used.
TEST(ExecutorTest, OutputsWithoutConsumersAreNotWanted) {
  PlanHarness h;
  const OutputTensor x = h.Arg(0);
  const Node* none = h.Add("none", "TestWanted", {x});
  const Node* second = h.Add("second", "TestWanted", {x}, {}, {none});
  const Node* both = h.Add("both", "TestWanted", {{second, 1}});
  h.Retval(0, {h.Add("sum", "TestAdd", {{both, 0}, {both, 1}}), 0});
  for (RunWhere where : kEverywhere) {
    h.wanted_outputs = 0;
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(2)}, where));
    EXPECT_EQ(result, 4);
    EXPECT_EQ(h.wanted_outputs, 3);
  }
}

// Each reading of a thread advances it by the duration of one kernel.
class TickingClock : public Clock {
 public:
  void set_tick(absl::Duration tick) { tick_ = tick; }
  absl::Time Now() const override {
    thread_local absl::Time now = absl::UnixEpoch();
    return now += tick_;
  }

 private:
  absl::Duration tick_ = absl::Microseconds(30);
};

// Reports the wake-up time that a test sets.
class SlowlyWoken : public ForwardingScheduler, public PoolProgress {
 public:
  using ForwardingScheduler::ForwardingScheduler;

  void set_wake_time(absl::Duration time) { wake_time_ = time; }
  void set_tick(absl::Duration tick) { clock_.set_tick(tick); }
  int num_handed_over() const { return num_handed_over_; }

  void Schedule(Pool pool, Closure closure) override {
    ++num_handed_over_;
    ForwardingScheduler::Schedule(pool, std::move(closure));
  }
  const Clock& clock() const override { return clock_; }

  uint64_t num_begun() const override { return 0; }
  int64_t num_waiting(Pool) const override { return 0; }
  int num_threads(Pool) const override { return 2; }
  absl::Duration wake_time() const override { return wake_time_; }

 private:
  TickingClock clock_;
  absl::Duration wake_time_ = absl::Microseconds(1);
  std::atomic<int> num_handed_over_{0};
};

// Several nodes that may run concurrently, each of 30 us, and their sum.
class HandOverTest : public ::testing::Test {
 protected:
  void Compile(int nodes) {
    const OutputTensor x = h_.Arg(0);
    OutputTensor sum = x;
    for (int i = 0; i < nodes; ++i) {
      const Node* work = h_.Add(absl::StrCat("work", i), "TestWork", {x});
      sum = {h_.Add(absl::StrCat("sum", i), "TestAdd", {sum, {work, 0}}), 0};
    }
    h_.Retval(0, sum);
  }
  // Returns the number of nodes handed over in a step, given the wake-up time.
  int HandedOver(absl::Duration wake_time) {
    scheduler_.set_wake_time(wake_time);
    const int before = scheduler_.num_handed_over();
    EXPECT_OK(h_.RunFloat({Float(1)}).status());
    return scheduler_.num_handed_over() - before;
  }

  SystemClock clock_;
  const std::unique_ptr<Scheduler> threads_ =
      NewThreadScheduler(clock_, {.compute_threads = 2});
  SlowlyWoken scheduler_{*threads_};
  PlanHarness h_{&scheduler_};
};

TEST_F(HandOverTest, ShortKernelsStayOnTheirThread) {
  Compile(2);
  // The duration of a run is not known at first.
  EXPECT_EQ(HandedOver(absl::Microseconds(100)), 1);
  EXPECT_EQ(HandedOver(absl::Microseconds(16)), 0);
  EXPECT_EQ(HandedOver(absl::Microseconds(14)), 1);
  EXPECT_EQ(HandedOver(absl::Microseconds(100)), 0);
}

// Not each run of a short kernel is timed, but the sampling is independent of
// steps: a step of a data set has no number of its own.
TEST_F(HandOverTest, KernelThatBecomesSlowIsHandedOver) {
  Compile(2);
  scheduler_.set_tick(absl::Microseconds(1));
  for (int i = 0; i < 20; ++i) HandedOver(absl::Microseconds(14));
  EXPECT_EQ(HandedOver(absl::Microseconds(14)), 0);
  scheduler_.set_tick(absl::Microseconds(30));
  for (int i = 0; i < 20; ++i) HandedOver(absl::Microseconds(14));
  EXPECT_EQ(HandedOver(absl::Microseconds(14)), 1);
}

TEST_F(HandOverTest, ManyReadyNodesUseSeveralThreads) {
  Compile(10);
  EXPECT_EQ(HandedOver(absl::Microseconds(20)), 9);
  // Two at a time take longer than two wake-ups of 20 us.
  EXPECT_EQ(HandedOver(absl::Microseconds(20)), 8);
  EXPECT_EQ(HandedOver(absl::Microseconds(50)), 6);
  EXPECT_EQ(HandedOver(absl::Microseconds(1000)), 0);
}

TEST(ExecutorTest, SharedOutputIsNotWrittenInPlace) {
  PlanHarness h;
  OutputTensor x = h.Arg(0);
  OutputTensor y = {h.Add("y", "TestAdd", {x, h.Const("one", Float(1))}), 0};
  for (int i = 0; i < 10; ++i) {
    OutputTensor c =
        h.Const(absl::StrCat("c", i), Float(static_cast<float>(i)));
    h.Retval(i, {h.Add(absl::StrCat("z", i), "TestAdd", {y, c}), 0});
  }
  ASSERT_OK_AND_ASSIGN(auto results, h.Run({Float(1)}));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(results[i].scalar<float>(), 2 + i);
}

TEST(ExecutorTest, ArgumentsAndConstantsAreNotModified) {
  PlanHarness h;
  OutputTensor one = h.Const("one", Float(1));
  h.Retval(0, {h.Add("sum", "TestAdd", {h.Arg(0), one}), 0});
  h.Retval(1, one);
  h.Retval(2, {h.Add("taken", "TestWork", {one}), 0});
  const Tensor arg = Float(5);
  for (int step = 0; step < 3; ++step) {
    ASSERT_OK_AND_ASSIGN(auto results, h.Run({arg}));
    EXPECT_EQ(results[0].scalar<float>(), 6);
    EXPECT_EQ(results[1].scalar<float>(), 1);
    EXPECT_EQ(results[2].scalar<float>(), 1);
    EXPECT_EQ(arg.scalar<float>(), 5);
  }
}

// A value whose consumers have run is no longer held by the executor.
TEST(ExecutorTest, ValuesAreForwardedAlongAChain) {
  PlanHarness h;
  OutputTensor one = h.Const("one", Float(1));
  OutputTensor first = {h.Add("first", "TestAdd", {h.Arg(0), one}), 0};
  OutputTensor same = {h.Add("same", "Identity", {first}), 0};
  OutputTensor second = {h.Add("second", "TestAdd", {same, one}), 0};
  h.Retval(0, second);
  ASSERT_OK_AND_ASSIGN(auto warm, h.Run({Float(1)}));
  warm.clear();
  const int64_t before = h.pool.stats().allocations;
  ASSERT_OK_AND_ASSIGN(auto results, h.Run({Float(1)}));
  EXPECT_EQ(results[0].scalar<float>(), 3);
  EXPECT_TRUE(results[0].RefCountIsOne());
  EXPECT_EQ(h.pool.stats().allocations, before + 1);
}

TEST(ExecutorTest, ControlEdgesOrderNodes) {
  PlanHarness h;
  const Node* work = h.Add("work", "TestWork", {h.Arg(0)});
  const Node* fail = h.Add("fail", "TestFail", {}, {}, {work});
  h.Add("after", "NoOp", {}, {}, {fail});
  EXPECT_THAT(h.Run({Float(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "test failure"));
  EXPECT_EQ(h.work_runs, 1);
}

TEST(ExecutorTest, EmptyPlanEndsAtOnce) {
  PlanHarness h;
  for (RunWhere where : kEverywhere) EXPECT_OK(h.Run({}, where));
}

TEST(ExecutorTest, ErrorNamesNodeAndOp) {
  PlanHarness h;
  h.Retval(0, Chain(h, {h.Add("broken", "TestFail"), 0}, 3));
  for (RunWhere where : kEverywhere) {
    EXPECT_THAT(h.Run({}, where), StatusIs(absl::StatusCode::kInvalidArgument,
                                           "[[node broken (TestFail)]]"));
  }
}

TEST(ExecutorTest, FailedStepDoesNotAffectTheNext) {
  PlanHarness h;
  OutputTensor x = h.Arg(0);
  OutputTensor y = {h.Add("async", "TestAsync", {x}), 0};
  OutputTensor sum = {h.Add("sum", "TestAdd", {Chain(h, x, 5), y}), 0};
  h.Retval(0, sum);
  h.gate.Open();
  ASSERT_OK(h.Compile());
  for (int step = 0; step < 5; ++step) {
    Cancellation cancelled;
    cancelled.Cancel(absl::CancelledError("before it began"));
    LocalRendezvous rendezvous;
    EXPECT_THAT(h.Run({Float(1)}, RunWhere::kCaller, cancelled, rendezvous),
                StatusIs(absl::StatusCode::kCancelled, "before it began"));
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(1)}));
    EXPECT_EQ(result, 7);
  }
}

TEST(ExecutorTest, WrongNumberOfArgsOrRetvalsIsRefused) {
  PlanHarness h;
  h.Retval(0, h.Arg(0));
  EXPECT_THAT(h.Run({}), StatusIs(absl::StatusCode::kInvalidArgument,
                                  "its plan takes 1 and gives 1"));
}

TEST(ExecutorTest, AsynchronousKernelsHoldNoThread) {
  PlanHarness h;
  OutputTensor x = h.Arg(0);
  OutputTensor sum = x;
  constexpr int kKernels = 50;
  for (int i = 0; i < kKernels; ++i) {
    OutputTensor y = {h.Add(absl::StrCat("async", i), "TestAsync", {x}), 0};
    sum = {h.Add(absl::StrCat("sum", i), "TestAdd", {sum, y}), 0};
  }
  h.Retval(0, sum);
  ASSERT_OK(h.Compile());
  BegunStep step(h, {Float(1)}, 1);
  EXPECT_FALSE(step.IsOver());
  EXPECT_EQ(h.gate.num_waiting(), kKernels);
  h.gate.Open();
  EXPECT_OK(step.Wait());
  EXPECT_EQ(step.retvals[0].scalar<float>(), kKernels + 1);
}

TEST(ExecutorTest, DescribeWaitsNamesPendingNodes) {
  PlanHarness h;
  h.Add("keep", "TestAsync", {h.Arg(0)});
  const AttrMap edge = {{"T", DT_FLOAT},
                        {"edge", 7},
                        {"tensor_name", "x:0"},
                        {"send_device", "/job:ps/task:0"},
                        {"recv_device", "b"}};
  h.Retval(0, {h.Add("recv", "_Recv", {}, edge), 0});
  // A feed of a partial run.
  h.Add("feed", "_Recv", {},
        {{"T", DT_FLOAT},
         {"edge", 8},
         {"tensor_name", "a:0"},
         {"send_device", "b"},
         {"recv_device", "b"}});
  ASSERT_OK(h.Compile());
  BegunStep step(h, {Float(1)}, 12);
  std::vector<std::string> waits;
  EXPECT_FALSE(h.plan->DescribeWaits(11, waits));
  EXPECT_TRUE(h.plan->DescribeWaits(12, waits));
  EXPECT_THAT(waits,
              ::testing::UnorderedElementsAre("node keep (TestAsync)",
                                              "tensor x:0 from /job:ps/task:0",
                                              "the client to feed a:0"));
  EXPECT_OK(step.rendezvous.Send({7, 0, 0}, Float(2), false));
  EXPECT_OK(step.rendezvous.Send({8, 0, 0}, Float(2), false));
  waits.clear();
  EXPECT_TRUE(h.plan->DescribeWaits(12, waits));
  EXPECT_THAT(waits, ::testing::ElementsAre("node keep (TestAsync)"));
  h.gate.Open();
  EXPECT_OK(step.Wait());
  waits.clear();
  EXPECT_FALSE(h.plan->DescribeWaits(12, waits));
  EXPECT_TRUE(waits.empty());
}

// A thread that reads messages must not wait for a variable that is being
// changed: the pool does.
class LockedVariableTest : public ::testing::TestWithParam<const char*> {
 protected:
  // Adds the node under test: it takes the variable and, if the op has more
  // inputs, an argument.
  const Node* AddNode(bool is_ref) {
    const AttrMap declared = {{"dtype", DT_FLOAT},
                              {"shape", PartialShape(TensorShape())},
                              {"shared_name", std::string("v")}};
    std::vector<OutputTensor> inputs = {
        {h_.Add("v", is_ref ? "VariableV2" : "VarHandleOp", {}, declared), 0}};
    const OpDef& op = *h_.graph.registry()->Find(GetParam());
    if (op.inputs.size() > 1) inputs.push_back(h_.Arg(0));
    AttrMap attrs;
    if (op.name == "ReadVariableOp") attrs["dtype"] = DT_FLOAT;
    return h_.Add("node", GetParam(), inputs, attrs);
  }

  // The step begins on a thread of its own, which must return.
  void StartOnReader(const StepArgs& args) {
    auto returned = h_.scheduler().NewEvent();
    reader_ = std::thread([&, event = returned.get()] {
      Start(h_.plan, args, RunWhere::kReader, [&](absl::Status status) {
        result_ = std::move(status);
        over_->Set();
      });
      event->Set();
    });
    EXPECT_TRUE(
        returned->WaitUntil(h_.scheduler().clock().Now() + absl::Seconds(2)))
        << GetParam() << " waits for the variable";
    returned_ = std::move(returned);
  }

  PlanHarness h_;
  std::unique_ptr<Event> over_ = h_.scheduler().NewEvent();
  std::unique_ptr<Event> returned_;
  std::thread reader_;
  absl::Status result_;
};

TEST_P(LockedVariableTest, ReaderOfALockedVariableDoesNotBlock) {
  const bool is_ref = h_.graph.registry()->Find(GetParam())->inputs[0].is_ref;
  const Node* node =
      AddNode(is_ref || absl::string_view(GetParam()) == "Identity");
  if (node->num_outputs() > 0 && !IsRefType(node->output_type(0))) {
    h_.Retval(0, {node, 0});
  }
  ASSERT_OK(h_.Compile());
  Cancellation cancellation;
  LocalRendezvous rendezvous;
  ASSERT_OK_AND_ASSIGN(auto variable,
                       h_.resources.LookupOrCreate<Variable>(
                           cancellation, "", "v",
                           []() -> absl::StatusOr<std::shared_ptr<Variable>> {
                             return std::make_shared<Variable>("v", DT_FLOAT,
                                                               PartialShape());
                           }));
  ASSERT_OK(variable->Assign(cancellation, Float(1)));
  const std::vector<Tensor> args = {Float(5)};
  std::vector<Tensor> retvals(1);
  ASSERT_OK(
      variable->Update(cancellation, h_.pool, [&](const Tensor&, Tensor&) {
        StartOnReader({h_.MakeContext(cancellation, rendezvous), args,
                       absl::MakeSpan(retvals)});
        return absl::OkStatus();
      }));
  reader_.join();
  over_->Wait();
  EXPECT_OK(result_);
}

INSTANTIATE_TEST_SUITE_P(
    Ops, LockedVariableTest,
    ::testing::Values("ReadVariableOp", "VarIsInitializedOp", "VariableShape",
                      "AssignVariableOp", "AssignAddVariableOp",
                      "AssignSubVariableOp", "IsVariableInitialized", "Assign",
                      "AssignAdd", "AssignSub", "Identity", "RefIdentity"),
    [](const auto& op) { return std::string(op.param); });

TEST(ExecutorTest, ErrorReleasesWaitingKernels) {
  PlanHarness h;
  OutputTensor waits = {h.Add("waits", "TestAsync", {h.Arg(0)}), 0};
  h.Retval(0, waits);
  h.Retval(1, {h.Add("fails", "TestFail"), 0});
  for (RunWhere where : kEverywhere) {
    EXPECT_THAT(h.Run({Float(1)}, where),
                StatusIs(absl::StatusCode::kInvalidArgument, "fails"));
  }
}

// Exceptions of kernels; the second value makes them throw in another place.
TEST(ExecutorTest, AnExceptionFailsItsNode) {
  for (const char* op : {"TestThrow", "TestThrowAsync"}) {
    PlanHarness h;
    h.Retval(0, {h.Add("throws", op, {h.Arg(0)}), 0});
    for (RunWhere where : kEverywhere) {
      EXPECT_THAT(
          h.Run({Float(0)}, where),
          StatusIs(absl::StatusCode::kResourceExhausted, "(std::bad_alloc)"))
          << op;
    }
  }
}

TEST(ExecutorTest, DoneLostToAnExceptionFailsItsNode) {
  PlanHarness h;
  h.Retval(0, {h.Add("throws", "TestThrowAsync", {h.Arg(0)}), 0});
  for (RunWhere where : kEverywhere) {
    for (const float x : {-1.0f, -2.0f}) {
      EXPECT_THAT(
          h.Run({Float(x)}, where),
          StatusIs(absl::StatusCode::kResourceExhausted, "[[node throws"));
    }
  }
}

TEST(ExecutorTest, AnExceptionInParallelForFailsItsNode) {
  PlanHarness h;
  h.Retval(0, {h.Add("throws", "TestThrow", {h.Arg(0)}), 0});
  for (RunWhere where : kEverywhere) {
    EXPECT_THAT(
        h.Run({Float(1)}, where),
        StatusIs(absl::StatusCode::kResourceExhausted, "[[node throws"));
  }
}

TEST(ExecutorTest, AnAsynchronousKernelThatThrowsMayStillEnd) {
  PlanHarness h;
  h.Retval(0, {h.Add("throws", "TestThrowAsync", {h.Arg(0)}), 0});
  for (RunWhere where : kEverywhere) {
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(3)}, where));
    EXPECT_EQ(result, 3);
  }
}

TEST(ExecutorTest, AnAsynchronousErrorNamesItsNode) {
  PlanHarness h;
  h.Retval(0, {h.Add("waits", "TestAsync", {h.Arg(0)}), 0});
  ASSERT_OK(h.Compile());
  std::thread client([&] {
    EXPECT_THAT(h.Run({Float(1)}),
                StatusIs(absl::StatusCode::kUnavailable, "[[node waits"));
  });
  while (h.gate.num_waiting() == 0) std::this_thread::yield();
  h.gate.Fail(absl::UnavailableError("peer is gone"));
  client.join();
}

TEST(ExecutorTest, ExternalCancellationIsTheResult) {
  PlanHarness h;
  h.Retval(0, {h.Add("waits", "TestAsync", {h.Arg(0)}), 0});
  ASSERT_OK(h.Compile());
  Cancellation cancellation;
  LocalRendezvous rendezvous;
  std::thread client([&] {
    absl::Status status =
        h.Run({Float(1)}, RunWhere::kCaller, cancellation, rendezvous).status();
    EXPECT_EQ(status, absl::DeadlineExceededError("too late"));
  });
  while (h.gate.num_waiting() == 0) std::this_thread::yield();
  cancellation.Cancel(absl::DeadlineExceededError("too late"));
  client.join();
}

TEST(ExecutorTest, SendMatchesReceive) {
  PlanHarness h;
  const AttrMap edge = {{"T", DT_FLOAT},
                        {"edge", 7},
                        {"tensor_name", "x:0"},
                        {"send_device", "a"},
                        {"recv_device", "b"}};
  h.Add("send", "_Send", {h.Arg(0)}, edge);
  h.Retval(0, {h.Add("recv", "_Recv", {}, edge), 0});
  for (RunWhere where : kEverywhere) {
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(3)}, where));
    EXPECT_EQ(result, 3);
  }
}

// Returns how often an outbox was flushed by the time the step was done, when a
// plan ran on this thread.
class CountingOutbox : public Outbox {
 public:
  void Flush() override {
    ++flushes;
    is_urgent = false;
  }
  bool IsUrgent() const override { return is_urgent; }

  int FlushesOf(PlanHarness& h, RunWhere where) {
    Cancellation cancellation;
    LocalRendezvous rendezvous;
    const std::vector<Tensor> args = {Float(1)};
    int at_end = -1;
    Start(h.plan, {h.MakeContext(cancellation, rendezvous), args, {}, this},
          where, [&](const absl::Status& status) {
            EXPECT_OK(status);
            at_end = flushes;
          });
    after_start = flushes;
    h.gate.Open();
    EXPECT_GE(at_end, 0) << "the step did not end on this thread";
    return at_end;
  }

  bool is_urgent = false;
  int flushes = 0;
  int after_start = 0;
};

TEST(ExecutorTest, LastThreadLeavesItsFlushToTheStepEnd) {
  PlanHarness h;
  Chain(h, h.Arg(0), 3);
  ASSERT_OK(h.Compile());
  CountingOutbox outbox;
  EXPECT_EQ(outbox.FlushesOf(h, RunWhere::kCaller), 0);
  EXPECT_EQ(outbox.FlushesOf(h, RunWhere::kReader), 0);
}

TEST(ExecutorTest, FlushDoesNotWaitForALongKernel) {
  PlanHarness h;
  h.Add("work", "TestWork", {h.Arg(0)});
  ASSERT_OK(h.Compile());
  CountingOutbox outbox;
  EXPECT_EQ(outbox.FlushesOf(h, RunWhere::kCaller), 1);
}

TEST(ExecutorTest, FlushDoesNotWaitForALongKernelStart) {
  PlanHarness h;
  h.gate.Open();
  h.Add("work", "TestLongAsync", {h.Arg(0)});
  ASSERT_OK(h.Compile());
  CountingOutbox outbox;
  EXPECT_EQ(outbox.FlushesOf(h, RunWhere::kCaller), 1);
}

TEST(ExecutorTest, UrgentValuesWaitForNoKernel) {
  PlanHarness h;
  Chain(h, h.Arg(0), 3);
  ASSERT_OK(h.Compile());
  CountingOutbox outbox;
  outbox.is_urgent = true;
  EXPECT_EQ(outbox.FlushesOf(h, RunWhere::kReader), 1);
}

// The send moves its input, also on the reading thread and regardless of other
// ready nodes.
TEST(ExecutorTest, LargeValueIsSentByItsProducersThread) {
  PlanHarness h;
  const AttrMap edge = {{"T", DT_FLOAT},
                        {"edge", 7},
                        {"tensor_name", "x:0"},
                        {"send_device", "a"},
                        {"recv_device", "b"}};
  h.Add("send", "_Send", {h.Arg(0)}, edge);
  ASSERT_OK(h.Compile());
  Cancellation cancellation;
  LocalRendezvous rendezvous;
  const std::vector<Tensor> args = {Tensor(DT_FLOAT, TensorShape({1 << 20}))};
  bool over = false, arrived = false;
  Start(h.plan, {h.MakeContext(cancellation, rendezvous), args, {}},
        RunWhere::kReader, [&](const absl::Status& status) {
          EXPECT_OK(status);
          over = true;
        });
  EXPECT_TRUE(over);
  rendezvous.Receive({.edge = 7}, [&](const absl::Status& status,
                                      const Tensor& value, bool /*is_dead*/) {
    EXPECT_OK(status);
    EXPECT_EQ(value.num_elements(), 1 << 20);
    arrived = true;
  });
  EXPECT_TRUE(arrived);
}

// Strings are encoded to be sent, for which the reading thread has no time.
TEST(ExecutorTest, ManyStringsAreSentByThePool) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  PlanHarness h(&scheduler);
  h.Add("send", "_Send", {h.Arg(0, DT_STRING)},
        {{"T", DT_STRING},
         {"edge", 7},
         {"tensor_name", "x:0"},
         {"send_device", "a"},
         {"recv_device", "b"}});
  ASSERT_OK(h.Compile());
  Cancellation cancellation;
  LocalRendezvous rendezvous;
  const std::vector<Tensor> args = {Tensor(DT_STRING, TensorShape({1 << 16}))};
  bool over = false;
  Start(h.plan, {h.MakeContext(cancellation, rendezvous), args, {}},
        RunWhere::kReader, [&](const absl::Status& status) {
          EXPECT_OK(status);
          over = true;
        });
  EXPECT_FALSE(over);
  scheduler.RunUntilIdle();
  EXPECT_TRUE(over);
}

// For example, a batch for a queue is split before it waits.
TEST(ExecutorTest, ExpensiveAsyncKernelStartsOnThePool) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  PlanHarness h(&scheduler);
  const OutputTensor x = h.Arg(0);
  h.Add("cheap", "TestAsync", {x});
  h.Add("long", "TestLongAsync", {x});
  ASSERT_OK(h.Compile());
  Cancellation cancellation;
  LocalRendezvous rendezvous;
  const std::vector<Tensor> args = {Float(1)};
  bool over = false;
  Start(h.plan, {h.MakeContext(cancellation, rendezvous), args, {}},
        RunWhere::kReader, [&](const absl::Status& status) {
          EXPECT_OK(status);
          over = true;
        });
  EXPECT_EQ(h.gate.num_waiting(), 1);
  scheduler.RunUntilIdle();
  EXPECT_EQ(h.gate.num_waiting(), 2);
  h.gate.Open();
  scheduler.RunUntilIdle();
  EXPECT_TRUE(over);
}

TEST(ExecutorTest, FlushDoesNotWaitForAsyncKernels) {
  PlanHarness h;
  h.Add("later", "TestAsync", {h.Arg(0)});
  ASSERT_OK(h.Compile());
  CountingOutbox outbox;
  EXPECT_EQ(outbox.FlushesOf(h, RunWhere::kReader), 1);
  EXPECT_EQ(outbox.after_start, 1);
}

TEST(ExecutorTest, AReceivedDeadTensorKillsItsConsumers) {
  PlanHarness h;
  const AttrMap edge = {{"T", DT_FLOAT},
                        {"edge", 7},
                        {"tensor_name", "x:0"},
                        {"send_device", "a"},
                        {"recv_device", "b"}};
  OutputTensor received = {h.Add("recv", "_Recv", {}, edge), 0};
  h.Add("work", "TestWork", {received});
  h.Add("fails", "TestFail", {}, {}, {received.node});
  for (RunWhere where : kEverywhere) {
    Cancellation cancellation;
    LocalRendezvous rendezvous;
    ASSERT_OK(rendezvous.Send({.edge = 7}, Tensor(), /*is_dead=*/true));
    EXPECT_OK(h.Run({}, where, cancellation, rendezvous));
  }
  EXPECT_EQ(h.work_runs, 0);
}

TEST(ExecutorTest, ReferencesAreReadWhenTheConsumerRuns) {
  PlanHarness h;
  const Node* v = h.Add("v", "VariableV2", {},
                        {{"dtype", DT_FLOAT}, {"shape", TensorShape()}});
  const Node* assign = h.Add("assign", "Assign", {{v, 0}, h.Arg(0)});
  h.Retval(0, {assign, 0});
  const Node* read = h.Add("read", "Identity", {{v, 0}}, {}, {assign});
  h.Retval(1, {read, 0});
  for (RunWhere where : kEverywhere) {
    ASSERT_OK_AND_ASSIGN(auto results, h.Run({Float(4)}, where));
    EXPECT_EQ(results[0].scalar<float>(), 4);
    EXPECT_EQ(results[1].scalar<float>(), 4);
  }
}

// A variable that a step sets to 4, reads through an Identity and then, after
// that, adds 1 to.
struct ReadThenChanged {
  explicit ReadThenChanged(PlanHarness& h) {
    v = h.Add("v", "VariableV2", {},
              {{"dtype", DT_FLOAT}, {"shape", TensorShape()}});
    zero = h.Const("zero", Float(0));
    // Memory without other owners.
    const Node* four = h.Add("four", "TestAdd", {h.Arg(0), zero});
    const Node* init = h.Add("init", "Assign", {{v, 0}, {four, 0}});
    read = h.Add("read", "Identity", {{v, 0}}, {}, {init});
    change = h.Add("change", "AssignAdd", {{v, 0}, h.Const("one", Float(1))},
                   {}, {read});
  }
  const Node* v;
  const Node* read;
  const Node* change;
  OutputTensor zero;
};

// TensorFlow's SyncReplicasOptimizer relies on it.
TEST(ExecutorTest, ConsumerSeesAChangeThroughAnIdentity) {
  PlanHarness h;
  const ReadThenChanged s(h);
  const Node* chained = h.Add("chained", "Identity", {{s.read, 0}});
  auto sum = [&](const char* name, const Node* x,
                 std::vector<const Node*> after) -> OutputTensor {
    return {h.Add(name, "TestAdd", {{x, 0}, s.zero}, {}, std::move(after)), 0};
  };
  h.Retval(0, {s.read, 0});
  h.Retval(1, sum("unordered", s.read, {}));
  h.Retval(2, sum("after", s.read, {s.change}));
  h.Retval(3, sum("chained_after", chained, {s.change}));
  for (RunWhere where : kEverywhere) {
    ASSERT_OK_AND_ASSIGN(auto results, h.Run({Float(4)}, where));
    EXPECT_EQ(results[0].scalar<float>(), 4);
    EXPECT_EQ(results[1].scalar<float>(), 4);
    EXPECT_EQ(results[2].scalar<float>(), 5);
    EXPECT_EQ(results[3].scalar<float>(), 5);
  }
}

TEST(ExecutorTest, AReadAfterTheLastChangeIsReadOnce) {
  PlanHarness h;
  const ReadThenChanged s(h);
  const Node* read = h.Add("again", "Identity", {{s.v, 0}}, {}, {s.change});
  const Node* other = h.Add("other", "AssignAdd",
                            {{s.v, 0}, h.Const("ten", Float(10))}, {}, {read});
  h.Retval(0, {h.Add("sum", "TestAdd", {{read, 0}, s.zero}), 0});
  h.Retval(1, {h.Add("late", "TestAdd", {{read, 0}, s.zero}, {}, {other}), 0});
  ASSERT_OK_AND_ASSIGN(auto results, h.Run({Float(4)}));
  EXPECT_EQ(results[0].scalar<float>(), 5);
  EXPECT_EQ(results[1].scalar<float>(), 15);
}

// The value that is read late is in no slot meanwhile.
TEST(ExecutorTest, AConsumerAfterAChangeForcesNoCopy) {
  PlanHarness h;
  const ReadThenChanged s(h);
  h.Retval(
      0, {h.Add("after", "TestAdd", {{s.read, 0}, s.zero}, {}, {s.change}), 0});
  ASSERT_OK(h.Run({Float(4)}));
  ASSERT_OK_AND_ASSIGN(auto variable,
                       h.resources.Lookup<Variable>("localhost", "v"));
  EXPECT_EQ(variable->bytes_copied_on_write(), 0);
}

TEST(ExecutorTest, AConsumerAfterAChangeIsDeadWithItsIdentity) {
  PlanHarness h;
  const ReadThenChanged s(h);
  const Node* choose = h.Add("choose", "Switch", {h.Arg(1), h.Arg(2, DT_BOOL)});
  const Node* taken = h.Add("taken", "Identity", {{choose, 1}});
  const Node* read =
      h.Add("branch", "Identity", {{s.v, 0}}, {}, {s.read, taken});
  h.Add("work", "TestWork", {{read, 0}}, {}, {s.change});
  for (const bool runs : {false, true}) {
    ASSERT_OK(h.Run({Float(4), Float(0), Tensor::Scalar(runs)}));
    EXPECT_EQ(h.work_runs, runs ? 1 : 0);
  }
}

TEST(ExecutorTest, AnUninitializedVariableIsNamed) {
  PlanHarness h;
  const Node* v = h.Add("v", "VariableV2", {},
                        {{"dtype", DT_FLOAT}, {"shape", TensorShape()}});
  h.Retval(0, {v, 0});
  EXPECT_THAT(h.Run(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                "Attempting to use uninitialized value v. Run "
                                "its initializer first"));
}

// Switch on `pred`; TestWork on the true side, TestFail after the false side.
TEST(ExecutorTest, OnlyTheTakenBranchRuns) {
  PlanHarness h;
  const Node* choose = h.Add("choose", "Switch", {h.Arg(0), h.Arg(1, DT_BOOL)});
  OutputTensor on_true = {h.Add("work", "TestWork", {{choose, 1}}), 0};
  const Node* on_false = h.Add("pass", "Identity", {{choose, 0}});
  const Node* fail = h.Add("fail", "TestFail", {}, {}, {on_false});
  const Node* merge = h.Add("merge", "Merge", {{fail, 0}, on_true});
  h.Retval(0, {merge, 0});
  h.Retval(1, {merge, 1});
  for (RunWhere where : kEverywhere) {
    for (int step = 0; step < 3; ++step) {
      ASSERT_OK_AND_ASSIGN(auto results,
                           h.Run({Float(2), Tensor::Scalar(true)}, where));
      EXPECT_EQ(results[0].scalar<float>(), 2);
      EXPECT_EQ(results[1].scalar<int32_t>(), 1);
      EXPECT_THAT(h.Run({Float(2), Tensor::Scalar(false)}, where),
                  StatusIs(absl::StatusCode::kInvalidArgument, "fail"));
    }
  }
}

// Switches with and without constants, one whose other branch is not used, and
// Merges whose value_index is used and is not used.
TEST(ExecutorTest, BranchesOfAllKindsMerge) {
  PlanHarness h;
  OutputTensor x = h.Arg(0);
  OutputTensor which = h.Arg(1, DT_BOOL);
  OutputTensor nine = h.Const("nine", Float(9));
  OutputTensor yes = h.Const("yes", Tensor::Scalar(true));
  const Node* value = h.Add("value", "Switch", {x, which});
  const Node* constant = h.Add("constant", "Switch", {nine, which});
  const Node* always = h.Add("always", "Switch", {x, yes});
  const Node* inc =
      h.Add("inc", "TestAdd", {{value, 1}, h.Const("one", Float(1))});
  h.Retval(0, {h.Add("quiet", "Merge", {{value, 0}, {inc, 0}}), 0});
  const Node* tells = h.Add("tells", "Merge", {{inc, 0}, {constant, 0}});
  h.Retval(1, {tells, 0});
  h.Retval(2, {tells, 1});
  h.Retval(3, {always, 1});
  for (int step = 0; step < 2; ++step) {
    for (RunWhere where : kEverywhere) {
      for (const bool taken : {false, true}) {
        ASSERT_OK_AND_ASSIGN(auto results,
                             h.Run({Float(5), Tensor::Scalar(taken)}, where));
        EXPECT_EQ(results[0].scalar<float>(), taken ? 6 : 5);
        EXPECT_EQ(results[1].scalar<float>(), taken ? 6 : 9);
        EXPECT_EQ(results[2].scalar<int32_t>(), taken ? 0 : 1);
        EXPECT_EQ(results[3].scalar<float>(), 5);
      }
    }
  }
}

TEST(ExecutorTest, APredicateIsAScalar) {
  PlanHarness h;
  const Node* choose = h.Add("choose", "Switch", {h.Arg(0), h.Arg(1, DT_BOOL)});
  h.Retval(0, {h.Add("merge", "Merge", {{choose, 0}, {choose, 1}}), 0});
  EXPECT_THAT(h.Run({Float(1), Tensor::Vector<bool>({true})}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "must be a scalar, but it has shape [1]"));
  ASSERT_OK_AND_ASSIGN(float result,
                       h.RunFloat({Float(1), Tensor::Scalar(true)}));
  EXPECT_EQ(result, 1);
}

// A value is produced in the slot of its last consumer, and must be gone from
// there when the step has failed.
TEST(ExecutorTest, FailedStepReleasesItsValues) {
  PlanHarness h;
  OutputTensor one = h.Const("one", Float(1));
  OutputTensor sum = {h.Add("sum", "TestAdd", {h.Arg(0), one}), 0};
  const Node* fail = h.Add("fail", "TestFail", {}, {}, {sum.node});
  h.Retval(0, {h.Add("both", "TestAdd", {sum, {fail, 0}}), 0});
  EXPECT_THAT(h.Run({Float(1)}),
              StatusIs(absl::StatusCode::kInvalidArgument, "test failure"));
  EXPECT_EQ(h.pool.stats().bytes_in_use, 0);
}

TEST(ExecutorTest, FetchOfADeadTensorIsRefused) {
  PlanHarness h;
  const Node* choose = h.Add("choose", "Switch", {h.Arg(0), h.Arg(1, DT_BOOL)});
  h.Retval(0, {choose, 0});
  h.Retval(1, {choose, 1});
  EXPECT_THAT(h.Run({Float(2), Tensor::Scalar(true)}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Retval[0] does not have value"));
}

TEST(ExecutorTest, ControlTriggerRunsAfterDeadMerge) {
  PlanHarness h;
  const Node* choose = h.Add("choose", "Switch", {h.Arg(0), h.Arg(1, DT_BOOL)});
  const Node* merge = h.Add("merge", "Merge", {{choose, 0}, {choose, 0}});
  const Node* trigger = h.Add("trigger", "ControlTrigger", {}, {}, {merge});
  OutputTensor late = h.Const("late", Float(9), {trigger});
  h.Retval(0, late);
  h.Add("work", "TestWork", {{merge, 0}});
  ASSERT_OK_AND_ASSIGN(float result,
                       h.RunFloat({Float(1), Tensor::Scalar(true)}));
  EXPECT_EQ(result, 9);
  EXPECT_EQ(h.work_runs, 0);
}

TEST(ExecutorTest, MergeTakesAConstant) {
  PlanHarness h;
  const Node* choose = h.Add("choose", "Switch", {h.Arg(0), h.Arg(1, DT_BOOL)});
  const Node* merge =
      h.Add("merge", "Merge", {{choose, 0}, h.Const("c", Float(8))});
  h.Retval(0, {merge, 0});
  ASSERT_OK_AND_ASSIGN(float result,
                       h.RunFloat({Float(1), Tensor::Scalar(true)}));
  EXPECT_EQ(result, 8);
}

TEST(ExecutorTest, ManyThreadsRunOnePlan) {
  PlanHarness h;
  OutputTensor x = h.Arg(0);
  h.gate.Open();
  for (int i = 0; i < 10; ++i) {
    OutputTensor a = {h.Add(absl::StrCat("a", i), "TestWork", {x}), 0};
    OutputTensor b = {h.Add(absl::StrCat("b", i), "TestAsync", {x}), 0};
    OutputTensor c = {h.Add(absl::StrCat("c", i), "TestWork", {x}), 0};
    OutputTensor ab = {h.Add(absl::StrCat("ab", i), "TestAdd", {a, b}), 0};
    x = {h.Add(absl::StrCat("abc", i), "TestAdd", {ab, c}), 0};
  }
  h.Retval(0, x);
  ASSERT_OK(h.Compile());
  std::vector<std::thread> clients;
  for (int client = 0; client < 8; ++client) {
    clients.emplace_back([&h, client] {
      for (int step = 0; step < 100; ++step) {
        const RunWhere where = kEverywhere[step % 3];
        absl::StatusOr<float> result =
            h.RunFloat({Float(static_cast<float>(client))}, where);
        ASSERT_OK(result);
        EXPECT_EQ(*result, client * 59049.0f);
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

// Concurrent steps fail, are cancelled, and succeed.
TEST(ExecutorTest, ManyThreadsCancelledAtRandom) {
  PlanHarness h;
  OutputTensor x = h.Arg(0);
  for (int i = 0; i < 20; ++i) {
    OutputTensor a = {h.Add(absl::StrCat("a", i), "TestWork", {x}), 0};
    OutputTensor b = {h.Add(absl::StrCat("b", i), "TestWork", {x}), 0};
    x = {h.Add(absl::StrCat("ab", i), "TestAdd", {a, b}), 0};
  }
  h.Retval(0, x);
  ASSERT_OK(h.Compile());
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&h] {
      for (int step = 0; step < 100; ++step) {
        Cancellation cancellation;
        LocalRendezvous rendezvous;
        std::thread canceller(
            [&] { cancellation.Cancel(absl::CancelledError("enough")); });
        auto result =
            h.Run({Float(1)}, RunWhere::kPool, cancellation, rendezvous);
        canceller.join();
        if (result.ok()) {
          EXPECT_EQ((*result)[0].scalar<float>(), 1 << 20);
        } else {
          EXPECT_EQ(result.status(), absl::CancelledError("enough"));
        }
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

TEST(ExecutorTest, RunsOnASimulatedScheduler) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock, {.seed = 7});
  PlanHarness h(&scheduler);
  OutputTensor x = h.Arg(0);
  OutputTensor a = {h.Add("a", "TestWork", {x}), 0};
  OutputTensor b = {h.Add("b", "TestWork", {x}), 0};
  h.Retval(0, {h.Add("ab", "TestAdd", {a, b}), 0});
  for (RunWhere where : kEverywhere) {
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(1)}, where));
    EXPECT_EQ(result, 2);
  }
}

TEST(PlanTest, AnUnknownKernelNamesItsNode) {
  PlanHarness h;
  h.Add("order", "Unique", {h.Const("c", Tensor::Vector<float>({1}))});
  // Strings have no TestAdd, whatever the state of the array family.
  PlanHarness other;
  other.Add("lost", "_Retval", {other.Const("c", Float(1))},
            {{"T", DT_FLOAT}, {"index", int64_t{1} << 40}});
  EXPECT_THAT(other.Compile(),
              StatusIs(absl::StatusCode::kInvalidArgument, "lost"));
}

TEST(StatefulKernelsTest, OneKernelForEachName) {
  StatefulKernels kernels;
  PlanHarness h;
  int made = 0;
  auto create = [&]() -> absl::StatusOr<std::unique_ptr<OpKernel>> {
    ++made;
    return absl::UnavailableError("not now");
  };
  EXPECT_THAT(kernels.GetOrCreate("a", create),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(kernels.GetOrCreate("a", create),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace weft
