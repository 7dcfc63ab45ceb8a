// MonitoredSession and its hooks in sessions of this process: the order of
// calls, what hooks add to a run, how training ends, what is saved and
// restored.
#include "libs/train/sessions/monitored_session.h"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/api/weft.h"
#include "libs/base/async/stop_signals.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/test_matchers.h"
#include "libs/fs/failing_file_system.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/process/process.h"
#include "libs/summary/events_writer.h"
#include "libs/train/sessions/session_manager.h"

namespace weft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using train::HookList;
using train::MonitoredSession;
using train::MonitoredTrainingSession;
using train::MonitoredTrainingSessionOptions;
using train::SessionRunArgs;
using train::SessionRunContext;
using train::SessionRunValues;
using Lines = std::vector<std::string>;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kInvalidArgument = absl::StatusCode::kInvalidArgument;

// "graph", "start", "loss 3 at 1", "model.ckpt at 0": what a directory shows.
Lines EventsIn(FileSystem& files, const std::string& folder) {
  Lines lines;
  for (const std::string& name :
       files.ListDirectory(folder).value_or(Lines())) {
    if (!absl::StrContains(name, ".tfevents.")) continue;
    auto reader =
        summary::EventsReader::Open(files, absl::StrCat(folder, "/", name));
    EXPECT_OK(reader);
    while (true) {
      const auto event = (*reader)->Next();
      if (!event.ok()) break;
      if (event->As<summary::GraphDefBytes>() != nullptr) {
        lines.push_back("graph");
      }
      if (const auto* meta = event->As<summary::MetaGraphDefBytes>()) {
        EXPECT_OK(train::MetaGraph::Parse(meta->bytes));
        lines.push_back("meta graph");
      }
      if (const auto* log = event->As<summary::SessionLog>()) {
        lines.push_back(
            absl::StrCat(log->status == summary::SessionLog::Status::kStart
                             ? "start"
                             : log->checkpoint_path,
                         " at ", event->step));
      }
      if (const auto* run = event->As<summary::TaggedRunMetadata>()) {
        const auto metadata = ParseRunMetadata(run->run_metadata);
        EXPECT_OK(metadata);
        lines.push_back(absl::StrCat(run->tag, " at ", event->step, ": ",
                                     metadata->step_stats.dev_stats.size(),
                                     " devices"));
      }
      if (const auto* values = event->As<summary::Summary>()) {
        for (const summary::SummaryValue& value : values->value) {
          lines.push_back(absl::StrCat(value.tag, " at ", event->step));
        }
      }
    }
  }
  return lines;
}

// Writes down when it is called, and what it gets.
class RecordingHook : public train::SessionRunHook {
 public:
  RecordingHook(std::string name, Lines& lines)
      : name_(std::move(name)), lines_(lines) {}

  absl::Status Begin(const Scope&) override { return Record("begin"); }
  absl::Status AfterCreateSession(Session&, train::Coordinator&) override {
    return Record("after_create_session");
  }
  absl::StatusOr<SessionRunArgs> BeforeRun(SessionRunContext&) override {
    RETURN_IF_ERROR(Record("before_run"));
    return args;
  }
  absl::Status AfterRun(SessionRunContext& context,
                        const SessionRunValues& values) override {
    results.assign(values.results.begin(), values.results.end());
    timeout = values.options.timeout;
    metadata = values.run_metadata;
    if (stops) context.RequestStop();
    return Record("after_run");
  }
  absl::Status End(Session&) override { return Record("end"); }
  void BeforeSessionGoes() override {
    EXPECT_OK(Record("before_session_goes"));
  }

  SessionRunArgs args;  // what it adds to each run
  bool stops = false;
  std::vector<Tensor> results;
  absl::Duration timeout;
  RunMetadata metadata;

 private:
  absl::Status Record(absl::string_view what) {
    lines_.push_back(absl::StrCat(name_, " ", what));
    return absl::OkStatus();
  }

  const std::string name_;
  Lines& lines_;
};

class MonitoredSessionTest : public testing::Test {
 protected:
  static ProcessOptions InMemory(FileSystem& files) {
    ProcessOptions options;
    options.file_system = &files;
    return options;
  }
  MonitoredSessionTest() : process_(InMemory(files_)) {
    step_ = train::GetOrCreateGlobalStep(root_);
    count_ = ops::AssignAdd(root_, step_, 1);
  }

  MonitoredTrainingSessionOptions Options(HookList hooks = {}) {
    MonitoredTrainingSessionOptions options;
    options.hooks = std::move(hooks);
    options.config.process = &process_;
    options.logger = &logger_;
    return options;
  }
  std::unique_ptr<MonitoredSession> Start(
      MonitoredTrainingSessionOptions options) {
    auto session = MonitoredTrainingSession(root_, std::move(options));
    EXPECT_OK(session);
    return session.ok() ? *std::move(session) : nullptr;
  }
  // How far it comes, and what Close says of it.
  absl::StatusOr<int64_t> Train(MonitoredTrainingSessionOptions options) {
    ASSIGN_OR_RETURN(const auto session,
                     MonitoredTrainingSession(root_, std::move(options)));
    int64_t step = -1;
    absl::Status status;
    while (status.ok() && !session->ShouldStop()) {
      status = session->Run(count_);
      if (!status.ok()) break;
      ASSIGN_OR_RETURN(const Tensor value, session->raw_session()->Run(step_));
      step = value.scalar<int64_t>();
    }
    RETURN_IF_ERROR(session->Close(status));
    return step;
  }

  MemoryFileSystem files_;
  RecordingLogger logger_;
  Process process_;
  Scope root_ = Scope::Root();
  ops::Variable step_;
  Operation count_;
};

// ---- Hooks in general ----

// From TensorFlow's monitored_session.py.
TEST_F(MonitoredSessionTest, HookOrderMatchesTensorFlow) {
  Lines lines;
  auto a = std::make_shared<RecordingHook>("a", lines);
  auto b = std::make_shared<RecordingHook>("b", lines);
  train::ScaffoldOptions scaffold;
  scaffold.init_fn = [&](Session&) {
    lines.push_back("init");
    return absl::OkStatus();
  };
  auto options = Options({a, b});
  options.scaffold = std::make_shared<train::Scaffold>(scaffold);
  auto chief = std::make_shared<RecordingHook>("chief", lines);
  options.chief_only_hooks = {chief};
  const auto session = Start(std::move(options));
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(
      lines, ElementsAre("chief begin", "a begin", "b begin", "init",
                         "chief after_create_session", "a after_create_session",
                         "b after_create_session"));
  lines.clear();
  ASSERT_OK(session->Run(count_));
  EXPECT_THAT(lines,
              ElementsAre("chief before_run", "a before_run", "b before_run",
                          "chief after_run", "a after_run", "b after_run"));
  lines.clear();
  ASSERT_OK(session->Close());
  EXPECT_THAT(
      lines,
      ElementsAre("chief end", "a end", "b end", "chief before_session_goes",
                  "a before_session_goes", "b before_session_goes"));
}

