// Tests which requests a session sends to its master and how often, and what it
// answers itself; how threads share a session while the master's answers are
// delayed; and how a session ends. The answers of masters are tested in
// libs/master.
#include "libs/session/session.h"

#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/exceptions.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/failing_memory.h"
#include "libs/ops/array/array_ops.h"
#include "libs/protocol/master/graph_options.h"
#include "libs/protocol/testing/recording_master.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr auto kClosed = absl::StatusCode::kFailedPrecondition;

Tensor Number(float value) { return Tensor::Scalar(value); }

// The elements differ, so that the tensor is not compressed in a GraphDef.
Tensor Bytes(int64_t count) {
  Tensor tensor(DT_UINT8, TensorShape({count}));
  const auto bytes = tensor.mutable_flat<uint8_t>();
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return tensor;
}

std::vector<float> Values(const std::vector<Tensor>& tensors) {
  std::vector<float> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.scalar<float>());
  return values;
}

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // The test owns the only reference to the session.
    ASSERT_OK_AND_ASSIGN(session_,
                         Session::Create({std::shared_ptr<void>(), &master_},
                                         scheduler_, root_, {}));
    EXPECT_OK(Run(x_, y_));
  }
  void TearDown() override {
    master_.hold = master_.hold_runs = false;
    while (master_.num_held() > 0) Release();
    while (!master_.running.empty()) EndRun();
    session_.reset();
  }

  absl::Status Run(const Output& feed, const Output& fetch) {
    return session_->Run({{feed, Tensor::Scalar(2.0f)}}, fetch).status();
  }
  // Runs a step on another thread, as far as it gets without advancing the
  // time.
  void RunElsewhere(const Output& feed, const Output& fetch,
                    std::optional<absl::Status>* result) {
    scheduler_.Schedule(Pool::kBlocking,
                        [=, this] { *result = Run(feed, fetch); });
    scheduler_.RunUntilIdle();
  }
  void Release() {
    master_.Release();
    scheduler_.RunUntilIdle();
  }
  void EndRun() {
    master_.EndRun();
    scheduler_.RunUntilIdle();
  }
  std::unique_ptr<Session::Callable> MakeCallable() {
    auto callable = session_->MakeCallable({x_}, {y_});
    EXPECT_OK(callable);
    return callable.ok() ? *std::move(callable) : nullptr;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  protocol::RecordingMaster master_;
  Scope root_ = Scope::Root();
  Output x_ = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  Output y_ = ops::Identity(root_.WithName("y"), x_);
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, PreparedRunsContinueDuringAnExtension) {
  const Output z = ops::Identity(root_.WithName("z"), x_);
  std::optional<absl::Status> extending;
  master_.hold = true;
  RunElsewhere(x_, z, &extending);
  ASSERT_EQ(master_.num_held(), 1u);
  EXPECT_OK(Run(x_, y_));
  EXPECT_FALSE(extending.has_value());
  master_.hold = false;
  Release();
  ASSERT_TRUE(extending.has_value());
  EXPECT_OK(*extending);
}

TEST_F(SessionTest, RunWithNewNodesWaitsForTheirExtension) {
  const Output z = ops::Identity(root_.WithName("z"), x_);
  std::optional<absl::Status> first, second;
  master_.hold = true;
  RunElsewhere(x_, z, &first);
  RunElsewhere(x_, z, &second);
  EXPECT_EQ(master_.num_held(), 1u);
  master_.hold = false;
  Release();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_OK(*first);
  EXPECT_OK(*second);
  // The extension of the first run, and the extension of this run.
  EXPECT_EQ(master_.extensions.size(), 2u);
}

