// Tests the hooks of MonitoredSession: how they end training, what they log,
// how they wait, and what they do at certain times.
#include <signal.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/monitored_session_test.h"
#include "libs/api/weft.h"
#include "libs/base/async/stop_signals.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process.h"

namespace weft::monitored_session_tests {
namespace {

using testing::ElementsAre;
using train::MonitoredSession;
using train::MonitoredTrainingSession;
using train::MonitoredTrainingSessionOptions;
using train::SessionRunArgs;
using train::SessionRunContext;
using train::SessionRunValues;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kInvalidArgument = absl::StatusCode::kInvalidArgument;

// A hook that records the end of training. Optionally it requests a stop after
// the first run.
class EndHook : public train::SessionRunHook {
 public:
  explicit EndHook(bool stops) : stops_(stops) {}
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues&) override {
    if (stops_) context.RequestStop();
    return absl::OkStatus();
  }
  absl::Status End(Session&) override {
    EXPECT_FALSE(has_ended);
    return absl::OkStatus();
  }
  absl::Status TrainingHasEnded(Session& session) override {
    has_ended = true;
    EXPECT_OK(session.ListDevices());  // fails unless the session is still open
    return ++num_told < 3 ? absl::UnavailableError("nobody listens")
                          : absl::InternalError("nobody is there");
  }
  bool has_ended = false;
  int num_told = 0;

 private:
  const bool stops_;
};

TEST_F(MonitoredSessionTest, HooksAreNotifiedOfTrainingEnd) {
  bool terminate = false;
  const auto is_told = [&](bool hook_stops, absl::Status run_status) {
    const auto hook = std::make_shared<EndHook>(hook_stops);
    auto options = Options({hook});
    options.stop_requested = [&] { return terminate; };
    const auto session = Start(std::move(options));
    EXPECT_OK(session->Run(count_));
    EXPECT_EQ(session->Close(run_status), run_status);
    // The notification of the end is retried after transient errors, but not
    // after a stop request.
    if (hook->has_ended) {
      EXPECT_EQ(hook->num_told, terminate ? 1 : 3);
    }
    return hook->has_ended;
  };
  EXPECT_TRUE(is_told(true, absl::OkStatus()));
  EXPECT_TRUE(is_told(false, absl::OkStatus()));
  EXPECT_FALSE(is_told(true, absl::DataLossError("bad input")));
  terminate = true;
  EXPECT_TRUE(is_told(true, absl::OkStatus()));
  EXPECT_FALSE(is_told(false, absl::OkStatus()));
}

// A hook that checks in End whether an exit was requested. End is also called
// in a session without runs.
class LeavingHook : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session&,
                                  train::Coordinator& coordinator) override {
    is_exit_requested_ = coordinator.is_exit_requested();
    return absl::OkStatus();
  }
  absl::Status End(Session&) override {
    is_leaving = is_exit_requested_ && is_exit_requested_();
    return absl::OkStatus();
  }
  void BeforeSessionDestroyed() override { is_exit_requested_ = nullptr; }
  bool is_leaving = false;

 private:
  std::function<bool()> is_exit_requested_;
};

TEST_F(MonitoredSessionTest, HooksSeeStopRequestAtEnd) {
  for (const bool is_to_leave : {false, true}) {
    const auto hook = std::make_shared<LeavingHook>();
    const auto session = Start(Options({hook}));
    ASSERT_NE(session, nullptr);
    if (is_to_leave) session->RequestStop();
    EXPECT_OK(session->Close());
    EXPECT_EQ(hook->is_leaving, is_to_leave);
  }
}

// A stop is requested at the last step, when other workers have already reached
// the end of training. The stop still counts as the end, so that no program
// continues.
TEST_F(MonitoredSessionTest, StopAtLastStepStillNotifiesTrainingEnd) {
  bool terminate = false;
  const auto is_told = [&](int steps_of_others) {
    const auto hook = std::make_shared<EndHook>(false);
    auto options = Options({hook, train::StopAtStep(3)});
    options.stop_requested = [&] { return terminate; };
    terminate = false;
    const auto session = Start(std::move(options));
    for (int i = 0; i < steps_of_others; ++i) {
      EXPECT_OK(session->raw_session()->Run(count_));
    }
    terminate = true;
    EXPECT_TRUE(session->ShouldStop());
    EXPECT_OK(session->Close());
    return hook->has_ended;
  };
  EXPECT_FALSE(is_told(2));
  EXPECT_TRUE(is_told(3));
}