TEST_F(MonitoredSessionTest, HooksFetchAndFeedInTheSameRun) {
  Lines lines;
  const Output x = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  const Output y = ops::Mul(root_.WithName("y"), x, 2.0f);
  auto feeds = std::make_shared<RecordingHook>("feeds", lines);
  feeds->args.feeds = {{x, Tensor::Scalar(3.0f)}};
  feeds->args.options.timeout = absl::Seconds(7);
  auto fetches = std::make_shared<RecordingHook>("fetches", lines);
  fetches->args.fetches = {y, ops::Identity(root_, x)};
  fetches->args.targets = {count_};
  fetches->args.options.timeout = absl::Seconds(5);
  const auto session = Start(Options({feeds, fetches}));
  ASSERT_NE(session, nullptr);
  ASSERT_OK_AND_ASSIGN(const Tensor value, session->Run(y));
  EXPECT_EQ(value.scalar<float>(), 6.0f);
  EXPECT_TRUE(feeds->results.empty());
  ASSERT_EQ(fetches->results.size(), 2u);
  EXPECT_EQ(fetches->results[0].scalar<float>(), 6.0f);
  EXPECT_EQ(fetches->results[1].scalar<float>(), 3.0f);
  EXPECT_EQ(feeds->timeout, absl::Seconds(7)) << "the longest";
  ASSERT_OK_AND_ASSIGN(const Tensor step, session->raw_session()->Run(step_));
  EXPECT_EQ(step.scalar<int64_t>(), 1) << "the target of a hook ran, once";
  EXPECT_THAT(session->Run({{x, Tensor::Scalar(1.0f)}}, y),
              StatusIs(kInvalidArgument, "Conflict: x:0"));
}

TEST_F(MonitoredSessionTest, HookStopEndsTheLoop) {
  Lines lines;
  auto hook = std::make_shared<RecordingHook>("hook", lines);
  const auto session = Start(Options({hook}));
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->Run(count_));
  EXPECT_FALSE(session->ShouldStop());
  hook->stops = true;
  ASSERT_OK(session->Run(count_));
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_THAT(session->Run(count_),
              StatusIs(kFailedPrecondition,
                       "Run called even after should_stop requested."));
  ASSERT_OK(session->Close());
  EXPECT_TRUE(session->ShouldStop());
  EXPECT_THAT(
      session->Run(count_),
      StatusIs(kFailedPrecondition, "Attempted to use a closed session."));
  EXPECT_THAT(session->Close(),
              StatusIs(kFailedPrecondition, "Session is already closed."));
}

TEST_F(MonitoredSessionTest, ErrorEndsTrainingWithoutHookEnd) {
  Lines lines;
  auto hook = std::make_shared<RecordingHook>("hook", lines);
  const Output x = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  {
    const auto session = Start(Options({hook}));
    ASSERT_NE(session, nullptr);
    lines.clear();
    const absl::Status status = session->Run(x).status();
    EXPECT_THAT(status, StatusIs(kInvalidArgument));
    EXPECT_EQ(session->Close(status), status);
    EXPECT_THAT(lines,
                ElementsAre("hook before_run", "hook before_session_goes"));
  }
  {
    // The same by its destructor.
    const auto session = Start(Options({hook}));
    lines.clear();
    EXPECT_FALSE(session->Run(x).ok());
  }
  EXPECT_THAT(lines,
              ElementsAre("hook before_run", "hook before_session_goes"));
  {
    const auto session = Start(Options({hook}));
    lines.clear();
    EXPECT_OK(session->Run(count_));
  }
  EXPECT_THAT(lines, ElementsAre("hook before_run", "hook after_run",
                                 "hook end", "hook before_session_goes"));
}

class FailingHook : public train::SessionRunHook {
 public:
  absl::Status Begin(const Scope&) override { return in_begin; }
  absl::Status End(Session&) override { return in_end; }
  absl::Status in_begin, in_end;
};

TEST_F(MonitoredSessionTest, HookErrorsAreReturned) {
  auto hook = std::make_shared<FailingHook>();
  hook->in_begin = absl::InternalError("begin");
  EXPECT_THAT(MonitoredTrainingSession(root_, Options({hook})),
              StatusIs(absl::StatusCode::kInternal, "begin"));
  hook->in_begin = absl::OkStatus();
  hook->in_end = absl::InternalError("end");
  const auto session = Start(Options({hook}));
  ASSERT_NE(session, nullptr);
  EXPECT_THAT(session->Close(), StatusIs(absl::StatusCode::kInternal, "end"));
}

TEST_F(MonitoredSessionTest, StepFunctionsRunWithAndWithoutHooks) {
  Lines lines;
  auto hook = std::make_shared<RecordingHook>("hook", lines);
  const auto session = Start(Options({hook}));
  ASSERT_NE(session, nullptr);
  lines.clear();
  ASSERT_OK(session->RunStepFn(
      [&](MonitoredSession::StepContext& context) -> absl::Status {
        RETURN_IF_ERROR(context.session().Run(count_));
        EXPECT_TRUE(lines.empty());
        ASSIGN_OR_RETURN(const auto values,
                         context.RunWithHooks({.fetches = {step_}}));
        EXPECT_EQ(values[0].scalar<int64_t>(), 1);
        context.RequestStop();
        return absl::OkStatus();
      }));
  EXPECT_EQ(lines.size(), 2u);
  EXPECT_TRUE(session->ShouldStop());
}

// If the session were lost it would be replaced, and the function's own
// destroyed.
TEST_F(MonitoredSessionTest, StepFunctionMustUseItsContext) {
  const auto session = Start(Options());
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->RunStepFn(
      [&](MonitoredSession::StepContext& context) -> absl::Status {
        EXPECT_FALSE(session->ShouldStop());
        EXPECT_THAT(session->Run(count_),
                    StatusIs(kFailedPrecondition, "step function's context"));
        EXPECT_THAT(session->RunStepFn([](MonitoredSession::StepContext&) {
          return absl::OkStatus();
        }),
                    StatusIs(kFailedPrecondition, "is active"));
        EXPECT_THAT(session->Close(), StatusIs(kFailedPrecondition));
        return context.RunWithHooks({.targets = {count_}}).status();
      }));
  ASSERT_OK_AND_ASSIGN(const Tensor step, session->Run(step_));
  EXPECT_EQ(step.scalar<int64_t>(), 1);
  EXPECT_OK(session->Close());
}

// Its thread finds the session lost when the test says so.
class LosingHook : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session&,
                                  train::Coordinator& coordinator) override {
    ++num_sessions;
    coordinator_ = &coordinator;
    return absl::OkStatus();
  }
  void Lose() { coordinator_->RequestStop(absl::UnavailableError("lost")); }
  int num_sessions = 0;

 private:
  train::Coordinator* coordinator_ = nullptr;
};

TEST_F(MonitoredSessionTest, RecoversAfterTheStepFunction) {
  auto hook = std::make_shared<LosingHook>();
  const auto session = Start(Options({hook}));
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->RunStepFn(
      [&](MonitoredSession::StepContext& context) -> absl::Status {
        hook->Lose();
        EXPECT_TRUE(session->ShouldStop());
        return context.session().Run(count_);  // it is there
      }));
  EXPECT_EQ(hook->num_sessions, 1);
  EXPECT_FALSE(session->ShouldStop());
  ASSERT_OK(session->Run(count_));
  EXPECT_EQ(hook->num_sessions, 2);
  EXPECT_OK(session->Close());
}

TEST_F(MonitoredSessionTest, StopRequestSavesAndExits) {
  bool terminate = false;  // what a signal would set
  auto options = Options();
  options.checkpoint_dir = "/job";
  options.stop_requested = [&] { return terminate; };
  const auto session = Start(std::move(options));
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < 3; ++i) ASSERT_OK(session->Run(count_));
  EXPECT_FALSE(session->ShouldStop());
  terminate = true;
  EXPECT_TRUE(session->ShouldStop());
  ASSERT_OK(session->Close());
  EXPECT_OK(files_.FileExists("/job/model.ckpt-3.index"));
}