TEST_F(SessionTest, RefusedExtensionIsResentByAWaitingRun) {
  const Output z = ops::Identity(root_.WithName("z"), x_);
  std::optional<absl::Status> first, second;
  master_.hold = true;
  RunElsewhere(x_, z, &first);
  RunElsewhere(x_, z, &second);
  master_.hold = false;
  master_.answer_extension = absl::UnavailableError("the connection was lost");
  Release();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_THAT(*first, StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  EXPECT_OK(*second);
  EXPECT_EQ(master_.extensions.size(), 3u);
}

TEST_F(SessionTest, CloseDoesNotWaitForAnExtension) {
  const Output z = ops::Identity(root_.WithName("z"), x_);
  std::optional<absl::Status> first, second, closed;
  master_.hold = true;
  RunElsewhere(x_, z, &first);
  RunElsewhere(x_, z, &second);
  scheduler_.Schedule(Pool::kBlocking, [&] { closed = session_->Close(); });
  scheduler_.RunUntilIdle();
  EXPECT_EQ(master_.closed.size(), 1u);
  ASSERT_TRUE(second.has_value());
  EXPECT_THAT(*second, StatusIs(absl::StatusCode::kFailedPrecondition,
                                "has been closed"));
  EXPECT_FALSE(first.has_value());
  // The master ends the extension with its session.
  master_.answer_extension = absl::CancelledError("Session::Close()");
  Release();
  ASSERT_TRUE(first.has_value());
  EXPECT_THAT(*first, StatusIs(absl::StatusCode::kCancelled));
  Release();
  ASSERT_TRUE(closed.has_value());
  EXPECT_OK(*closed);
}

// Makes each allocation of a run's preparation fail once. Later threads must
// not wait for a callable that no thread prepares any more.
TEST_F(SessionTest, RunsThatExhaustMemoryCanBeRepeated) {
  const Output z = ops::Identity(root_.WithName("a_name_that_is_long"), x_);
  const std::vector<std::pair<std::string, Tensor>> feeds = {
      {"x:0", Number(2)}};
  // Extend first, because Protobuf's maps on the heap do not survive an
  // exception.
  ASSERT_OK(session_->Extend());
  absl::Status status = absl::UnknownError("none was run");
  for (int64_t nth = 1; !status.ok(); ++nth) {
    const FailingMemory failing(nth);
    // The run itself may throw; preparing it must not.
    status = CatchExceptions(
        [&] { return session_->RunNamed(feeds, {z.name()}, {}).status(); });
    if (status.ok()) break;
    ASSERT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  }
  // A callable that the master made and the session could not store was
  // released.
  EXPECT_THAT(master_.released, Not(IsEmpty()));
  EXPECT_OK(Run(x_, y_));
  EXPECT_OK(Run(x_, z));
}

TEST_F(SessionTest, CallsThatExhaustMemoryReturnErrors) {
  const Output z = ops::Identity(root_.WithName("a_name_that_is_long"), x_);
  const auto without_memory = [](auto call) {
    const FailingMemory failing(1);
    return absl::Status(call());
  };
  const auto exhausted = StatusIs(absl::StatusCode::kResourceExhausted);
  const std::vector<Output> fed = {x_}, fetched = {z};
  EXPECT_THAT(without_memory([&] { return session_->Extend(); }), exhausted);
  EXPECT_THAT(without_memory([&] {
                return session_->MakeCallable(fed, fetched).status();
              }),
              exhausted);
  EXPECT_THAT(without_memory([&] {
                return session_->PartialRunSetup(fed, fetched).status();
              }),
              exhausted);
  EXPECT_OK(session_->Extend());
  EXPECT_OK(session_->MakeCallable(fed, fetched));
  ASSERT_OK_AND_ASSIGN(const std::string run,
                       session_->PartialRunSetup(fed, fetched));
  const FeedList feeds = {{x_, Number(2)}};
  EXPECT_THAT(without_memory([&] {
                return session_->PartialRun(run, feeds, fetched).status();
              }),
              exhausted);
  EXPECT_OK(session_->PartialRun(run, feeds, fetched));
}

TEST_F(SessionTest, CallableIsMadeOnlyIfMemorySuffices) {
  const std::vector<Output> fed = {x_}, fetched = {y_};
  std::unique_ptr<Session::Callable> callable;
  for (int64_t nth = 1; callable == nullptr; ++nth) {
    const FailingMemory failing(nth);
    auto made = session_->MakeCallable(fed, fetched);
    if (made.ok()) callable = *std::move(made);
  }
  EXPECT_THAT(master_.released, IsEmpty());
  callable.reset();
  EXPECT_THAT(master_.released, ElementsAre(master_.made.size()));
}

// ---- requests to the master ----

TEST_F(SessionTest, OptionsAreSentToTheMaster) {
  SessionOptions options;
  options.allow_soft_placement = true;
  options.log_device_placement = true;
  options.isolate_session_state = true;
  options.operation_timeout = absl::Seconds(7);
  options.device_filters = {"/job:ps"};
  options.graph_options = NoRewrites();
  ASSERT_OK(Session::Create({std::shared_ptr<void>(), &master_}, scheduler_,
                            root_, options));
  const protocol::SessionConfig& config = master_.created.back();
  EXPECT_TRUE(config.allow_soft_placement);
  EXPECT_TRUE(config.log_device_placement);
  EXPECT_TRUE(config.isolate_session_state);
  EXPECT_EQ(config.operation_timeout, absl::Seconds(7));
  EXPECT_THAT(config.device_filters, ElementsAre("/job:ps"));
  EXPECT_EQ(config.graph_options, NoRewrites());
}

TEST_F(SessionTest, RefusalByTheMasterFailsCreate) {
  master_.answer = absl::ResourceExhaustedError("300 sessions are open");
  EXPECT_THAT(Session::Create({std::shared_ptr<void>(), &master_}, scheduler_,
                              root_, {}),
              StatusIs(absl::StatusCode::kResourceExhausted, "300 sessions"));
  master_.answer = absl::OkStatus();
}

TEST_F(SessionTest, ValuesAreInTheOrderOfTheFetches) {
  const Output a = ops::Placeholder(root_.WithName("a"), DT_FLOAT);
  const Output b = ops::Identity(root_.WithName("b"), a);
  // The test's master returns the value of feed i as fetch i.
  ASSERT_OK_AND_ASSIGN(const auto values,
                       session_->Run({{a, Number(1)}, {x_, Number(2)}},
                                     std::vector<Output>{y_, b}, {b, y_}));
  EXPECT_EQ(Values(values), (std::vector<float>{1, 2}));
  const protocol::CallableSpec& spec = master_.made.back();
  EXPECT_THAT(spec.feeds, ElementsAre("a:0", "x:0"));
  EXPECT_THAT(spec.fetches, ElementsAre("y:0", "b:0"));
  EXPECT_THAT(spec.targets, ElementsAre("b", "y"));
}

TEST_F(SessionTest, AFetchMayBeNamedTwice) {
  const Output a = ops::Placeholder(root_.WithName("a"), DT_FLOAT);
  ASSERT_OK_AND_ASSIGN(const auto values,
                       session_->Run({{x_, Number(1)}, {a, Number(2)}},
                                     std::vector<Output>{y_, y_}));
  EXPECT_EQ(values.size(), 2u);
  EXPECT_THAT(master_.made.back().fetches, ElementsAre("y:0", "y:0"));
}

TEST_F(SessionTest, OperationIsRunAsATarget) {
  EXPECT_OK(session_->Run({{x_, Number(1)}}, Operation(y_)));
  const protocol::CallableSpec& spec = master_.made.back();
  EXPECT_THAT(spec.feeds, ElementsAre("x:0"));
  EXPECT_THAT(spec.fetches, IsEmpty());
  EXPECT_THAT(spec.targets, ElementsAre("y"));
}

TEST_F(SessionTest, RepeatedRunIsPreparedOnce) {
  ASSERT_EQ(master_.made.size(), 1u);
  EXPECT_OK(Run(x_, y_));
  EXPECT_OK(session_->RunNamed({{"x:0", Number(1)}}, {"y:0"}, {}));
  EXPECT_EQ(master_.made.size(), 1u);
  // The same names as fetches and as targets need different callables.
  EXPECT_OK(session_->RunNamed({{"x:0", Number(1)}}, {}, {"y:0"}));
  EXPECT_EQ(master_.made.size(), 2u);
  EXPECT_EQ(master_.num_runs, 4);
}

TEST_F(SessionTest, FailedPreparationIsRetried) {
  const auto run = [&] {
    return session_->RunNamed({{"x:0", Number(1)}}, {"ghost:0"}, {}).status();
  };
  master_.answer = absl::InvalidArgumentError("there is no node 'ghost'");
  EXPECT_THAT(run(), StatusIs(kInvalid, "'ghost'"));
  EXPECT_EQ(master_.num_runs, 1) << "that of SetUp";
  master_.answer = absl::OkStatus();
  EXPECT_OK(run());
  EXPECT_THAT(master_.made.back().fetches, ElementsAre("ghost:0"));
}

TEST_F(SessionTest, NullsAreRefusedWithoutTheMaster) {
  EXPECT_THAT(Run(Output(), y_), StatusIs(kInvalid, "A feed of this run"));
  EXPECT_THAT(Run(x_, Output()), StatusIs(kInvalid, "A fetch of this run"));
  EXPECT_THAT(session_->Run(Operation()),
              StatusIs(kInvalid, "A target of this run"));
  EXPECT_THAT(session_->MakeCallable({x_}, {Output()}),
              StatusIs(kInvalid, "A fetch of this run"));
  EXPECT_EQ(master_.made.size(), 1u);
  EXPECT_EQ(master_.num_runs, 1);
  EXPECT_OK(Run(x_, y_));
}

// Feeds a tensor of shape [?, 2]. The master must not be asked to run a step
// with another shape.
TEST_F(SessionTest, FeedsWithContradictingShapeAreRefused) {
  const Output rows = ops::Placeholder(root_.WithName("rows"), DT_FLOAT,
                                       {.shape = PartialShape({-1, 2})});
  const Output sum = ops::Identity(root_.WithName("sum"), rows);
  const auto refused = StatusIs(kInvalid,
                                "Cannot feed value of shape (1, 3) for Tensor "
                                "'rows:0', which has shape '(?, 2)'");
  const Tensor wrong(DT_FLOAT, {1, 3}), right(DT_FLOAT, {5, 2});
  EXPECT_THAT(session_->Run({{rows, wrong}}, sum).status(), refused);
  ASSERT_OK_AND_ASSIGN(const auto callable,
                       session_->MakeCallable({rows}, {sum}));
  EXPECT_THAT(callable->Run({wrong}), refused);
  std::optional<absl::Status> result;
  callable->RunAsync({wrong}, [&](auto values) { result = values.status(); });
  scheduler_.RunUntilIdle();
  ASSERT_TRUE(result.has_value());
  EXPECT_THAT(*result, refused);
  EXPECT_EQ(master_.num_runs, 1) << "that of SetUp";
  EXPECT_OK(session_->Run({{rows, right}}, sum).status());
  EXPECT_OK(callable->Run({right}).status());
  EXPECT_THAT(session_->Run({{rows, Number(1)}}, sum).status(),
              StatusIs(kInvalid, "shape () for Tensor"));
}

// As in TensorFlow's C API, values that are fed by name may have any shape.
TEST_F(SessionTest, NamedFeedsMayHaveAnyShape) {
  const Output rows = ops::Placeholder(root_.WithName("rows"), DT_FLOAT,
                                       {.shape = PartialShape({-1, 2})});
  ops::Identity(root_.WithName("sum"), rows);
  EXPECT_OK(
      session_->RunNamed({{"rows:0", Tensor(DT_FLOAT, {1, 3})}}, {"sum:0"}, {})
          .status());
}

TEST_F(SessionTest, WrongFeedDoesNotChangeAPartialRun) {
  const Output rows = ops::Placeholder(root_.WithName("rows"), DT_FLOAT,
                                       {.shape = PartialShape({-1, 2})});
  const Output sum = ops::Identity(root_.WithName("sum"), rows);
  ASSERT_OK_AND_ASSIGN(const std::string run,
                       session_->PartialRunSetup({rows}, {sum}));
  EXPECT_THAT(session_->PartialRun(run, {{rows, Tensor(DT_FLOAT, {3})}}, {sum}),
              StatusIs(kInvalid,
                       "Cannot feed value of shape (3,) for Tensor 'rows:0', "
                       "which has shape '(?, 2)'"));
  EXPECT_OK(
      session_->PartialRun(run, {{rows, Tensor(DT_FLOAT, {0, 2})}}, {sum}));
}

TEST_F(SessionTest, RunHasATimeout) {
  EXPECT_EQ(master_.last_timeout, absl::InfiniteDuration());
  EXPECT_OK(
      session_->Run({{x_, Number(1)}}, y_, {.timeout = absl::Seconds(3)}));
  EXPECT_EQ(master_.last_timeout, absl::Seconds(3));
  const auto callable = MakeCallable();
  EXPECT_OK(callable->Run({Number(1)}, {.timeout = absl::Seconds(4)}));
  EXPECT_EQ(master_.last_timeout, absl::Seconds(4));
}

TEST_F(SessionTest, StepErrorComesFromTheMaster) {
  master_.answer = absl::DeadlineExceededError("node 'y' waits for 'x'");
  EXPECT_THAT(Run(x_, y_),
              StatusIs(absl::StatusCode::kDeadlineExceeded, "node 'y'"));
  const auto asynchronous = [&](Session::Callable& callable) {
    std::optional<absl::Status> ended;
    callable.RunAsync({Number(1)},
                      [&](const auto& values) { ended = values.status(); });
    scheduler_.RunUntilIdle();
    return ended.value_or(absl::UnknownError("not called"));
  };
  master_.answer = absl::OkStatus();
  const auto callable = MakeCallable();
  master_.answer = absl::InternalError("node 'y' is broken");
  EXPECT_THAT(callable->Run({Number(1)}),
              StatusIs(absl::StatusCode::kInternal, "node 'y'"));
  EXPECT_THAT(asynchronous(*callable),
              StatusIs(absl::StatusCode::kInternal, "node 'y'"));
  master_.answer = absl::OkStatus();
  EXPECT_OK(Run(x_, y_)) << "it stays usable";
}

// ---- extended graphs ----

TEST_F(SessionTest, OnlyNewNodesAreSent) {
  EXPECT_OK(session_->Extend());
  ASSERT_EQ(master_.extensions.size(), 1u) << "there was nothing to send";
  EXPECT_EQ(master_.extensions[0].from_version, 0);
  EXPECT_THAT(master_.extensions[0].graph_def, HasSubstr("Placeholder"));
  ops::Identity(root_.WithName("added_later"), x_);
  EXPECT_OK(Run(x_, y_));
  ASSERT_EQ(master_.extensions.size(), 2u) << "before the run";
  EXPECT_EQ(master_.extensions[1].from_version, 1);
  EXPECT_THAT(master_.extensions[1].graph_def,
              AllOf(HasSubstr("added_later"), Not(HasSubstr("Placeholder"))));
}

// The session refuses the extension without sending any part of it.
TEST_F(SessionTest, TooLargeExtensionIsRefusedAndNamesItsNodes) {
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      Session::Create({std::shared_ptr<void>(), &master_}, scheduler_, root_,
                      {}, /*files=*/nullptr, /*max_extension_bytes=*/1000));
  ASSERT_OK(session->Extend());
  const size_t num_sent = master_.extensions.size();
  ops::Const(root_.WithName("large"), Bytes(2000));
  for (const auto& status : {session->Extend(), session->Run(y_).status(),
                             session->RunNamed({}, {"large:0"}, {}).status()}) {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted,
                                 "'large' (Const, "));
    EXPECT_THAT(status,
                StatusIs(absl::StatusCode::kResourceExhausted, "call Extend"));
  }
  EXPECT_EQ(master_.extensions.size(), num_sent);
}

