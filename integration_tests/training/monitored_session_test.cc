// Tests MonitoredSession with sessions in this process: the order of calls,
// what hooks add to a run, and what a Scaffold initializes.
#include "libs/train/sessions/monitored_session.h"

#include <signal.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "integration_tests/testing/monitored_session_test.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/train/sessions/session_manager.h"

namespace weft::monitored_session_tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using train::MonitoredSession;
using train::MonitoredTrainingSession;
using train::MonitoredTrainingSessionOptions;

constexpr auto kFailedPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kInvalidArgument = absl::StatusCode::kInvalidArgument;

// ---- Hooks in general ----

// The expected order of calls is that of TensorFlow's monitored_session.py.
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

TEST_F(MonitoredSessionTest, StopRequestOfHookEndsTheLoop) {
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
    // The destructor of MonitoredSession calls the hooks, too.
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

// Within a step function, methods of the MonitoredSession itself are rejected.
// They might replace a lost session, and so destroy the session that the
// function uses.
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

// A hook that reports the loss of the session when the test requests it.
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

TEST_F(MonitoredSessionTest, SessionIsRecoveredAfterStepFunction) {
  auto hook = std::make_shared<LosingHook>();
  const auto session = Start(Options({hook}));
  ASSERT_NE(session, nullptr);
  ASSERT_OK(session->RunStepFn(
      [&](MonitoredSession::StepContext& context) -> absl::Status {
        hook->Lose();
        EXPECT_TRUE(session->ShouldStop());
        // the session is not replaced yet
        return context.session().Run(count_);
      }));
  EXPECT_EQ(hook->num_sessions, 1);
  EXPECT_FALSE(session->ShouldStop());
  ASSERT_OK(session->Run(count_));
  EXPECT_EQ(hook->num_sessions, 2);
  EXPECT_OK(session->Close());
}

TEST_F(MonitoredSessionTest, StopRequestSavesAndExits) {
  bool terminate = false;  // set by the test in place of a signal
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

// A hook that uses its own MonitoredSession by mistake, which could create
// sessions recursively without end.
class UsingHook : public train::SessionRunHook {
 public:
  absl::Status AfterCreateSession(Session&, train::Coordinator&) override {
    return Use();
  }
  absl::Status End(Session&) override { return Use(); }
  void BeforeSessionDestroyed() override { EXPECT_OK(Use()); }
  MonitoredSession* session = nullptr;
  int num_uses = 0;

 private:
  absl::Status Use() {
    // the session is being created
    if (session == nullptr) return absl::OkStatus();
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
  EXPECT_FALSE(session->ShouldStop());  // releases the lost session
  EXPECT_EQ(hook->num_uses, 1);
  ASSERT_OK(session->Run(count_));
  EXPECT_EQ(losing->num_sessions, 2);
  EXPECT_EQ(hook->num_uses, 2);
  ASSERT_OK(session->Close());
  EXPECT_EQ(hook->num_uses, 4);
}

// A hook whose End fails twice, as if the connection were lost briefly.
class LateEndHook : public train::SessionRunHook {
 public:
  absl::Status End(Session&) override {
    return ++num_calls <= 2 ? absl::UnavailableError("lost") : absl::OkStatus();
  }
  int num_calls = 0;
};

TEST_F(MonitoredSessionTest, StoppingSessionRetriesHookEnd) {
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

TEST_F(MonitoredSessionTest, SessionsAreDeclaredAsMonitored) {
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
    // Stops the worker, because only a worker waits for its chief.
    options.stop_requested = [&] { return !is_chief && num_made > 0; };
    (void)MonitoredTrainingSession(root_, std::move(options));
    EXPECT_GE(num_made, 1);
  }
}

TEST_F(MonitoredSessionTest, InvalidDurationsAreRejected) {
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

TEST_F(MonitoredSessionTest, GraphIsFinalized) {
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
  // A saver that the program sets in the Scaffold takes precedence.
  auto own = std::make_shared<train::Saver>(root_);
  train::Scaffold third({.saver = own});
  ASSERT_OK(third.Finalize(root_));
  EXPECT_EQ(third.saver(), own);
}

// Another program imports the graph that was saved beside the checkpoints, and
// continues training with its saver.
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
  // A saver in a collection is ignored if its nodes are not in the graph.
  const Scope other = Scope::Root();
  train::GetOrCreateGlobalStep(other);
  train::CollectSaver(other, one.def());
  EXPECT_THAT(train::Scaffold().Finalize(other),
              StatusIs(kInvalidArgument, "save/Const:0"));
}

// A node has the name of the uninitialized-variables report, but another type.
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

TEST(SessionManagerTest, ErrorNamesTheLostTask) {
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

// ---- Scaffold ----

TEST_F(MonitoredSessionTest, UninitializedVariablesAreNamedInError) {
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

// RecoverSession reports whether there was a checkpoint, so that the caller can
// initialize variables otherwise.
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

}  // namespace
}  // namespace weft::monitored_session_tests