// Its session, another one of which would be made for it without end.
class UsingHook : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session&, train::Coordinator&) override {
    return Use();
  }
  absl::Status End(Session&) override { return Use(); }
  void BeforeSessionGoes() override { EXPECT_OK(Use()); }
  MonitoredSession* session = nullptr;
  int num_uses = 0;

 private:
  absl::Status Use() {
    if (session == nullptr) return absl::OkStatus();  // it is being made
    ++num_uses;
    const absl::Status refused[] = {
        session->Run(Operation()), session->Close(),
        session->RunStepFn(
            [](MonitoredSession::StepContext&) { return absl::OkStatus(); })};
    for (const absl::Status& status : refused) {
      EXPECT_THAT(status, StatusIs(kFailedPrecondition));
    }
    session->ShouldStop();
    return absl::OkStatus();
  }
};

TEST_F(MonitoredSessionTest, HookMustNotUseTheCallingSession) {
  auto losing = std::make_shared<LosingHook>();
  auto hook = std::make_shared<UsingHook>();
  const auto session = Start(Options({losing, hook}));
  ASSERT_NE(session, nullptr);
  hook->session = session.get();
  losing->Lose();
  EXPECT_FALSE(session->ShouldStop());  // the lost one goes
  EXPECT_EQ(hook->num_uses, 1);
  ASSERT_OK(session->Run(count_));
  EXPECT_EQ(losing->num_sessions, 2);
  EXPECT_EQ(hook->num_uses, 2);
  ASSERT_OK(session->Close());
  EXPECT_EQ(hook->num_uses, 4);
}

// A connection that is briefly lost, twice.
class LateEndHook : public train::SessionRunHook {
 public:
  absl::Status End(Session&) override {
    return ++num_calls <= 2 ? absl::UnavailableError("lost") : absl::OkStatus();
  }
  int num_calls = 0;
};

TEST_F(MonitoredSessionTest, StoppingSessionRetriesItsEnd) {
  auto hook = std::make_shared<LateEndHook>();
  auto options = Options({hook});
  options.checkpoint_dir = "/job";
  options.recovery.initial_backoff = absl::Milliseconds(1);
  const auto session = Start(std::move(options));
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->Run(count_));
  session->RequestStop();
  ASSERT_OK(session->Close());
  EXPECT_EQ(hook->num_calls, 3);
}

TEST_F(MonitoredSessionTest, DeclaresItsSessionsMonitored) {
  for (const bool is_chief : {true, false}) {
    SCOPED_TRACE(is_chief);
    auto options = Options();
    options.is_chief = is_chief;
    int num_made = 0;
    options.session_factory = [&](const std::string& target, const Scope& scope,
                                  const SessionOptions& config) {
      ++num_made;
      EXPECT_TRUE(config.is_monitored);
      return Session::Connect(target, scope, config);
    };
    // A worker alone waits for its chief.
    options.stop_requested = [&] { return !is_chief && num_made > 0; };
    (void)MonitoredTrainingSession(root_, std::move(options));
    EXPECT_GE(num_made, 1);
  }
}

TEST_F(MonitoredSessionTest, InvalidTimesAreRejected) {
  const double no_number = std::numeric_limits<double>::quiet_NaN();
  const auto refused = [&](const auto& change) {
    auto options = Options();
    options.checkpoint_dir = "/job";
    change(options);
    return MonitoredTrainingSession(root_, std::move(options)).status();
  };
  using Changed = MonitoredTrainingSessionOptions;
  EXPECT_THAT(refused([&](Changed& o) { o.save_checkpoint_secs = no_number; }),
              StatusIs(kInvalidArgument, "save_checkpoint_secs"));
  EXPECT_THAT(refused([&](Changed& o) { o.save_summaries_secs = no_number; }),
              StatusIs(kInvalidArgument, "save_summaries_secs"));
  EXPECT_THAT(refused([&](Changed& o) { o.stop_grace_period_secs = -1; }),
              StatusIs(kInvalidArgument, "stop_grace_period_secs"));
  EXPECT_THAT(refused([&](Changed& o) { o.log_step_count_secs = no_number; }),
              StatusIs(kInvalidArgument, "log_step_count_secs"));
  EXPECT_THAT(refused([&](Changed& o) { o.max_wait_secs = no_number; }),
              StatusIs(kInvalidArgument, "max_wait_secs"));
  for (const auto none : {absl::ZeroDuration(), absl::Seconds(-1)}) {
    EXPECT_THAT(refused([&](Changed& o) { o.recovery.initial_backoff = none; }),
                StatusIs(kInvalidArgument, "initial_backoff"));
    EXPECT_THAT(refused([&](Changed& o) { o.recovery.max_backoff = none; }),
                StatusIs(kInvalidArgument, "max_backoff"));
  }
  EXPECT_THAT(
      refused([](Changed& o) { o.recovery.max_recovery = -absl::Seconds(1); }),
      StatusIs(kInvalidArgument, "max_recovery"));
  EXPECT_OK(refused([](Changed& o) { o.save_checkpoint_secs = -1; }))
      << "never, as in TensorFlow";
}

// ---- The hooks that there are ----

// Asks to stop at once if it is to, and knows of the end.
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
    EXPECT_OK(session.ListDevices());  // it is open
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
    // Transient errors are retried, but not after a stop request.
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

// Also in a session in which nothing was run.
class LeavingHook : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session&,
                                  train::Coordinator& coordinator) override {
    is_asked_to_leave_ = coordinator.is_asked_to_leave();
    return absl::OkStatus();
  }
  absl::Status End(Session&) override {
    is_leaving = is_asked_to_leave_ && is_asked_to_leave_();
    return absl::OkStatus();
  }
  void BeforeSessionGoes() override { is_asked_to_leave_ = nullptr; }
  bool is_leaving = false;

 private:
  std::function<bool()> is_asked_to_leave_;
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

// Others have brought training to its end: a stop request at the last step is
// still the end, and no program continues.
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

TEST_F(MonitoredSessionTest, StopAtStepStopsThere) {
  ASSERT_OK_AND_ASSIGN(const int64_t last,
                       Train(Options({train::StopAtStep(7)})));
  EXPECT_EQ(last, 7);
  // Steps count from where training begins.
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

TEST_F(MonitoredSessionTest, TheGraphIsFinal) {
  const auto session = Start(Options());
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->Run(count_));
  const Output late = ops::Const(root_.WithName("late"), 1.0f);
  EXPECT_THAT(session->Run(late),
              StatusIs(kFailedPrecondition,
                       "Graph is finalized and cannot be modified: node late"));
  EXPECT_THAT(session->RunStepFn([](MonitoredSession::StepContext&) {
    return absl::OkStatus();
  }),
              StatusIs(kFailedPrecondition, "node late"));
  EXPECT_OK(session->Close());
}

TEST_F(MonitoredSessionTest, SecondScaffoldWaitsLikeTheFirst) {
  train::Scaffold first, second;
  ASSERT_OK(first.Finalize(root_));
  ASSERT_OK(second.Finalize(root_));
  EXPECT_TRUE(first.waits_for_variables());
  EXPECT_TRUE(second.waits_for_variables());
  train::Scaffold own({.ready_for_local_init_op = first.ready_op()});
  ASSERT_OK(own.Finalize(root_));
  EXPECT_FALSE(own.waits_for_variables());
}