// The graph is as large as the one above, but is sent in two parts.
TEST_F(SessionTest, ExtensionsCountOnlyNewNodes) {
  ASSERT_OK_AND_ASSIGN(
      const auto session,
      Session::Create({std::shared_ptr<void>(), &master_}, scheduler_, root_,
                      {}, /*files=*/nullptr, /*max_extension_bytes=*/1500));
  for (const char* name : {"one", "two"}) {
    ops::Const(root_.WithName(name), Bytes(1000));
    EXPECT_OK(session->Extend());
  }
}

TEST_F(SessionTest, PlacementsOfAllExtensionsAreKept) {
  EXPECT_THAT(session_->Placement(), IsEmpty());
  for (const char* name : {"first", "second"}) {
    master_.placement = {{name, "Identity", "/device:CPU:0"}};
    ops::Identity(root_.WithName(name), x_);
    ASSERT_OK(session_->Extend());
  }
  std::vector<std::string> names;
  for (const auto& node : session_->Placement()) names.push_back(node.name);
  EXPECT_THAT(names, ElementsAre("first", "second"));
}

TEST_F(SessionTest, BrokenGraphIsNotRun) {
  root_.UpdateStatus(absl::InvalidArgumentError("node 'bad' is bad"));
  EXPECT_THAT(Run(x_, y_), StatusIs(kInvalid, "'bad'"));
  EXPECT_THAT(session_->RunNamed({{"x:0", Number(1)}}, {"y:0"}, {}),
              StatusIs(kInvalid, "'bad'"));
  EXPECT_THAT(session_->MakeCallable({x_}, {y_}), StatusIs(kInvalid, "'bad'"));
  EXPECT_THAT(session_->Extend(), StatusIs(kInvalid, "'bad'"));
  EXPECT_THAT(Session::Create({std::shared_ptr<void>(), &master_}, scheduler_,
                              root_, {}),
              StatusIs(kInvalid, "'bad'"));
  EXPECT_EQ(master_.num_runs, 1);
  EXPECT_EQ(master_.created.size(), 1u);
}

