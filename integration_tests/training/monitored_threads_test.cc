// Tests the threads of MonitoredSession: queue runners, the end of their input,
// errors of threads, and threads that do not stop.
#include <signal.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/monitored_session_test.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft::monitored_session_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using train::MonitoredSession;
using train::SessionRunArgs;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kInvalidArgument = absl::StatusCode::kInvalidArgument;

TEST_F(MonitoredSessionTest, EndOfInputIsNotAnError) {
  Lines lines;
  auto hook = std::make_shared<RecordingHook>("hook", lines);
  const Output x = ops::Placeholder(root_.WithName("x"), DT_INT64);
  const Operation add = ops::AssignAdd(root_, step_, x);
  int64_t fed = 0;
  auto feed =
      std::make_shared<train::FeedFnHook>([&]() -> absl::StatusOr<FeedList> {
        if (fed == 3) return absl::OutOfRangeError("no more");
        return FeedList{{x, Tensor::Scalar(++fed)}};
      });
  auto final_ops =
      std::make_shared<train::FinalOpsHook>(SessionRunArgs{.fetches = {step_}});
  const auto session = Start(Options({feed, hook, final_ops}));
  ASSERT_NE(session, nullptr);
  absl::Status status;
  while (status.ok() && !session->ShouldStop()) status = session->Run(add);
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_OK(session->Close(status));
  EXPECT_THAT(lines, testing::Contains("hook end"));
  ASSERT_EQ(final_ops->final_ops_values().size(), 1u);
  EXPECT_EQ(final_ops->final_ops_values()[0].scalar<int64_t>(), 1 + 2 + 3);
}

// A hook that exposes the coordinator, so that a test can let one of its
// threads fail.
class ThreadHook : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session&,
                                  train::Coordinator& given) override {
    coordinator = &given;
    return absl::OkStatus();
  }
  train::Coordinator* coordinator = nullptr;
};

// A thread fails after the end of the input and before Close. An error that
// only means a lost session is ignored.
TEST_F(MonitoredSessionTest, LateThreadErrorKeepsTheLastSave) {
  for (const absl::Status& failed :
       {absl::DataLossError("a thread"), absl::UnavailableError("a thread")}) {
    const std::string directory = absl::StrCat("/job/", failed.raw_code());
    const auto hook = std::make_shared<ThreadHook>();
    auto options = Options({hook});
    options.checkpoint_dir = directory;
    options.save_checkpoint_steps = 100;
    const auto session = Start(std::move(options));
    ASSERT_NE(session, nullptr);
    for (int i = 0; i < 2; ++i) ASSERT_OK(session->Run(count_));
    const absl::Status ended =
        session->RunStepFn([](MonitoredSession::StepContext&) {
          return absl::OutOfRangeError("the input has ended");
        });
    hook->coordinator->RequestStop(failed);
    EXPECT_EQ(session->Close(ended),
              absl::IsUnavailable(failed) ? absl::OkStatus() : failed);
    EXPECT_OK(files_.FileExists(directory + "/model.ckpt-2.index"));
  }
}

// ---- Threads that ignore stop requests ----

// A hook with a thread that ignores stop requests and ends when the test
// releases it.
class StubbornHook : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session& session,
                                  train::Coordinator& coordinator) override {
    let_go_ = session.scheduler().NewEvent();
    has_ended_ = session.scheduler().NewEvent();
    coordinator.Start("stubborn", [this, &session, &coordinator] {
      let_go_->Wait();
      EXPECT_TRUE(coordinator.ShouldStop());
      last_run = session.Run({}, std::vector<Output>()).status();
      has_ended_->Set();
      return absl::OkStatus();
    });
    return absl::OkStatus();
  }
  void Release() {
    let_go_->Set();
    has_ended_->Wait();
  }

  absl::Status last_run;

 private:
  std::unique_ptr<Event> let_go_, has_ended_;
};

TEST_F(MonitoredSessionTest, HungThreadIsLoggedAndAbandoned) {
  auto hook = std::make_shared<StubbornHook>();
  auto options = Options({hook});
  options.stop_grace_period_secs = 0.01;
  auto session = Start(std::move(options));
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->Run(count_));
  EXPECT_OK(session->Close());
  EXPECT_THAT(logger_.lines(),
              testing::Contains(testing::AllOf(
                  HasSubstr("E Coordinator stopped with threads still running: "
                            "stubborn."),
                  HasSubstr("10ms ago"))));
  // The objects that the thread of the hook uses live until the thread ends.
  hook->Release();
  EXPECT_THAT(hook->last_run, StatusIs(kFailedPrecondition, "closed"));
}