TEST_F(MonitoredSessionTest, SecondScaffoldReusesSaverNodes) {
  train::Scaffold first, second;
  ASSERT_OK(first.Finalize(root_));
  const int num_nodes = root_.graph().num_nodes();
  ASSERT_OK(second.Finalize(root_));
  EXPECT_EQ(root_.graph().num_nodes(), num_nodes);
  EXPECT_EQ(second.saver()->restore_op().node(),
            first.saver()->restore_op().node());
  // The program's own saver takes precedence.
  auto own = std::make_shared<train::Saver>(root_);
  train::Scaffold third({.saver = own});
  ASSERT_OK(third.Finalize(root_));
  EXPECT_EQ(third.saver(), own);
}

// Another program continues from the graph saved beside checkpoints.
TEST_F(MonitoredSessionTest, ImportedGraphBringsItsSaver) {
  auto options = Options({train::StopAtStep(3)});
  options.checkpoint_dir = "/job";
  ASSERT_OK(Train(std::move(options)));
  ASSERT_OK_AND_ASSIGN(const train::MetaGraph meta,
                       train::ReadMetaGraph(files_, "/job/model.ckpt-3.meta"));
  const Scope other = Scope::Root();
  ASSERT_OK(train::ImportMetaGraph(other, meta));
  const int num_nodes = other.graph().num_nodes();
  const Operation count(other.graph().FindNode(count_.name()));
  ASSERT_TRUE(count);
  auto again = Options({train::StopAtStep(5)});
  again.checkpoint_dir = "/job";
  ASSERT_OK_AND_ASSIGN(const auto session,
                       MonitoredTrainingSession(other, std::move(again)));
  EXPECT_EQ(other.graph().num_nodes(), num_nodes);
  while (!session->ShouldStop()) ASSERT_OK(session->Run(count));
  ASSERT_OK(session->Close());
  EXPECT_OK(files_.FileExists("/job/model.ckpt-5.index"));
}

TEST_F(MonitoredSessionTest, AmbiguousSaversAreRejected) {
  train::Saver one(root_), two(root_);
  train::CollectSaver(root_, one.def());
  train::CollectSaver(root_, two.def());
  EXPECT_THAT(train::Scaffold().Finalize(root_),
              StatusIs(kInvalidArgument,
                       "More than one item in the collection \"savers\". "
                       "Please indicate which one to use by passing it to the "
                       "Scaffold: ScaffoldOptions::saver"));
  // And a saver whose nodes are not in the graph is ignored.
  const Scope other = Scope::Root();
  train::GetOrCreateGlobalStep(other);
  train::CollectSaver(other, one.def());
  EXPECT_THAT(train::Scaffold().Finalize(other),
              StatusIs(kInvalidArgument, "save/Const:0"));
}

// Imported collections may contain anything.
TEST_F(MonitoredSessionTest, MisnamedReportNodeIsIgnored) {
  root_.AddToCollection(
      "ready_for_local_init_op",
      ops::Const(root_.WithName("report_uninitialized_variables"), 1.0f));
  train::Scaffold scaffold;
  ASSERT_OK(scaffold.Finalize(root_));
  EXPECT_FALSE(scaffold.waits_for_variables());
  auto options = Options();
  options.is_chief = false;
  EXPECT_THAT(MonitoredTrainingSession(root_, std::move(options)),
              StatusIs(kInvalidArgument, "of type string, but is float"));
}

TEST(SessionManagerTest, ErrorNamesTheDeadTask) {
  const Scope root = Scope::Root();
  std::string message;
  train::SessionManagerOptions options;
  options.session_factory =
      [&](const std::string&, const Scope&,
          const SessionOptions&) -> absl::StatusOr<std::unique_ptr<Session>> {
    return absl::UnavailableError(message);
  };
  const auto connect = [&](const std::string& says) {
    message = says;
    const auto session = train::SessionManager(root, options)
                             .PrepareSession("zmq://own:1", {}, {}, {});
    return std::string(session.status().message());
  };
  const std::string dead = "/job:ps/replica:0/task:0: no connection";
  EXPECT_EQ(connect(dead), dead);
  EXPECT_EQ(connect("no memory"),
            "No session of zmq://own:1: no memory. Are it and all tasks of its "
            "cluster running? (weft status shows them.)");
  for (const std::string asks :
       {"lost (is the server running, and is this its address?)",
        "unreachable; is it running, and is the address right?"}) {
    EXPECT_EQ(connect(asks), "No session of zmq://own:1: " + asks);
  }
}

TEST_F(MonitoredSessionTest, StopAtStepNeedsOneEnd) {
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

TEST_F(MonitoredSessionTest, LogsTensorsAndSpeed) {
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

// A new session may restore an earlier step.
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

// The program logs the error of a run and continues.
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

// The hooks that save come first in the list, as those of a chief do.
TEST_F(MonitoredSessionTest, StepRejectedByHookIsNotSaved) {
  const Output x = ops::Placeholder(root_, DT_FLOAT);
  const Output loss = ops::Identity(root_.WithName("loss"), x);
  const Tensor one = Tensor::Scalar(1.0f);
  const Tensor nan = Tensor::Scalar(std::numeric_limits<float>::quiet_NaN());
  // Whether or not Close gets the error.
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
  // Nor is one that a hook rejects in End.
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

// Exposes the coordinator, so that a test can make its threads fail.
class ThreadHook : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session&,
                                  train::Coordinator& given) override {
    coordinator = &given;
    return absl::OkStatus();
  }
  train::Coordinator* coordinator = nullptr;
};

// The thread fails between the end of the input and Close. An error that only
// means a lost session is ignored then.
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

// ---- Hooks that wait, and hooks that act by the clock ----

// Counts the step up on a thread of its own, beside the runs.
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

// Like the hook of synchronous replicas, whose updates are concurrent with
// runs.
class HoldingHook : public train::SessionRunHook {
 public:
  absl::Status SaveBetweenUpdates(
      absl::FunctionRef<absl::Status()> save) override {
    ++num_saves;
    return save();
  }
  int num_saves = 0;
};

TEST_F(MonitoredSessionTest, CustomSaverHookHoldsUpdates) {
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

TEST_F(MonitoredSessionTest, WaitsForTheGlobalStepBeforeTheFirstRun) {
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
  // Only the first, because no other program advances it.
  ASSERT_OK(session->raw_session()->Run(step_.initializer()));
  ASSERT_OK(session->Run(count_));
}

TEST_F(MonitoredSessionTest, WaitForStepGivesUp) {
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
                StatusIs(kInvalidArgument, "needs a poll_interval"));
  }
}

// With a poll interval longer than the timeout.
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

// An error of a coordinator thread ends the wait.
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

// Like SIGTERM: by the option, or from another thread.
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