// ---- callables ----

TEST_F(SessionTest, CallableLivesUntilDestroyed) {
  auto callable = MakeCallable();
  EXPECT_EQ(master_.made.size(), 2u) << "it is not that of a run";
  ASSERT_OK_AND_ASSIGN(const auto values, callable->Run({Number(5)}));
  EXPECT_EQ(Values(values), std::vector<float>{5});
  std::vector<Tensor> places(1);
  EXPECT_OK(callable->RunInto({Number(6)}, absl::MakeSpan(places)));
  EXPECT_EQ(Values(places), std::vector<float>{6});
  EXPECT_THAT(master_.released, IsEmpty());
  callable.reset();
  EXPECT_THAT(master_.released, ElementsAre(2u));
  EXPECT_OK(Run(x_, y_)) << "a run keeps its own";
}

TEST_F(SessionTest, RunOfACallableDoesNotSendNewNodes) {
  const auto callable = MakeCallable();
  ops::Identity(root_.WithName("later"), x_);
  EXPECT_OK(callable->Run({Number(1)}));
  EXPECT_EQ(master_.extensions.size(), 1u);
  const auto another = MakeCallable();
  EXPECT_EQ(master_.extensions.size(), 2u);
}

TEST_F(SessionTest, AsyncRunCallsBackOnAnotherThread) {
  const auto callable = MakeCallable();
  master_.hold_runs = true;
  std::vector<float> values;
  callable->RunAsync({Number(3)}, [&](const auto& fetches) {
    ASSERT_OK(fetches);
    values = Values(*fetches);
  });
  ASSERT_EQ(master_.running.size(), 1u);
  EXPECT_EQ(master_.running[0].run.thread, protocol::CallingThread::kOther);
  master_.EndRun();
  EXPECT_THAT(values, IsEmpty()) << "not on the thread that ends the step";
  scheduler_.RunUntilIdle();
  EXPECT_THAT(values, ElementsAre(3));
}