TEST_F(MonitoredSessionTest, StopAtStepStopsAtItsStep) {
  ASSERT_OK_AND_ASSIGN(const int64_t last,
                       Train(Options({train::StopAtStep(7)})));
  EXPECT_EQ(last, 7);
  // num_steps counts from the global step at the start of the first session,
  // not from 0.
  auto options = Options({std::make_shared<train::StopAtStepHook>(
      train::StopAtStepOptions{.num_steps = 4})});
  train::ScaffoldOptions scaffold;
  const Output begin = ops::Assign(root_, step_, Tensor::Scalar(int64_t{10}));
  scaffold.init_op = begin;
  options.scaffold = std::make_shared<train::Scaffold>(scaffold);
  ASSERT_OK_AND_ASSIGN(const int64_t after, Train(std::move(options)));
  EXPECT_EQ(after, 14);
}

TEST_F(MonitoredSessionTest, StopAtStepNeverPassesLastStep) {
  const auto session = Start(
      Options({std::make_shared<train::StopAtStepHook>(train::StopAtStepOptions{
          .num_steps = std::numeric_limits<int64_t>::max()})}));
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->Run(count_));
  EXPECT_FALSE(session->ShouldStop());
  train::StopAtStepHook again(
      {.num_steps = std::numeric_limits<int64_t>::max()});
  ASSERT_OK(again.Begin(root_));
  train::Coordinator coordinator;
  ASSERT_OK(again.AfterCreateSession(*session->raw_session(), coordinator));
  const SessionRunArgs args;
  SessionRunContext context(args, *session->raw_session());
  const std::vector<Tensor> seen = {Tensor::Scalar(int64_t{1})};
  const RunMetadata metadata;
  ASSERT_OK(again.AfterRun(context, {seen, {}, metadata}));
  EXPECT_FALSE(context.stop_requested());
}

TEST_F(MonitoredSessionTest, StopAtStepIsExactAfterRestore) {
  auto options = Options({train::StopAtStep(1)});
  options.checkpoint_dir = "/job";
  ASSERT_OK(Train(std::move(options)));
  auto again =
      Options({std::make_shared<train::StopAtStepHook>(train::StopAtStepOptions{
          .num_steps = std::numeric_limits<int64_t>::max()})});
  again.checkpoint_dir = "/job";
  const auto session = Start(std::move(again));
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(session->Run(count_));
    EXPECT_FALSE(session->ShouldStop());
  }
  ASSERT_OK(session->Close());
  EXPECT_OK(files_.FileExists("/job/model.ckpt-3.index"));
}

TEST_F(MonitoredSessionTest, StopAtStepNeedsExactlyOneLimit) {
  EXPECT_THAT(MonitoredTrainingSession(
                  root_, Options({std::make_shared<train::StopAtStepHook>(
                             train::StopAtStepOptions{})})),
              StatusIs(kInvalidArgument));
  const Scope other = Scope::Root();
  ops::Variable(other.WithName("x"), 1.0f);
  EXPECT_THAT(MonitoredTrainingSession(other, Options({train::StopAtStep(1)})),
              StatusIs(kFailedPrecondition,
                       "Global step should be created to use StopAtStepHook. "
                       "Call train::GetOrCreateGlobalStep"));
}

TEST_F(MonitoredSessionTest, TensorsAndSpeedAreLogged) {
  ManualClock clock;
  RecordingLogger log;
  train::LoggingTensorOptions tensors;
  tensors.tensors = {{"step", step_.value()},
                     {"half", ops::Const(root_, {0.5f, 2.0f})}};
  tensors.every_n_iter = 2;
  tensors.clock = &clock;
  tensors.logger = &log;
  const Operation nothing = ops::NoOp(root_);
  const auto session = Start(Options(
      {std::make_shared<train::LoggingTensorHook>(tensors),
       std::make_shared<train::StepCounterHook>(train::StepCounterOptions{
           .every_n_steps = 2, .clock = &clock, .logger = &log})}));
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(session->Run(nothing));
    ASSERT_OK(session->raw_session()->Run(count_));
    clock.Advance(absl::Milliseconds(250));
  }
  EXPECT_THAT(log.lines(), ElementsAre("I step = 0, half = [0.5 2]",
                                       "I step = 2, half = [0.5 2] (0.500 sec)",
                                       "I global_step/sec: 4",
                                       "I step = 4, half = [0.5 2] (0.500 sec)",
                                       "I global_step/sec: 4"));
}