TEST_F(MonitoredSessionTest, SavesByTheClock) {
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

TEST_F(MonitoredSessionTest, LogsAndCountsByTheClock) {
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

TEST_F(MonitoredSessionTest, SummarisesByTheClock) {
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

// A real signal, to this thread. Threads started before would receive it, so
// this test has its own Process.
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

// ---- Checkpoints ----

class RecordingListener : public train::CheckpointSaverListener {
 public:
  explicit RecordingListener(Lines& lines) : lines_(lines) {}
  absl::Status Begin() override { return Record("begin"); }
  absl::Status BeforeSave(Session&, int64_t step) override {
    return Record(absl::StrCat("before_save ", step));
  }
  absl::StatusOr<bool> AfterSave(Session&, int64_t step) override {
    RETURN_IF_ERROR(Record(absl::StrCat("after_save ", step)));
    return step == stop_at;
  }
  absl::Status End(Session&, int64_t step) override {
    return Record(absl::StrCat("end ", step));
  }
  int64_t stop_at = -1;

 private:
  absl::Status Record(std::string line) {
    lines_.push_back(std::move(line));
    return absl::OkStatus();
  }
  Lines& lines_;
};

TEST_F(MonitoredSessionTest, SavesAtStartPeriodicallyAndAtEnd) {
  Lines lines;
  auto scaffold = std::make_shared<train::Scaffold>();
  train::CheckpointSaverOptions saver;
  saver.checkpoint_dir = "/job";
  saver.save_steps = 3;
  saver.scaffold = scaffold;
  saver.logger = &logger_;
  saver.listeners = {std::make_shared<RecordingListener>(lines)};
  auto options = Options({std::make_shared<train::CheckpointSaverHook>(saver),
                          train::StopAtStep(7)});
  options.scaffold = scaffold;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_THAT(lines, ElementsAre("begin", "before_save 0", "after_save 0",
                                 "before_save 3", "after_save 3",
                                 "before_save 6", "after_save 6",
                                 "before_save 7", "after_save 7", "end 7"));
  for (const int step : {0, 3, 6, 7}) {
    EXPECT_OK(
        files_.FileExists(absl::StrCat("/job/model.ckpt-", step, ".index")));
  }
  EXPECT_THAT(
      logger_.lines(),
      testing::Contains("I Saving checkpoints for 3 into /job/model.ckpt."));
}

// Makes an update whenever a save is requested between two updates.
class UpdatingHook : public train::SessionRunHook {
 public:
  explicit UpdatingHook(Operation update) : update_(update) {}
  absl::Status AfterCreateSession(Session& session,
                                  train::Coordinator&) override {
    session_ = &session;
    return absl::OkStatus();
  }
  absl::Status SaveBetweenUpdates(
      absl::FunctionRef<absl::Status()> save) override {
    ++num_saves;
    if (session_ != nullptr) RETURN_IF_ERROR(session_->Run(update_));
    return save();
  }
  int num_saves = 0;

 private:
  const Operation update_;
  Session* session_ = nullptr;
};

TEST_F(MonitoredSessionTest, SavesBetweenHookUpdates) {
  const auto hook = std::make_shared<UpdatingHook>(count_);
  auto options = Options({hook, train::StopAtStep(6)});
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 3;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_EQ(hook->num_saves, 3);  // at the beginning, of step 3, and at the end
  for (const int step : {0, 4, 7}) {
    EXPECT_OK(
        files_.FileExists(absl::StrCat("/job/model.ckpt-", step, ".index")));
  }
}

// Beside the runs: which of them are saved in between, threads decide.
TEST_F(MonitoredSessionTest, SavesConcurrentlyWithRuns) {
  auto options = Options({train::StopAtStep(40)});
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 10;
  options.save_asynchronously = true;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_OK(files_.FileExists("/job/model.ckpt-0.index"));
  EXPECT_OK(files_.FileExists("/job/model.ckpt-40.index"));
  auto again = Options({train::StopAtStep(41)});
  again.checkpoint_dir = "/job";
  ASSERT_OK_AND_ASSIGN(const int64_t last, Train(std::move(again)));
  EXPECT_EQ(last, 41);
}

TEST_F(MonitoredSessionTest, ListenerMayStopTraining) {
  Lines lines;
  auto listener = std::make_shared<RecordingListener>(lines);
  listener->stop_at = 4;
  auto scaffold = std::make_shared<train::Scaffold>();
  train::CheckpointSaverOptions saver;
  saver.checkpoint_dir = "/job";
  saver.save_steps = 2;
  saver.scaffold = scaffold;
  saver.logger = &logger_;
  saver.listeners = {listener};
  auto options = Options({std::make_shared<train::CheckpointSaverHook>(saver)});
  options.scaffold = scaffold;
  ASSERT_OK_AND_ASSIGN(const int64_t last, Train(std::move(options)));
  EXPECT_EQ(last, 4);
}

TEST_F(MonitoredSessionTest, SecondStartResumes) {
  const auto run_to = [&](int64_t step) {
    auto options = Options({train::StopAtStep(step)});
    options.checkpoint_dir = "/job";
    options.save_checkpoint_steps = 2;
    return Train(std::move(options));
  };
  ASSERT_OK_AND_ASSIGN(const int64_t to_5, run_to(5));
  EXPECT_EQ(to_5, 5);
  ASSERT_OK_AND_ASSIGN(const int64_t to_9, run_to(9));
  EXPECT_EQ(to_9, 9);
  EXPECT_THAT(
      logger_.lines(),
      testing::Contains("I Restoring parameters from /job/model.ckpt-5"));
  // Each start counts those of the ones before: five are kept.
  for (int64_t step = 10; step < 15; ++step) ASSERT_OK(run_to(step));
  ASSERT_OK_AND_ASSIGN(const Lines files, files_.ListDirectory("/job"));
  EXPECT_THAT(files, testing::Contains("model.ckpt-14.index"));
  EXPECT_EQ(std::count_if(files.begin(), files.end(),
                          [](const std::string& file) {
                            return absl::EndsWith(file, ".index");
                          }),
            5);
}

// The state file was lost, or is not visible: a training that starts over would
// overwrite and delete the checkpoints.
TEST_F(MonitoredSessionTest, CheckpointsWithoutAStateFileAreNotOverwritten) {
  const auto run_to = [&](int64_t step) {
    auto options = Options({train::StopAtStep(step)});
    options.checkpoint_dir = "/job";
    options.save_checkpoint_steps = 2;
    return Train(std::move(options));
  };
  ASSERT_OK(run_to(11));
  ASSERT_OK(files_.DeleteFile("/job/checkpoint"));
  ASSERT_OK_AND_ASSIGN(const Lines before, files_.ListDirectory("/job"));
  const absl::Status refused = run_to(13).status();
  EXPECT_THAT(refused, StatusIs(kFailedPrecondition, "model.ckpt-11.index"));
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr(R"('model_checkpoint_path: "model.ckpt-11"')"));
  ASSERT_OK_AND_ASSIGN(const Lines after, files_.ListDirectory("/job"));
  EXPECT_EQ(before, after);
  // Follows the error's remedy.
  ASSERT_OK(files_.WriteFileAtomically(
      "/job/checkpoint", R"(model_checkpoint_path: "model.ckpt-11")"));
  ASSERT_OK_AND_ASSIGN(const int64_t to_13, run_to(13));
  EXPECT_EQ(to_13, 13);
  EXPECT_THAT(
      logger_.lines(),
      testing::Contains("I Restoring parameters from /job/model.ckpt-11"));
}

// Checkpoints that another state file names, and an unfinished first save, do
// not prevent training.
TEST_F(MonitoredSessionTest, TrainingStartsBesideOtherCheckpoints) {
  const auto start = [&] {
    auto options = Options({train::StopAtStep(1)});
    options.checkpoint_dir = "/job";
    return Train(std::move(options)).status();
  };
  const auto write = [&](const std::string& name) {
    ASSERT_OK(files_.WriteFileAtomically("/job/" + name, "x"));
  };
  ASSERT_OK(files_.CreateDirectory("/job"));
  for (const std::string name : {"input.ckpt-4", "model.ckpt-0"}) {
    write(name + ".index");  // damaged
    write(name + ".data-00000-of-00001");
  }
  EXPECT_THAT(start(), StatusIs(kFailedPrecondition, "(2, such as"));
  ASSERT_OK(files_.WriteFileAtomically(
      "/job/checkpoint_input", R"(model_checkpoint_path: "input.ckpt-4")"));
  EXPECT_THAT(start(), StatusIs(kFailedPrecondition, "(1, such as"));
  ASSERT_OK(files_.WriteFileAtomically("/job/model.ckpt.saving",
                                       "save 1\nsaving 1 model.ckpt-0\n"));
  EXPECT_OK(start());
}

TEST_F(MonitoredSessionTest, CopyOfStateFileIsNotAnotherState) {
  const auto run_to = [&](int64_t step) {
    auto options = Options({train::StopAtStep(step)});
    options.checkpoint_dir = "/job";
    return Train(std::move(options)).status();
  };
  ASSERT_OK(run_to(2));
  ASSERT_OK_AND_ASSIGN(const std::string state,
                       files_.ReadFile("/job/checkpoint"));
  ASSERT_OK(files_.DeleteFile("/job/checkpoint"));
  // Also if only the index is left.
  for (const bool has_data : {true, false}) {
    for (const std::string copy :
         {"/job/checkpoint.bak", "/job/checkpoint.old", "/job/checkpoint~"}) {
      ASSERT_OK(files_.WriteFileAtomically(copy, state));
      EXPECT_THAT(run_to(3), StatusIs(kFailedPrecondition, "(2, such as"));
      ASSERT_OK(files_.DeleteFile(copy));
    }
    if (!has_data) break;
    ASSERT_OK_AND_ASSIGN(const Lines names, files_.ListDirectory("/job"));
    for (const std::string& name : names) {
      if (!absl::StrContains(name, ".data-")) continue;
      ASSERT_OK(files_.DeleteFile("/job/" + name));
    }
  }
}

TEST_F(MonitoredSessionTest, StateFileOfAnotherSaverMayHaveADot) {
  ASSERT_OK(files_.CreateDirectory("/job"));
  for (const std::string name : {"best.ckpt-4", "best.ckpt-7"}) {
    ASSERT_OK(files_.WriteFileAtomically("/job/" + name + ".index", "x"));
    ASSERT_OK(files_.WriteFileAtomically(
        "/job/" + name + ".data-00000-of-00001", "x"));
  }
  ASSERT_OK(files_.WriteFileAtomically("/job/checkpoint.best",
                                       R"(model_checkpoint_path: "best.ckpt-7"
                                all_model_checkpoint_paths: "best.ckpt-4"
                                all_model_checkpoint_paths: "best.ckpt-7")"));
  auto options = Options({train::StopAtStep(1)});
  options.checkpoint_dir = "/job";
  EXPECT_OK(Train(std::move(options)));
}

// For example, the index of a data set.
TEST_F(MonitoredSessionTest, ForeignIndexFileDoesNotPreventTraining) {
  ASSERT_OK(files_.CreateDirectory("/job"));
  ASSERT_OK(files_.WriteFileAtomically("/job/data.index", "0 17\n17 40\n"));
  auto options = Options({train::StopAtStep(1)});
  options.checkpoint_dir = "/job";
  EXPECT_OK(Train(std::move(options)));
}

TEST_F(MonitoredSessionTest, RestoreOfOtherShapeNamesBoth) {
  const auto start = [&](const TensorShape& shape) {
    const Scope root = Scope::Root();
    train::GetOrCreateGlobalStep(root);
    ops::Variable(root.WithName("layer/weights"), Tensor(DT_FLOAT, shape));
    auto options = Options();
    options.checkpoint_dir = "/job";
    return MonitoredTrainingSession(root, std::move(options)).status();
  };
  ASSERT_OK(start({2, 3}));
  const absl::Status status = start({3, 2});
  EXPECT_THAT(status, StatusIs(kInvalidArgument));
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("layer/weights"), HasSubstr("[2,3]"),
                     HasSubstr("[3,2]"), HasSubstr("/job/model.ckpt-0")));
}

TEST_F(MonitoredSessionTest, RestoreOfOtherTypeNamesBoth) {
  const auto start = [&](DataType type) {
    const Scope root = Scope::Root();
    train::GetOrCreateGlobalStep(root);
    ops::Variable(root.WithName("layer/weights"), Tensor(type, {2}));
    auto options = Options();
    options.checkpoint_dir = "/job";
    return MonitoredTrainingSession(root, std::move(options)).status();
  };
  ASSERT_OK(start(DT_FLOAT));
  const absl::Status status = start(DT_DOUBLE);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("layer/weights"), HasSubstr("float"),
                     HasSubstr("double"), HasSubstr("/job/model.ckpt-0")));
}