TEST_F(SessionTest, DestructorWaitsForAsyncRuns) {
  auto callable = MakeCallable();
  master_.hold_runs = true;
  bool is_told = false;
  callable->RunAsync({Number(1)}, [&](const auto& values) {
    EXPECT_THAT(values, StatusIs(absl::StatusCode::kCancelled));
    is_told = true;
  });
  callable.reset();
  // Acts as a master that ends the step of a closed session one second later.
  const absl::Time then = clock_.Now() + absl::Seconds(1);
  scheduler_.ScheduleAt(then, [&] {
    EXPECT_THAT(master_.closed, ElementsAre(1u));
    master_.answer = absl::CancelledError("Session::Close()");
    master_.EndRun();
  });
  session_.reset();
  EXPECT_TRUE(is_told);
  EXPECT_EQ(clock_.Now(), then);
}

// ---- the end ----

TEST_F(SessionTest, ClosedSessionSendsNoRequests) {
  ASSERT_OK(session_->Close());
  EXPECT_THAT(Run(x_, y_), StatusIs(kClosed, "has been closed"));
  EXPECT_THAT(session_->MakeCallable({x_}, {y_}),
              StatusIs(kClosed, "has been closed"));
  ops::Identity(root_.WithName("later"), x_);
  EXPECT_THAT(session_->Extend(), StatusIs(kClosed, "has been closed"));
  EXPECT_EQ(master_.num_runs, 1);
  EXPECT_EQ(master_.made.size(), 1u);
  EXPECT_EQ(master_.extensions.size(), 1u);
}