// The speed is not measured across sessions, because a new session may restore
// an earlier step.
TEST_F(MonitoredSessionTest, SpeedIsMeasuredPerSession) {
  ManualClock clock;
  RecordingLogger log;
  auto hook =
      std::make_shared<train::StepCounterHook>(train::StepCounterOptions{
          .every_n_steps = 2, .clock = &clock, .logger = &log});
  const Operation back = step_.initializer();
  const auto session = Start(Options({hook}));
  ASSERT_NE(session, nullptr);
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_OK(session->Run(count_));
      clock.Advance(absl::Milliseconds(500));
    }
  };
  run(9);
  const size_t num_lines = log.lines().size();
  ASSERT_OK(session->raw_session()->Run(back));
  train::Coordinator coordinator;
  ASSERT_OK(hook->AfterCreateSession(*session->raw_session(), coordinator));
  run(4);
  ASSERT_GT(log.lines().size(), num_lines);
  for (const std::string& line : log.lines()) {
    EXPECT_EQ(line, "I global_step/sec: 2");
  }
}

TEST_F(MonitoredSessionTest, NanLossEndsTraining) {
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Output loss = ops::Identity(root_.WithName("loss"), x);
  const Tensor nan = Tensor::Scalar(std::numeric_limits<float>::quiet_NaN());
  const Tensor infinite =
      Tensor::Scalar(std::numeric_limits<float>::infinity());
  const auto session =
      Start(Options({std::make_shared<train::NanTensorHook>(loss)}));
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->Run({{x, infinite}}, count_));
  EXPECT_THAT(session->Run({{x, nan}}, count_),
              StatusIs(kInvalidArgument, "NaN loss during training."));
  RecordingLogger log;
  const auto patient = Start(Options({std::make_shared<train::NanTensorHook>(
      loss, /*fail_on_nan_loss=*/false, &log)}));
  ASSERT_OK(patient->Run({{x, nan}}, count_));
  EXPECT_TRUE(patient->ShouldStop());
  EXPECT_THAT(log.lines(), ElementsAre("W Model diverged with loss = NaN."));
}

// A hook rejects a step because of a NaN. The program continues after the error
// until its input ends. The step must not be saved.
TEST_F(MonitoredSessionTest, RejectedStepIsNotSavedAtEndOfInput) {
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Output loss = ops::Identity(root_.WithName("loss"), x);
  const Tensor nan = Tensor::Scalar(std::numeric_limits<float>::quiet_NaN());
  auto options = Options({std::make_shared<train::NanTensorHook>(loss)});
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 1;
  const auto session = Start(std::move(options));
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(session->Run({{x, nan}}, count_), StatusIs(kInvalidArgument));
  const absl::Status ended =
      session->RunStepFn([](MonitoredSession::StepContext&) {
        return absl::OutOfRangeError("the input has ended");
      });
  EXPECT_OK(session->Close(ended));
  EXPECT_OK(files_.FileExists("/job/model.ckpt-0.index"));
  EXPECT_FALSE(files_.FileExists("/job/model.ckpt-1.index").ok());
}