// The error of a chief with another graph.
TEST_F(MonitoredSessionTest, RestoreOfOtherModelNamesTheVariable) {
  auto options = Options({train::StopAtStep(1)});
  options.checkpoint_dir = "/job";
  ASSERT_OK(Train(std::move(options)));
  const Scope other = Scope::Root();
  train::GetOrCreateGlobalStep(other);
  ops::Variable(other.WithName("layer/weights"), Tensor(DT_FLOAT, {2, 3}));
  auto again = Options();
  again.checkpoint_dir = "/job";
  const absl::Status status =
      MonitoredTrainingSession(other, std::move(again)).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("layer/weights"), HasSubstr("/job/model.ckpt-1"),
                     HasSubstr("of another model")));
}

TEST_F(MonitoredSessionTest, MovedDirectoryResumesOrNamesMissingFile) {
  const auto run_to = [&](int64_t step, const std::string& directory) {
    auto options = Options({train::StopAtStep(step)});
    options.checkpoint_dir = directory;
    return Train(std::move(options));
  };
  ASSERT_OK(run_to(2, "/job"));
  ASSERT_OK(files_.CreateDirectories("/moved"));
  ASSERT_OK_AND_ASSIGN(const Lines files, files_.ListDirectory("/job"));
  for (const std::string& name : files) {
    ASSERT_OK(files_.RenameFile("/job/" + name, "/moved/" + name));
  }
  ASSERT_OK_AND_ASSIGN(const int64_t step, run_to(3, "/moved"));
  EXPECT_EQ(step, 3);
  EXPECT_THAT(
      logger_.lines(),
      testing::Contains("I Restoring parameters from /moved/model.ckpt-2"));
  // The state file alone.
  ASSERT_OK(files_.CreateDirectories("/state"));
  ASSERT_OK(files_.RenameFile("/moved/checkpoint", "/state/checkpoint"));
  ASSERT_OK(files_.DeleteFile("/moved/model.ckpt-3.index"));
  const absl::Status status = run_to(4, "/state").status();
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kNotFound,
                       "/state/checkpoint names the checkpoint "
                       "/moved/model.ckpt-3, which does not exist, and neither "
                       "does /state/model.ckpt-3"));
  EXPECT_FALSE(absl::StrContains(status.message(), "of another model"));
}

TEST_F(MonitoredSessionTest, WithoutDirectorySavesNoCheckpoint) {
  ASSERT_OK(Train(Options({train::StopAtStep(3)})));
  EXPECT_FALSE(files_.FileExists("/job").ok());
}

// ---- Event files ----

TEST_F(MonitoredSessionTest, WritesSummariesTheGraphAndCheckpoints) {
  ops::ScalarSummary(root_, "loss", ops::Const(root_, 3.0f));
  auto options = Options({train::StopAtStep(5)});
  options.checkpoint_dir = "/job";
  options.save_checkpoint_steps = 4;
  options.save_summaries_steps = 2;
  options.log_step_count_steps = 3;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_THAT(EventsIn(files_, "/job"),
              testing::UnorderedElementsAre(
                  "graph", "meta graph", "/job/model.ckpt at 0", "start at 1",
                  "loss at 1", "loss at 3", "/job/model.ckpt at 4",
                  "global_step/sec at 4", "loss at 5", "/job/model.ckpt at 5"));
}