TEST_F(SessionTest, SessionIsClosedOnce) {
  master_.answer = absl::UnavailableError("the connection was lost");
  EXPECT_THAT(session_->Close(),
              StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  EXPECT_OK(session_->Close()) << "what was lost is gone";
  session_.reset();
  EXPECT_THAT(master_.closed, ElementsAre(1u));
}

TEST_F(SessionTest, DestructorClosesTheSession) {
  session_.reset();
  EXPECT_THAT(master_.closed, ElementsAre(1u));
  EXPECT_TRUE(master_.open.empty());
}

// ---- several threads ----

TEST_F(SessionTest, StepsOfSeveralThreadsRunAtOnce) {
  std::optional<absl::Status> first, second;
  master_.hold_runs = true;
  RunElsewhere(x_, y_, &first);
  RunElsewhere(x_, y_, &second);
  EXPECT_EQ(master_.running.size(), 2u);
  EXPECT_FALSE(first.has_value() || second.has_value());
  EndRun();
  EXPECT_NE(first.has_value(), second.has_value());
  EndRun();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_OK(*first);
  EXPECT_OK(*second);
}

class FirstRunsOfThreadsTest : public SessionTest {
 protected:
  // Two threads run the same fetches for the first time.
  void SetUp() override {
    SessionTest::SetUp();
    ASSERT_OK(session_->Extend());
    master_.hold = true;
    RunElsewhere(x_, z_, &first_);
    RunElsewhere(x_, z_, &second_);
  }
  size_t NumMade() const { return master_.made.size() - 1; }  // minus y

  Output z_ = ops::Identity(root_.WithName("z"), x_);
  std::optional<absl::Status> first_, second_, third_;
};

TEST_F(FirstRunsOfThreadsTest, BothRunOneCallable) {
  EXPECT_EQ(NumMade(), 1u);
  EXPECT_FALSE(first_.has_value() || second_.has_value());
  master_.hold = false;
  while (master_.num_held() > 0) Release();
  ASSERT_TRUE(first_.has_value() && second_.has_value());
  EXPECT_OK(*first_);
  EXPECT_OK(*second_);
  EXPECT_OK(Run(x_, z_));
  EXPECT_EQ(NumMade(), 1u);
}

TEST_F(FirstRunsOfThreadsTest, OtherFetchesDoNotWait) {
  RunElsewhere(x_, x_, &third_);
  EXPECT_EQ(NumMade(), 2u);
}

TEST_F(FirstRunsOfThreadsTest, AllWaitingRunsGetTheFailure) {
  master_.hold = false;
  master_.answer_callable = absl::UnavailableError("the connection was lost");
  Release();
  ASSERT_TRUE(first_.has_value() && second_.has_value());
  EXPECT_THAT(*first_, StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  EXPECT_THAT(*second_, StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  EXPECT_EQ(NumMade(), 1u);
  EXPECT_OK(Run(x_, z_)) << "later runs try again";
}

TEST_F(FirstRunsOfThreadsTest, CloseEndsTheWaitForTheOtherThread) {
  scheduler_.Schedule(Pool::kBlocking, [this] { third_ = session_->Close(); });
  scheduler_.RunUntilIdle();
  ASSERT_TRUE(second_.has_value());
  EXPECT_THAT(*second_, StatusIs(kClosed, "has been closed"));
  EXPECT_FALSE(first_.has_value()) << "the master still answers it";
}

// ---- partial runs ----

class PartialRunOfThreadsTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    ASSERT_OK_AND_ASSIGN(run_, session_->PartialRunSetup({x_, v_}, {y_, w_}));
    master_.hold_runs = true;
    Call(x_, y_, &first_);
    Call(v_, w_, &second_);  // uses the remaining feed and fetch
    ASSERT_EQ(master_.running.size(), 2u);
  }
  void Call(const Output& feed, const Output& fetch,
            std::optional<absl::Status>* result) {
    scheduler_.Schedule(Pool::kBlocking, [=, this] {
      *result =
          session_->PartialRun(run_, {{feed, Number(2)}}, {fetch}).status();
    });
    scheduler_.RunUntilIdle();
  }

  Output v_ = ops::Placeholder(root_.WithName("v"), DT_FLOAT);
  Output w_ = ops::Identity(root_.WithName("w"), v_);
  std::string run_;
  std::optional<absl::Status> first_, second_;
};

TEST_F(PartialRunOfThreadsTest, EndsWhenNoCallIsPending) {
  std::swap(master_.running[0], master_.running[1]);
  EndRun();
  ASSERT_TRUE(second_.has_value());
  EXPECT_OK(*second_);
  EXPECT_FALSE(first_.has_value());
  EXPECT_THAT(master_.released, IsEmpty());
  EndRun();
  ASSERT_TRUE(first_.has_value());
  EXPECT_OK(*first_);
  EXPECT_THAT(master_.released, ElementsAre(2u));
}

TEST_F(PartialRunOfThreadsTest, AnErrorOfOneEndsItForAll) {
  master_.answer = absl::UnavailableError("the connection was lost");
  EndRun();
  ASSERT_TRUE(first_.has_value());
  EXPECT_THAT(*first_, StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(master_.released, ElementsAre(2u));
  EndRun();
  ASSERT_TRUE(second_.has_value());
  EXPECT_THAT(master_.released, ElementsAre(2u));
  master_.answer = absl::OkStatus();
  EXPECT_THAT(session_->PartialRun(run_, {}),
              StatusIs(kInvalid, "Must run 'setup' before"));
}

TEST_F(SessionTest, CloseDoesNotWaitForAStep) {
  std::optional<absl::Status> running;
  master_.hold_runs = true;
  RunElsewhere(x_, y_, &running);
  ASSERT_EQ(master_.running.size(), 1u);
  EXPECT_OK(session_->Close());
  EXPECT_THAT(master_.closed, ElementsAre(1u));
  EXPECT_FALSE(running.has_value());
  // The master ends the step with its session.
  master_.answer = absl::CancelledError("Session::Close()");
  EndRun();
  ASSERT_TRUE(running.has_value());
  EXPECT_THAT(*running, StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace
}  // namespace weft