// As in a chief, the hooks that save come before the hook that rejects the
// step.
TEST_F(MonitoredSessionTest, StepRejectedByHookIsNotSaved) {
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Output loss = ops::Identity(root_.WithName("loss"), x);
  const Tensor one = Tensor::Scalar(1.0f);
  const Tensor nan = Tensor::Scalar(std::numeric_limits<float>::quiet_NaN());
  // The result is the same whether or not the program passes the error to
  // Close.
  for (const bool is_told : {true, false}) {
    const std::string directory = is_told ? "/job" : "/untold";
    auto options = Options({std::make_shared<train::NanTensorHook>(loss)});
    options.checkpoint_dir = directory;
    options.save_checkpoint_steps = 1;
    const auto session = Start(std::move(options));
    ASSERT_NE(session, nullptr);
    ASSERT_OK(session->Run({{x, one}}, count_));
    const absl::Status refused = session->Run({{x, nan}}, count_);
    EXPECT_THAT(refused, StatusIs(kInvalidArgument));
    EXPECT_EQ(session->Close(is_told ? refused : absl::OkStatus()).ok(),
              !is_told);
    EXPECT_OK(files_.FileExists(directory + "/model.ckpt-1.index"));
    EXPECT_FALSE(files_.FileExists(directory + "/model.ckpt-2.index").ok());
  }
  // A step is not saved either if a hook rejects it in End.
  const auto hook = std::make_shared<FailingHook>();
  hook->in_end = absl::InternalError("end");
  auto again = Options({hook});
  again.checkpoint_dir = "/job";
  again.save_checkpoint_steps = 100;
  const auto session = Start(std::move(again));
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->Run(count_));
  EXPECT_THAT(session->Close(), StatusIs(absl::StatusCode::kInternal, "end"));
  EXPECT_FALSE(files_.FileExists("/job/model.ckpt-2.index").ok());
}

// ---- Hooks that wait, and hooks with timers ----

// A hook that increments the global step on a separate thread, concurrently
// with runs.
class CountingHook : public train::SessionRunHook {
 public:
  CountingHook(Operation count, int64_t times)
      : count_(std::move(count)), times_(times) {}
  absl::Status AfterCreateSession(Session& session,
                                  train::Coordinator& coordinator) override {
    coordinator.Start("counts", [this, &session] {
      absl::Status status;
      for (int64_t i = 0; i < times_ && status.ok(); ++i) {
        status = session.Run(count_);
      }
      return status;
    });
    return absl::OkStatus();
  }

 private:
  const Operation count_;
  const int64_t times_;
};

// Emulates the hook of synchronous replicas, which runs saves between updates
// because updates are concurrent with runs.
class HoldingHook : public train::SessionRunHook {
 public:
  absl::Status SaveBetweenUpdates(
      absl::FunctionRef<absl::Status()> save) override {
    ++num_saves;
    return save();
  }
  int num_saves = 0;
};

TEST_F(MonitoredSessionTest, CustomSaverHookSavesBetweenUpdates) {
  const auto updates = std::make_shared<HoldingHook>();
  auto options = Options({updates, train::StopAtStep(1)});
  options.scaffold = std::make_shared<train::Scaffold>();
  train::CheckpointSaverOptions saver;
  saver.checkpoint_dir = "/job";
  saver.save_steps = 100;
  saver.scaffold = options.scaffold;
  saver.logger = &logger_;
  options.chief_only_hooks = {
      std::make_shared<train::CheckpointSaverHook>(std::move(saver))};
  ASSERT_OK(Train(std::move(options)));
  EXPECT_EQ(updates->num_saves, 2) << "the first and the last";
}

TEST_F(MonitoredSessionTest, FirstRunWaitsForTheGlobalStep) {
  train::GlobalStepWaiterOptions waiter;
  waiter.wait_until_step = 5;
  waiter.poll_interval = absl::Milliseconds(1);
  waiter.logger = &logger_;
  const auto session =
      Start(Options({std::make_shared<CountingHook>(count_, 5),
                     std::make_shared<train::GlobalStepWaiterHook>(waiter)}));
  ASSERT_NE(session, nullptr);
  ASSERT_OK_AND_ASSIGN(const Tensor step, session->Run(step_));
  EXPECT_EQ(step.scalar<int64_t>(), 5);
  EXPECT_THAT(logger_.lines(),
              testing::Contains(
                  "I Waiting for global step 5 before starting training."));
  // The global step remains 0, because no other program increments it.
  ASSERT_OK(session->raw_session()->Run(step_.initializer()));
  ASSERT_OK(session->Run(count_));
}

TEST_F(MonitoredSessionTest, WaitForStepTimesOut) {
  train::GlobalStepWaiterOptions waiter;
  waiter.wait_until_step = 5;
  waiter.max_wait = absl::ZeroDuration();
  const auto late =
      Start(Options({std::make_shared<train::GlobalStepWaiterHook>(waiter)}));
  ASSERT_NE(late, nullptr);
  EXPECT_THAT(late->Run(count_),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "Waiting for global step 5 before starting training. It "
                       "has been 0 for 0: are others training?"));
}