// ---- Queue runners and threads ----

class QueueRunnerTest : public MonitoredSessionTest {
 protected:
  // Adds a queue of capacity two, and a queue runner that enqueues numbers up
  // to `limit`.
  void AddCounter(int64_t limit) {
    const ops::Variable next(root_.WithName("next"),
                             Tensor::Scalar(int64_t{0}));
    queue_ =
        ops::Queue::Fifo(root_.WithName("queue"), {DT_INT64},
                         {.shapes = {PartialShape::Scalar()}, .capacity = 2});
    const Output value =
        ops::ResourceCountUpTo(root_, next.handle(), limit, DT_INT64);
    train::QueueRunner runner;
    runner.queue = queue_;
    runner.enqueue_ops = {queue_.Enqueue(root_, {value})};
    runner.close_op = queue_.Close(root_);
    runner.cancel_op = queue_.Close(root_, /*cancel_pending_enqueues=*/true);
    train::AddQueueRunner(root_, runner);
    ASSERT_OK(root_.status());
    dequeue_ = queue_.Dequeue(root_)[0];
  }
  ops::Queue queue_;
  Output dequeue_;
};

TEST_F(QueueRunnerTest, RunnerFillsQueueUntilTheInputEnds) {
  AddCounter(5);
  const auto session = Start(Options());
  ASSERT_NE(session, nullptr);
  std::vector<int64_t> taken;
  absl::Status status;
  while (!session->ShouldStop()) {
    const auto value = session->Run(dequeue_);
    status = value.status();
    if (!status.ok()) break;
    taken.push_back(value->scalar<int64_t>());
  }
  EXPECT_THAT(taken, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_OK(session->Close(status));
}

// When training ends, the runner waits because the queue is full. The wait is
// cancelled.
TEST_F(QueueRunnerTest, RunnerIsCancelledWhenTrainingEnds) {
  AddCounter(1000);
  const auto session = Start(Options());
  ASSERT_NE(session, nullptr);
  ASSERT_OK_AND_ASSIGN(const Tensor first, session->Run(dequeue_));
  EXPECT_EQ(first.scalar<int64_t>(), 0);
  EXPECT_OK(session->Close());
}

TEST_F(QueueRunnerTest, RunnerRoundTripsThroughMetaGraph) {
  AddCounter(3);
  ASSERT_OK_AND_ASSIGN(const train::MetaGraph meta,
                       train::ExportMetaGraph(root_));
  const Scope other = Scope::Root();
  train::ImportMetaGraphOptions import;
  ASSERT_OK(train::ImportMetaGraph(other, meta, import));
  ASSERT_OK_AND_ASSIGN(const auto runners, train::QueueRunners(other));
  ASSERT_EQ(runners.size(), 1u);
  EXPECT_EQ(runners[0].queue.name(), "queue:0");
  ASSERT_EQ(runners[0].enqueue_ops.size(), 1u);
  EXPECT_EQ(runners[0].enqueue_ops[0].name(), "queue_enqueue");
  EXPECT_EQ(runners[0].close_op.name(), "queue_Close");
  EXPECT_EQ(runners[0].cancel_op.name(), "queue_Close_1");
  EXPECT_THAT(runners[0].queue_closed_exception_types,
              ElementsAre(absl::StatusCode::kOutOfRange));
}

TEST_F(QueueRunnerTest, ThreadErrorIsReturned) {
  const Output queue = ops::FIFOQueue(root_.WithName("queue"), {DT_FLOAT},
                                      {.shapes = {PartialShape::Scalar()}});
  const ops::Variable never(root_.WithName("never"), 1.0f,
                            {.collections = {"mine"}});
  train::QueueRunner runner;
  runner.queue = queue;
  runner.enqueue_ops = {ops::QueueEnqueue(root_, queue, {never.value()})};
  train::AddQueueRunner(root_, runner);
  const auto session = Start(Options());
  ASSERT_NE(session, nullptr);
  absl::Status status;
  while (status.ok()) status = session->Run(count_);
  EXPECT_THAT(status, StatusIs(kFailedPrecondition, "never"));
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_THAT(session->Close(), StatusIs(kFailedPrecondition, "never"));
}

// An error of the queue runner closes the queue. The run that waits for an
// element treats the closed queue as the end of the input.
TEST_F(QueueRunnerTest, ErrorThatClosesQueueKeepsTheLastSave) {
  const ops::QueueAttrs scalars{.shapes = {PartialShape::Scalar()}};
  const auto gate =
      ops::Queue::Fifo(root_.WithName("gate"), {DT_FLOAT}, scalars);
  queue_ = ops::Queue::Fifo(root_.WithName("queue"), {DT_FLOAT}, scalars);
  const Output value =
      ops::CheckNumerics(root_, gate.Dequeue(root_)[0], "bad input");
  train::AddQueueRunner(
      root_,
      {.queue = queue_, .enqueue_ops = {queue_.Enqueue(root_, {value})}});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Operation open = gate.Enqueue(root_, {ops::Const(root_, nan)});
  dequeue_ = queue_.Dequeue(root_)[0];
  ASSERT_OK(root_.status());
  auto options = Options();
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 100;
  const auto session = Start(std::move(options));
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < 2; ++i) ASSERT_OK(session->Run(count_));
  const absl::Status ended = session->Run({}, {dequeue_}, {open}).status();
  EXPECT_THAT(ended, StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_THAT(session->Close(ended), StatusIs(kInvalidArgument, "bad input"));
  EXPECT_OK(files_.FileExists("/job/model.ckpt-2.index"));
}

TEST_F(QueueRunnerTest, RunnerClosesQueueAtEndOfInputByDefault) {
  const ops::Variable next(root_.WithName("next"), Tensor::Scalar(int64_t{0}));
  queue_ =
      ops::Queue::Fifo(root_.WithName("queue"), {DT_INT64},
                       {.shapes = {PartialShape::Scalar()}, .capacity = 2});
  const Output value =
      ops::ResourceCountUpTo(root_, next.handle(), 3, DT_INT64);
  train::AddQueueRunner(
      root_,
      {.queue = queue_, .enqueue_ops = {queue_.Enqueue(root_, {value})}});
  ASSERT_OK(root_.status());
  dequeue_ = queue_.Dequeue(root_)[0];
  ASSERT_OK_AND_ASSIGN(const auto runners, train::QueueRunners(root_));
  ASSERT_EQ(runners.size(), 1u);
  EXPECT_EQ(runners[0].close_op.name(), "queue_Close");
  EXPECT_EQ(runners[0].cancel_op.name(), "queue_Close_1");
  auto options = Options();
  // by default there is no timeout
  options.config.operation_timeout = absl::Minutes(1);
  const auto session = Start(std::move(options));
  ASSERT_NE(session, nullptr);
  absl::Status status;
  int num_taken = 0;
  for (; status.ok(); ++num_taken) status = session->Run(dequeue_).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kOutOfRange));
  EXPECT_EQ(num_taken, 3 + 1);
  EXPECT_OK(session->Close(status));
}