TEST_F(MonitoredSessionTest, LogStepCountSecsReplacesSteps) {
  const auto rates_with = [this](double secs, const std::string& folder) {
    auto options = Options({train::StopAtStep(4)});
    options.checkpoint_dir = folder;
    options.log_step_count_steps = 1;
    options.log_step_count_secs = secs;
    EXPECT_OK(Train(std::move(options)));
    Lines rates = EventsIn(files_, folder);
    std::erase_if(rates, [](const std::string& line) {
      return !absl::StartsWith(line, "global_step/sec");
    });
    return rates;
  };
  EXPECT_THAT(rates_with(3600, "/hourly"), testing::IsEmpty());
  EXPECT_THAT(rates_with(0, "/never"), testing::IsEmpty());
  EXPECT_THAT(rates_with(1e-9, "/always"),
              ElementsAre("global_step/sec at 2", "global_step/sec at 3",
                          "global_step/sec at 4"));
}

TEST_F(MonitoredSessionTest, LargeEventFileIsRotated) {
  const auto num_files = [this](uint64_t max_bytes) {
    auto options = Options({train::StopAtStep(5)});
    options.summary_dir = absl::StrCat("/logs", max_bytes);
    options.log_step_count_steps = 1;
    options.max_event_file_bytes = max_bytes;
    EXPECT_OK(Train(options));
    return files_.ListDirectory(options.summary_dir).value_or(Lines()).size();
  };
  EXPECT_EQ(num_files(0), 1u);
  EXPECT_GT(num_files(1), 1u);
}

// Lost with the file of the previous session.
TEST_F(MonitoredSessionTest, LostGraphEventIsRewritten) {
  FailingFileSystem disk(files_);
  Process process(InMemory(disk));
  SessionOptions config;
  config.process = &process;
  ASSERT_OK_AND_ASSIGN(const train::MetaGraph meta_graph,
                       train::ExportMetaGraph(root_, {}));
  train::SessionSummaryWriter writer("/logs", &logger_);
  const auto events_of_a_session = [&](bool disk_is_full) {
    train::Coordinator coordinator;
    const auto session = Session::Connect("", root_, config);
    EXPECT_OK(session);
    EXPECT_OK(writer.Open(**session, coordinator));
    if (disk_is_full) disk.LimitSpace(0);
    writer.AddGraphOnce(ExportGraphDef(root_.graph()).value(),
                        meta_graph.Serialize());
    writer.Close();
    disk.Heal();
    return EventsIn(files_, "/logs");
  };
  EXPECT_THAT(events_of_a_session(true), ElementsAre());
  EXPECT_THAT(events_of_a_session(false), ElementsAre("graph", "meta graph"));
  EXPECT_THAT(events_of_a_session(false), ElementsAre("graph", "meta graph"));
}

TEST_F(MonitoredSessionTest, WritesGraphTextBesideCheckpoints) {
  auto options = Options({train::StopAtStep(1)});
  options.checkpoint_dir = "/job";
  ASSERT_OK(Train(std::move(options)));
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       files_.ReadFile("/job/graph.pbtxt"));
  Graph read(root_.graph().registry());
  ASSERT_OK(ImportGraphDefText(text, read));
  EXPECT_NE(read.FindNode("global_step"), nullptr);
  EXPECT_NE(read.FindNode("save/restore_all"), nullptr)
      << "as it is when it is complete";
}

TEST_F(MonitoredSessionTest, SummariesMayHaveTheirOwnDirectory) {
  ops::ScalarSummary(root_, "loss", ops::Const(root_, 3.0f));
  auto options = Options({train::StopAtStep(2)});
  options.summary_dir = "/logs";
  options.save_summaries_steps = 1;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_THAT(EventsIn(files_, "/logs"),
              ElementsAre("start at 1", "loss at 1", "loss at 2"));
}

// As TensorFlow's CheckpointSaverHook, which writes to its own directory.
TEST_F(MonitoredSessionTest, SaveEventsAreWrittenBesideCheckpoints) {
  ops::ScalarSummary(root_, "loss", ops::Const(root_, 3.0f));
  auto options = Options({train::StopAtStep(1)});
  options.summary_dir = "/logs";
  options.checkpoint_dir = "/job";
  options.save_summaries_steps = 1;
  ASSERT_OK(Train(std::move(options)));
  EXPECT_THAT(EventsIn(files_, "/logs"),
              ElementsAre("start at 1", "loss at 1"));
  EXPECT_THAT(EventsIn(files_, "/job"),

              testing::UnorderedElementsAre("graph", "meta graph",
                                            "/job/model.ckpt at 0",
                                            "/job/model.ckpt at 1"));
}

// ---- Threads that do not stop ----

// Its thread ends when it is let, not when it is asked to.
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

TEST_F(MonitoredSessionTest, HungThreadIsNamedAndAbandoned) {
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
  // Its objects live as long as it runs.
  hook->Release();
  EXPECT_THAT(hook->last_run, StatusIs(kFailedPrecondition, "closed"));
}

// ---- Traces ----

TEST_F(MonitoredSessionTest, ProfilerTracesRunsPeriodically) {
  RecordingLogger log;
  auto profiler = std::make_shared<train::ProfilerHook>(train::ProfilerOptions{
      .save_steps = 2, .output_dir = "/job/profile", .logger = &log});
  ASSERT_OK(Train(Options({train::StopAtStep(5), profiler})));
  EXPECT_THAT(EventsIn(files_, "/job/profile"),
              ElementsAre("step_2 at 2: 1 devices", "step_4 at 4: 1 devices"));
  ASSERT_OK_AND_ASSIGN(const std::string timeline,
                       files_.ReadFile("/job/profile/timeline-4.json"));
  EXPECT_THAT(timeline, HasSubstr("AssignAdd"));
  EXPECT_THAT(
      log.lines(),
      ElementsAre(
          "I Saving timeline for 2 into '/job/profile/timeline-2.json'.",
          "I Saving timeline for 4 into '/job/profile/timeline-4.json'."));
}

// TensorBoard would read the newer of two.
TEST_F(MonitoredSessionTest, ProfilerWritesIntoTheSummaryFile) {
  const auto new_profiler = [](const std::string& directory) {
    return std::make_shared<train::ProfilerHook>(
        train::ProfilerOptions{.save_steps = 2, .output_dir = directory});
  };
  auto options = Options({train::StopAtStep(3), new_profiler("/job/")});
  options.chief_only_hooks = {new_profiler("/summaries"),
                              new_profiler("/elsewhere")};
  options.checkpoint_dir = "/job";
  options.summary_dir = "/summaries";
  ASSERT_OK(Train(std::move(options)));
  for (const std::string directory : {"/job", "/summaries", "/elsewhere"}) {
    ASSERT_OK_AND_ASSIGN(const auto names, files_.ListDirectory(directory));
    EXPECT_EQ(absl::c_count_if(names,
                               [](const std::string& name) {
                                 return absl::StartsWith(name, "events.out");
                               }),
              1)
        << directory;
    EXPECT_THAT(EventsIn(files_, directory),
                testing::Contains("step_2 at 2: 1 devices"));
  }
}

TEST_F(MonitoredSessionTest, ProfilerWriteErrorIsLogged) {
  ASSERT_OK(
      files_.CreateDirectories("/job/profile/timeline-2.json/in the way"));
  RecordingLogger log;
  auto profiler = std::make_shared<train::ProfilerHook>(train::ProfilerOptions{
      .save_steps = 2, .output_dir = "/job/profile", .logger = &log});
  ASSERT_OK(Train(Options({train::StopAtStep(2), profiler})));
  EXPECT_THAT(log.lines(), testing::Contains(testing::StartsWith(
                               "W The trace of step 2 was not written: ")));
}