TEST_F(MonitoredSessionTest, WaitForStepOptionsAreChecked) {
  const train::GlobalStepWaiterOptions refused[] = {
      {.poll_interval = absl::ZeroDuration()},
      {.poll_interval = absl::Seconds(-1)},
      {.max_wait = absl::Seconds(-1)}};
  for (const auto& waiter : refused) {
    EXPECT_THAT(train::GlobalStepWaiterHook(waiter).Begin(root_),
                StatusIs(kInvalidArgument, "needs a positive poll_interval"));
  }
}

// The interval between two polls exceeds the timeout, but the wait ends in
// time.
TEST_F(MonitoredSessionTest, WaitForStepEndsInTime) {
  train::GlobalStepWaiterOptions waiter;
  waiter.wait_until_step = 5;
  waiter.poll_interval = absl::InfiniteDuration();
  waiter.max_wait = absl::Milliseconds(20);
  const auto session =
      Start(Options({std::make_shared<train::GlobalStepWaiterHook>(waiter)}));
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(
      session->Run(count_),
      StatusIs(absl::StatusCode::kDeadlineExceeded, "It has been 0 for"));
}

// A hook with a thread of the coordinator that fails. The error of the thread
// ends the wait for the step.
class FailingThreadHook : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session&,
                                  train::Coordinator& coordinator) override {
    coordinator.Start("fails", [] { return absl::InternalError("broken"); });
    return absl::OkStatus();
  }
};

TEST_F(MonitoredSessionTest, FailedThreadEndsWaitForStep) {
  train::GlobalStepWaiterOptions waiter;
  waiter.wait_until_step = 5;
  waiter.poll_interval = absl::Hours(1);
  const auto session =
      Start(Options({std::make_shared<FailingThreadHook>(),
                     std::make_shared<train::GlobalStepWaiterHook>(waiter)}));
  ASSERT_NE(session, nullptr);
  EXPECT_FALSE(session->Run(count_).ok());
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_THAT(session->Close(),
              StatusIs(absl::StatusCode::kInternal, "broken"));
}

// The stop is requested by the option stop_requested, as after SIGTERM, or from
// another thread.
TEST_F(MonitoredSessionTest, StopRequestEndsWaitForStep) {
  for (const bool by_option : {true, false}) {
    SCOPED_TRACE(by_option);
    train::GlobalStepWaiterOptions waiter;
    waiter.wait_until_step = 5;
    waiter.poll_interval = absl::Hours(1);
    auto options =
        Options({std::make_shared<train::GlobalStepWaiterHook>(waiter)});
    std::atomic<bool> is_to_leave{false};
    options.stop_requested = [&] { return is_to_leave.load(); };
    const auto session = Start(std::move(options));
    ASSERT_NE(session, nullptr);
    if (by_option) {
      is_to_leave = true;
    } else {
      session->RequestStop();
    }
    EXPECT_THAT(session->Run(count_),
                StatusIs(absl::StatusCode::kCancelled,
                         "Waiting for global step 5 before starting training. "
                         "Training was asked to stop."));
    EXPECT_TRUE(session->ShouldStop());
    EXPECT_OK(session->Close());
  }
}