TEST_F(QueueRunnerTest, LostSessionLeavesTheQueueOpen) {
  AddCounter(1000);
  ASSERT_OK_AND_ASSIGN(const auto runners, train::QueueRunners(root_));
  const Output is_closed = queue_.IsClosed(root_);
  const Operation init = ops::GlobalVariablesInitializer(root_);
  SessionOptions config;
  config.process = &process_;
  ASSERT_OK_AND_ASSIGN(const auto session, Session::Connect("", root_, config));
  ASSERT_OK(session->Run(init));
  train::Coordinator coordinator;
  train::QueueRunner only_cancels = runners[0];
  only_cancels.enqueue_ops.clear();
  coordinator.RequestStop(absl::UnavailableError("a server is gone"));
  train::StartQueueRunner(only_cancels, *session, coordinator);
  EXPECT_FALSE(coordinator.Join().ok());
  ASSERT_OK_AND_ASSIGN(const Tensor closed, session->Run(is_closed));
  EXPECT_FALSE(closed.scalar<bool>());
}

TEST_F(QueueRunnerTest, RunnerNeedsEnqueueOps) {
  const Output queue = ops::FIFOQueue(root_, {DT_FLOAT});
  train::QueueRunner runner;
  runner.queue = queue;
  train::AddQueueRunner(root_, runner);
  EXPECT_THAT(root_.status(), StatusIs(kInvalidArgument));
}

}  // namespace
}  // namespace weft::monitored_session_tests