TEST_F(MonitoredSessionTest, ProfilerOptionsAreChecked) {
  for (const train::ProfilerOptions& bad :
       {train::ProfilerOptions{.save_steps = 2},
        train::ProfilerOptions{.output_dir = "/job"},
        train::ProfilerOptions{.save_steps = 2,
        .save_secs = absl::Seconds(2),
        .output_dir = "/job"}}) {
    EXPECT_THAT(
        MonitoredTrainingSession(
            root_, Options({std::make_shared<train::ProfilerHook>(bad)})),
        StatusIs(kInvalidArgument));
  }
}

// Requests of the caller and of hooks are combined, and all get the result.
TEST_F(MonitoredSessionTest, RunMetadataServesAllRequesters) {
  Lines lines;
  auto hook = std::make_shared<RecordingHook>("hook", lines);
  hook->args.options.trace_level = TraceLevel::kFullTrace;
  const auto session = Start(Options({hook}));
  ASSERT_NE(session, nullptr);
  RunMetadata metadata;
  ASSERT_OK(
      session->Run({}, count_, {.output_partition_graphs = true}, &metadata));
  EXPECT_EQ(metadata.partition_graphs.size(), 1u);
  EXPECT_EQ(metadata.step_stats.dev_stats.size(), 1u);
  EXPECT_EQ(hook->metadata, metadata);
}

// ---- Scaffold ----

TEST_F(MonitoredSessionTest, UninitializedVariablesAreNamed) {
  ops::Variable(root_.WithName("forgotten"), 1.0f);
  train::ScaffoldOptions scaffold;
  scaffold.init_op = step_.initializer();
  auto options = Options();
  options.scaffold = std::make_shared<train::Scaffold>(scaffold);
  const absl::Status status =
      MonitoredTrainingSession(root_, std::move(options)).status();
  EXPECT_THAT(status, StatusIs(kFailedPrecondition));
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("Init operations did not make model ready"),
                     HasSubstr("Variables not initialized: forgotten")));
}

TEST_F(MonitoredSessionTest, InitOpMayBeFed) {
  const Output start = ops::Placeholder(root_.WithName("start"), DT_INT64,
                                        {.shape = PartialShape::Scalar()});
  train::ScaffoldOptions scaffold;
  scaffold.init_op = Operation(ops::Assign(root_, step_, start));
  scaffold.init_feeds = {{start, Tensor::Scalar(int64_t{41})}};
  auto options = Options();
  options.scaffold = std::make_shared<train::Scaffold>(scaffold);
  const auto session = Start(std::move(options));
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->Run(count_));
  ASSERT_OK_AND_ASSIGN(const Tensor step, session->Run(step_));
  EXPECT_EQ(step.scalar<int64_t>(), 42);
  EXPECT_OK(session->Close());
}

// For callers that initialize by themselves if there is no checkpoint.
TEST_F(MonitoredSessionTest, RecoverSessionReportsIfCheckpointExists) {
  train::Saver saver(root_);
  train::SessionManagerOptions options;
  options.ready_op = train::ReportUninitializedVariables(root_);
  options.logger = &logger_;
  train::SessionManager manager(root_, options);
  SessionOptions config;
  config.process = &process_;
  const train::SessionManager::Checkpoint newest{&saver, "/job", ""};
  ASSERT_OK_AND_ASSIGN(const auto bare,
                       manager.RecoverSession("", config, newest));
  EXPECT_FALSE(bare.is_initialized) << "there is no checkpoint";
  ASSERT_OK(bare.session->Run(step_.initializer()));
  ASSERT_OK(bare.session->Run(count_));
  ASSERT_OK(saver.Save(*bare.session, "/job/model", {.global_step = 1}));
  ASSERT_OK_AND_ASSIGN(const auto restored,
                       manager.RecoverSession("", config, newest));
  EXPECT_TRUE(restored.is_initialized);
  ASSERT_OK_AND_ASSIGN(const Tensor step, restored.session->Run(step_));
  EXPECT_EQ(step.scalar<int64_t>(), 1);
  ASSERT_OK_AND_ASSIGN(
      const auto named,
      manager.RecoverSession("", config, {&saver, "", "/job/model-1"}));
  EXPECT_TRUE(named.is_initialized);
  EXPECT_THAT(
      manager.RecoverSession("", config, {&saver, "", "/job/model-2"}).status(),
      StatusIs(absl::StatusCode::kNotFound, "/job/model-2 failed"));
}

TEST_F(MonitoredSessionTest, UninitializedReportNamesMatchTensorFlow) {
  const ops::Variable x(root_.WithName("x"), 1.0f);
  const ops::Variable local(
      root_.WithName("y"), 1.0f,
      {.collections = {std::string(collection::kLocalVariables)},
       .use_resource = false});
  const Output report = train::ReportUninitializedVariables(root_);
  ASSERT_TRUE(report);
  EXPECT_EQ(report.name(),
            "report_uninitialized_variables/boolean_mask/GatherV2:0");
  ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root_));
  ASSERT_OK_AND_ASSIGN(const Tensor all, session->Run(report));
  EXPECT_THAT(all.flat<std::string>(), ElementsAre("global_step", "x", "y"));
  ASSERT_OK(session->Run(x.initializer()));
  ASSERT_OK_AND_ASSIGN(const Tensor rest, session->Run(report));
  EXPECT_THAT(rest.flat<std::string>(), ElementsAre("global_step", "y"));
}

TEST_F(MonitoredSessionTest, LocalVariablesAreInitializedToo) {
  const ops::Variable local(
      root_.WithName("local"), 7.0f,
      {.collections = {std::string(collection::kLocalVariables)}});
  const auto session = Start(Options());
  ASSERT_NE(session, nullptr);
  ASSERT_OK_AND_ASSIGN(const Tensor value, session->Run(local));
  EXPECT_EQ(value.scalar<float>(), 7.0f);
}

// ---- Queue runners and threads ----

class QueueRunnerTest : public MonitoredSessionTest {
 protected:
  // Counts up to `limit` in a queue of two places.
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

TEST_F(QueueRunnerTest, FillsUntilTheInputEnds) {
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

// The runner waits for room in the queue when training ends.
TEST_F(QueueRunnerTest, IsCancelledWhenTrainingEnds) {
  AddCounter(1000);
  const auto session = Start(Options());
  ASSERT_NE(session, nullptr);
  ASSERT_OK_AND_ASSIGN(const Tensor first, session->Run(dequeue_));
  EXPECT_EQ(first.scalar<int64_t>(), 0);
  EXPECT_OK(session->Close());
}

TEST_F(QueueRunnerTest, RoundTripsThroughMetaGraph) {
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

// The error closes the queue; the run that waits for an element treats that as
// the end of the input.
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

TEST_F(QueueRunnerTest, ClosesQueueAtEndOfInputByDefault) {
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
  options.config.operation_timeout = absl::Minutes(1);  // instead of for ever
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

TEST_F(QueueRunnerTest, NeedsEnqueueOps) {
  const Output queue = ops::FIFOQueue(root_, {DT_FLOAT});
  train::QueueRunner runner;
  runner.queue = queue;
  train::AddQueueRunner(root_, runner);
  EXPECT_THAT(root_.status(), StatusIs(kInvalidArgument));
}

}  // namespace
}  // namespace weft