TEST_F(MonitoredSessionTest, SavesFollowTheClock) {
  ManualClock clock;
  auto scaffold = std::make_shared<train::Scaffold>();
  train::CheckpointSaverOptions saver;
  saver.checkpoint_dir = "/job";
  saver.save_secs = absl::Seconds(10);
  saver.scaffold = scaffold;
  saver.clock = &clock;
  saver.logger = &logger_;
  auto options = Options({std::make_shared<train::CheckpointSaverHook>(saver)});
  options.scaffold = scaffold;
  const auto session = Start(std::move(options));
  ASSERT_NE(session, nullptr);
  const auto has_saved = [&](int step) {
    return files_.FileExists(absl::StrCat("/job/model.ckpt-", step, ".index"))
        .ok();
  };
  EXPECT_TRUE(has_saved(0));
  clock.Advance(absl::Seconds(9.5));
  ASSERT_OK(session->Run(count_));
  EXPECT_FALSE(has_saved(1));
  clock.Advance(absl::Seconds(0.5));
  ASSERT_OK(session->Run(count_));
  EXPECT_TRUE(has_saved(2)) << "10 s since the first";
  clock.Advance(absl::Seconds(9));
  ASSERT_OK(session->Run(count_));
  EXPECT_FALSE(has_saved(3));
  clock.Advance(absl::Seconds(60));
  ASSERT_OK(session->Run(count_));
  EXPECT_TRUE(has_saved(4)) << "once, however long it was";
  ASSERT_OK(session->Run(count_));
  EXPECT_FALSE(has_saved(5));
  clock.Advance(-absl::Hours(1));
  ASSERT_OK(session->Run(count_));
  EXPECT_TRUE(has_saved(6)) << "the clock was set back";
  ASSERT_OK(session->Run(count_));
  EXPECT_FALSE(has_saved(7));
  ASSERT_OK(session->Close());
  EXPECT_TRUE(has_saved(7));
}

TEST_F(MonitoredSessionTest, LogsAndCountersFollowTheClock) {
  const Operation nothing = ops::NoOp(root_);
  ManualClock clock;
  RecordingLogger log;
  train::LoggingTensorOptions tensors;
  tensors.tensors = {{"step", step_.value()}};
  tensors.every_n_secs = absl::Seconds(2);
  tensors.clock = &clock;
  tensors.logger = &log;
  const auto session = Start(
      Options({std::make_shared<train::LoggingTensorHook>(tensors),
               std::make_shared<train::StepCounterHook>(
                   train::StepCounterOptions{.every_n_secs = absl::Seconds(3),
                                             .clock = &clock,
                                             .logger = &log})}));
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < 7; ++i) {
    ASSERT_OK(session->Run(nothing));
    ASSERT_OK(session->raw_session()->Run(count_));
    clock.Advance(absl::Seconds(1));
  }
  EXPECT_THAT(log.lines(),
              ElementsAre("I step = 0", "I step = 2 (2.000 sec)",
                          "I global_step/sec: 1", "I step = 4 (2.000 sec)",
                          "I step = 6 (2.000 sec)", "I global_step/sec: 1"));
}

TEST_F(MonitoredSessionTest, SummariesFollowTheClock) {
  ManualClock clock;
  const Output loss =
      ops::ScalarSummary(root_, "loss", ops::Const(root_, 3.0f));
  train::SummarySaverOptions saver;
  saver.save_secs = absl::Seconds(10);
  saver.writer =
      std::make_shared<train::SessionSummaryWriter>("/logs", &logger_);
  saver.summary_op = loss;
  saver.clock = &clock;
  const auto session =
      Start(Options({std::make_shared<train::SummarySaverHook>(saver)}));
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK(session->Run(count_));
    clock.Advance(absl::Seconds(4));
  }
  ASSERT_OK(session->Close());
  EXPECT_THAT(EventsIn(files_, "/logs"),
              ElementsAre("start at 1", "loss at 1", "loss at 4"));
}

// Sends a real signal to this thread. The test starts its own Process
// afterwards, because threads that were started earlier would receive the
// signal.
TEST(MonitoredSignalTest, SigtermSavesAndExits) {
  const StopSignals signals;
  MemoryFileSystem files;
  NullLogger logger;
  ProcessOptions in_memory;
  in_memory.file_system = &files;
  Process process(in_memory);
  const Scope root = Scope::Root();
  const ops::Variable step = train::GetOrCreateGlobalStep(root);
  const Operation count = ops::AssignAdd(root, step, 1);
  MonitoredTrainingSessionOptions options;
  options.checkpoint_dir = "/job";
  options.config.process = &process;
  options.logger = &logger;
  options.stop_requested = [&] { return signals.HasCome(); };
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(root, std::move(options)));
  int64_t num_runs = 0;
  while (!session->ShouldStop()) {
    ASSERT_OK(session->Run(count));
    if (++num_runs == 3) {
      ASSERT_EQ(raise(SIGTERM), 0);
    }
    ASSERT_LE(num_runs, 3);
  }
  ASSERT_OK(session->Close());
  EXPECT_OK(files.FileExists("/job/model.ckpt-3.index"));
}

}  // namespace
}  // namespace weft::monitored_session_tests
