// Tests a session whose graph is extended while the coordinator's answers are
// delayed.
#include "libs/master/master_session.h"

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/import/graph_def.h"
#include "libs/master/master.h"
#include "libs/ops/standard_ops.h"
#include "libs/protocol/master/blocking_master.h"
#include "libs/protocol/testing/recording_coordinator.h"
#include "libs/protocol/testing/recording_worker.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

constexpr char kTask[] = "/job:worker/replica:0/task:0";
constexpr char kDevice[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kPsDevice[] = "/job:ps/replica:0/task:0/device:CPU:0";

class TwoTasks : public protocol::WorkerDirectory {
 public:
  TwoTasks(protocol::Worker& worker, protocol::Worker& ps)
      : worker_(worker), ps_(ps) {}
  // If false, Find throws.
  bool has_memory = true;

  protocol::Worker* Find(const std::string& task) override {
    if (!has_memory) throw std::bad_alloc();
    if (task == kPs) return &ps_;
    return task == kTask ? &worker_ : nullptr;
  }
  std::vector<std::string> Tasks() const override { return {kPs, kTask}; }

 private:
  protocol::Worker& worker_;
  protocol::Worker& ps_;
};

// The bytes of a GraphDef: x = Placeholder; y = Identity(x), say.
std::string Nodes(const std::string& placeholder, const std::string& identity) {
  Graph graph(StandardOps());
  auto x = graph.AddNode({.name = placeholder,
                          .op = "Placeholder",
                          .attrs = {{"dtype", DT_FLOAT}}});
  EXPECT_OK(x);
  EXPECT_OK(
      graph.AddNode({.name = identity, .op = "Identity", .inputs = {{*x, 0}}}));
  return ExportGraphDef(graph).value();
}

class MasterSessionTest : public ::testing::Test {
 protected:
  using Extended = absl::StatusOr<protocol::ExtensionResult>;
  using Made = absl::StatusOr<uint64_t>;

  void SetUp() override {
    coordinator_.placement_reply.devices = {kDevice, kDevice};
    ASSERT_OK_AND_ASSIGN(session_, NewSession());
  }

  // Answers held calls, and retries, until the test is over.
  void TearDown() override {
    coordinator_.hold = worker_.hold = ps_.hold = false;
    while (coordinator_.num_held() > 0) coordinator_.Release();
    while (!worker_.held.empty()) ReleaseFirst(worker_);
    while (!ps_.held.empty()) ReleaseFirst(ps_);
    scheduler_.RunUntilIdle();
  }
  static void ReleaseFirst(protocol::RecordingWorker& worker) {
    auto release = std::move(worker.held.front());
    worker.held.pop_front();
    release();
  }

  std::shared_ptr<Master> NewMaster() {
    return std::make_shared<Master>(MasterOptions{
        .scheduler = &scheduler_,
        .random = random_.get(),
        .ops = StandardOps(),
        .directory = &directory_,
        .coordinator = &coordinator_,
        .task = kTask,
        .incarnation = 7,
        .device_types =
            [](const Node&) { return std::vector<std::string>{"CPU"}; },
        .log_waits_after = log_waits_after_,
        .max_sessions = 300,
        .logger = &logger_});
  }
  protocol::BlockingMaster Ask() { return {*master_, scheduler_}; }
  Made NewSession(const protocol::SessionConfig& config = {}) {
    return Ask().CreateSession(config);
  }

  // Does not wait; runs as far as possible without advancing the time.
  void Extend(int64_t from_version, const std::string& nodes, Extended* result,
              Cancellation* client = nullptr) {
    *result = absl::UnknownError("not answered yet");
    master_->ExtendSession(session_, {nodes, from_version}, client,
                           [this, result](Extended extended) {
                             *result = std::move(extended);
                             order_.push_back(result);
                           });
    scheduler_.RunUntilIdle();
  }
  void Make(const protocol::CallableSpec& spec, Made* result,
            Cancellation* client = nullptr) {
    *result = absl::UnknownError("not answered yet");
    master_->MakeCallable(session_, spec, client,
                          [result](Made made) { *result = std::move(made); });
    scheduler_.RunUntilIdle();
  }
  void Close(absl::Status* closed) {
    *closed = absl::UnknownError("not closed yet");
    master_->CloseSession(session_,
                          [closed](absl::Status status) { *closed = status; });
    scheduler_.RunUntilIdle();
  }

  void Release() {
    coordinator_.Release();
    scheduler_.RunUntilIdle();
  }

  // Feeds 2 to `feed` and expects the same value from `fetch`.
  absl::Status Run(const std::string& feed, const std::string& fetch) {
    ASSIGN_OR_RETURN(
        const uint64_t callable,
        Ask().MakeCallable(session_, {.feeds = {feed}, .fetches = {fetch}}));
    const std::vector<Tensor> feeds = {Tensor::Scalar(2.0f)};
    std::vector<Tensor> fetches(1);
    absl::Status status = absl::UnknownError("the step has not ended");
    master_->RunCallable(
        session_, callable,
        {.feeds = feeds, .fetches = absl::MakeSpan(fetches)},
        [&](absl::Status ended) { status = std::move(ended); });
    RETURN_IF_ERROR(status);
    EXPECT_EQ(fetches[0].scalar<float>(), 2);
    return status;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  protocol::RecordingWorker worker_;
  protocol::RecordingWorker ps_;
  protocol::RecordingCoordinator coordinator_;
  RecordingLogger logger_;
  TwoTasks directory_{worker_, ps_};
  absl::Duration log_waits_after_ = MasterOptions().log_waits_after;
  std::shared_ptr<Master> master_ = NewMaster();
  uint64_t session_ = 0;
  std::vector<const Extended*> order_;  // in which extensions were answered
};

TEST_F(MasterSessionTest, CallableWithoutMemoryIsAnError) {
  Extended extended;
  Extend(0, Nodes("x", "y"), &extended);
  ASSERT_OK(extended);
  directory_.has_memory = false;
  Made made;
  Make({.feeds = {"x:0"}, .fetches = {"y:0"}}, &made);
  EXPECT_THAT(made, StatusIs(absl::StatusCode::kResourceExhausted));
  directory_.has_memory = true;
  EXPECT_OK(Run("x:0", "y:0"));
}

TEST_F(MasterSessionTest, OldVersionRunsDuringAnExtension) {
  Extended first, second;
  Extend(0, Nodes("x", "y"), &first);
  ASSERT_OK(first);
  coordinator_.hold = true;
  Extend(1, Nodes("a", "b"), &second);
  ASSERT_EQ(coordinator_.num_held(), 1u);
  EXPECT_OK(Run("x:0", "y:0"));
  EXPECT_THAT(Run("a:0", "b:0"), StatusIs(absl::StatusCode::kInvalidArgument,
                                          "node 'a' is still being placed"));
  EXPECT_THAT(Ask().MakeCallable(session_, {.targets = {"b"}}),
              StatusIs(absl::StatusCode::kNotFound, "b"));
  Release();
  ASSERT_OK(second);
  EXPECT_EQ(second->version, 2);
  EXPECT_OK(Run("a:0", "b:0"));
  EXPECT_OK(Run("x:0", "y:0"));
}

// A search of all nodes for each target would take long.
TEST_F(MasterSessionTest, OnlyTheFirstUnknownTargetsGetSuggestions) {
  Extended extended;
  Extend(0, Nodes("input_one", "output_one"), &extended);
  ASSERT_OK(extended);
  const protocol::CallableSpec spec{
      .targets = {"inptu_one", "oputput_one", "input_1ne", "outputone"}};
  const absl::Status status = Ask().MakeCallable(session_, spec).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, "outputone"));
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound,
                               "Did you mean \"input_one\"? Did you mean "
                               "\"output_one\"? Did you mean \"input_one\"?"));
  const std::string text(status.message());
  size_t num_suggestions = 0;
  for (size_t at = 0; (at = text.find("Did you mean", at)) != text.npos; ++at) {
    ++num_suggestions;
  }
  EXPECT_EQ(num_suggestions, 3u);
}

TEST_F(MasterSessionTest, EndlessStepDoesNotHideFinishedSteps) {
  constexpr int kSteps = 5000;
  Extended extended;
  Extend(0, Nodes("x", "y"), &extended);
  ASSERT_OK(extended);
  ASSERT_OK_AND_ASSIGN(const uint64_t callable,
                       Ask().MakeCallable(session_, {.targets = {"x"}}));
  int num_ended = 0;
  const auto run = [&] {
    master_->RunCallable(session_, callable, {},
                         [&](const absl::Status&) { ++num_ended; });
  };
  worker_.hold_runs = true;
  run();
  worker_.hold_runs = false;
  for (int i = 0; i < kSteps; ++i) run();
  worker_.hold_runs = true;
  run();
  ASSERT_EQ(worker_.running.size(), 2u);
  const uint64_t first = worker_.running[0].step.step;
  const protocol::PartitionStep& last = worker_.running[1].step;
  EXPECT_EQ(last.steps_finished_below, first);
  ASSERT_NE(last.more_finished, nullptr);
  EXPECT_GT(last.more_finished->below, last.step);
  EXPECT_THAT(last.more_finished->running, ElementsAre(first, last.step));
  worker_.EndRun();
  worker_.EndRun();
  EXPECT_EQ(num_ended, kSteps + 2);
}

TEST_F(MasterSessionTest, OtherSessionsExtendMeanwhile) {
  Extended first;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  ASSERT_EQ(coordinator_.num_held(), 1u);
  const uint64_t held = std::exchange(session_, 0);
  coordinator_.hold = false;
  ASSERT_OK_AND_ASSIGN(session_, NewSession());
  Extended other;
  Extend(0, Nodes("x", "y"), &other);
  ASSERT_OK(other);
  EXPECT_OK(Run("x:0", "y:0"));
  Release();
  session_ = held;
  EXPECT_OK(Run("x:0", "y:0"));
}

TEST_F(MasterSessionTest, ExtensionsArePlacedInArrivalOrder) {
  Extended first, second, third;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(1, Nodes("a", "b"), &second);
  Extend(2, Nodes("c", "d"), &third);
  ASSERT_EQ(coordinator_.num_held(), 1u) << "one at a time";
  Release();
  ASSERT_EQ(coordinator_.num_held(), 1u);
  Release();
  Release();
  EXPECT_EQ(order_, (std::vector<const Extended*>{&first, &second, &third}));
  ASSERT_OK(third);
  EXPECT_EQ(third->version, 3);
  EXPECT_OK(Run("c:0", "d:0"));
}

TEST_F(MasterSessionTest, SecondExtensionOfAVersionIsRefused) {
  Extended first, second;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(0, Nodes("a", "b"), &second);
  Release();
  EXPECT_OK(first);
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kAborted,
                               "Current version is 1 but caller expected 0"));
}

// Its client has retried, because the answer was late.
TEST_F(MasterSessionTest, ResentExtensionIsPlacedOnce) {
  Extended first, again;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(0, Nodes("x", "y"), &again);
  Release();
  ASSERT_OK(first);
  ASSERT_OK(again);
  EXPECT_EQ(again->version, 1);
  EXPECT_EQ(coordinator_.placements.size(), 1u);
}

TEST_F(MasterSessionTest, RefusedExtensionKeepsTheOldVersion) {
  Extended first, second;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(0, Nodes("x", "z"), &second);
  coordinator_.answer = absl::InvalidArgumentError("no such device");
  Release();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kInvalidArgument, "no such"));
  coordinator_.answer = absl::OkStatus();
  Release();
  ASSERT_OK(second);
  EXPECT_EQ(second->version, 1);
  EXPECT_OK(Run("x:0", "z:0"));
  EXPECT_THAT(Run("x:0", "y:0"),
              StatusIs(absl::StatusCode::kInvalidArgument, "y"));
}

TEST_F(MasterSessionTest, QueuedExtensionTimesOut) {
  ASSERT_OK_AND_ASSIGN(session_,
                       NewSession({.operation_timeout = absl::Seconds(3)}));
  Extended first, second;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(1, Nodes("a", "b"), &second);
  scheduler_.AdvanceBy(absl::Seconds(4));
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kDeadlineExceeded,
                               "An earlier extension"));
  Release();
  EXPECT_OK(first);
}

TEST_F(MasterSessionTest, SessionEndIsResentUntilAcknowledged) {
  Extended extended;
  Extend(0, Nodes("x", "y"), &extended);
  ASSERT_OK(extended);
  ASSERT_OK(Run("x", "y"));
  worker_.num_losses = 2;
  EXPECT_OK(Ask().CloseSession(session_));
  EXPECT_EQ(worker_.num_losses, 0);
  EXPECT_EQ(worker_.deleted.size(), 3u);
}

TEST_F(MasterSessionTest, OverloadedTaskIsNotifiedOfTheEndLater) {
  Extended extended;
  Extend(0, Nodes("x", "y"), &extended);
  ASSERT_OK(extended);
  ASSERT_OK(Run("x", "y"));
  worker_.num_losses = 2;
  worker_.loss = absl::ResourceExhaustedError("too many requests");
  EXPECT_OK(Ask().CloseSession(session_));
  EXPECT_EQ(worker_.num_losses, 0);
  EXPECT_EQ(worker_.deleted.size(), 3u);
}

// For example a stopping task: it is connected, and refuses.
TEST_F(MasterSessionTest, RefusingTaskIsRetriedWithBackoff) {
  Extended extended;
  Extend(0, Nodes("x", "y"), &extended);
  ASSERT_OK(Run("x", "y"));
  worker_.num_losses = 1000000;
  absl::Status closed;
  Close(&closed);
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_OK(closed);
  scheduler_.AdvanceBy(absl::Minutes(2));
  EXPECT_GE(worker_.deleted.size(), 10u);
  EXPECT_LE(worker_.deleted.size(), 60u);
  scheduler_.AdvanceBy(absl::Minutes(10));
  const size_t at_last = worker_.deleted.size();
  scheduler_.AdvanceBy(absl::Minutes(10));
  EXPECT_EQ(worker_.deleted.size(), at_last);
}

TEST_F(MasterSessionTest, DisconnectedClientCancelsItsExtension) {
  Extended first, second, third;
  Cancellation client;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first, &client);
  Extend(0, Nodes("a", "b"), &second, &client);  // queued
  Extend(0, Nodes("x", "z"), &third);
  client.Cancel(absl::UnavailableError("the connection was lost"));
  scheduler_.RunUntilIdle();
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  ASSERT_EQ(coordinator_.num_held(), 2u);
  Release();  // of the first, which has no waiting caller
  EXPECT_THAT(third, StatusIs(absl::StatusCode::kUnknown));
  Release();
  ASSERT_OK(third);
  EXPECT_EQ(third->version, 1);
  EXPECT_OK(Run("x:0", "z:0"));
}

TEST_F(MasterSessionTest, CloseCancelsWaitingExtensions) {
  Extended first, second;
  absl::Status closed;
  coordinator_.hold = true;
  Extend(0, Nodes("x", "y"), &first);
  Extend(1, Nodes("a", "b"), &second);
  Close(&closed);
  EXPECT_OK(closed);
  EXPECT_THAT(first, StatusIs(absl::StatusCode::kCancelled, "Session::Close"));
  EXPECT_THAT(second, StatusIs(absl::StatusCode::kCancelled, "Session::Close"));
  EXPECT_EQ(master_->num_sessions(), 0);
}

// Its index would be that of a fetch that the run does not have.
TEST_F(MasterSessionTest, ClientMayNotSendPartitionOps) {
  Graph graph(StandardOps());
  ASSERT_OK_AND_ASSIGN(
      const Node* x,
      graph.AddNode(
          {.name = "x", .op = "Placeholder", .attrs = {{"dtype", DT_FLOAT}}}));
  ASSERT_OK(graph.AddNode({.name = "ret",
                           .op = "_Retval",
                           .inputs = {{x, 0}},
                           .attrs = {{"index", int64_t{1000000}}}}));
  Extended refused, extended;
  Extend(0, ExportGraphDef(graph).value(), &refused);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInvalidArgument,
                                "Node 'ret': the op _Retval"));
  Extend(0, Nodes("x", "y"), &extended);
  EXPECT_OK(extended);
}

// A callable of two tasks; the ps, which comes first, is connected.
class TwoTasksTest : public MasterSessionTest {
 protected:
  void SetUp() override {
    MasterSessionTest::SetUp();
    coordinator_.placement_reply.devices = {kPsDevice, kDevice};
    Extended extended;
    Extend(0, Nodes("x", "y"), &extended);
    ASSERT_OK(extended);
  }
  const protocol::CallableSpec spec_{.fetches = {"y:0"}};
};

// A task that has ended its part may still send values for the step.
TEST_F(TwoTasksTest, FailedStepIsAbortedWhereItHasEnded) {
  ASSERT_OK_AND_ASSIGN(const uint64_t callable,
                       Ask().MakeCallable(session_, {.targets = {"y"}}));
  worker_.hold_runs = ps_.hold_runs = true;
  for (const bool fails : {false, true}) {
    absl::Status ended = absl::UnknownError("the step has not ended");
    master_->RunCallable(session_, callable, {}, [&](absl::Status status) {
      ended = std::move(status);
    });
    scheduler_.RunUntilIdle();
    ASSERT_EQ(ps_.running.size(), 1u);
    const uint64_t step = ps_.running[0].step.step;
    ps_.EndRun();
    if (fails) worker_.answer = absl::InvalidArgumentError("failed");
    worker_.EndRun();
    worker_.answer = absl::OkStatus();
    scheduler_.RunUntilIdle();
    EXPECT_EQ(ended.ok(), !fails);
    EXPECT_TRUE(worker_.aborted.empty());
    ASSERT_EQ(ps_.aborted.size(), fails ? 1u : 0u);
    if (!fails) continue;
    EXPECT_EQ(ps_.aborted[0].step, (protocol::StepId{7, step}));
    EXPECT_TRUE(IsDerived(ps_.aborted[0].cause));
  }
}

// The clock of the ps is an hour ahead.
TEST_F(TwoTasksTest, TraceUsesTheMastersClock) {
  ASSERT_OK_AND_ASSIGN(const uint64_t callable,
                       Ask().MakeCallable(session_, {.targets = {"y"}}));
  worker_.hold_runs = ps_.hold_runs = true;
  RunMetadata metadata;
  absl::Status ended = absl::UnknownError("the step has not ended");
  const absl::Time begin = scheduler_.clock().Now();
  master_->RunCallable(session_, callable,
                       {.wanted = {.trace_level = TraceLevel::kFullTrace},
                        .metadata = &metadata},
                       [&](absl::Status status) { ended = std::move(status); });
  scheduler_.RunUntilIdle();
  // There it began after 2 ms, ran for 4 ms, and took 2 ms for the answer. The
  // trace of the ps is read 100 ms later.
  const auto tell = [&](protocol::RecordingWorker& task, const char* device,
                        absl::Duration ahead,
                        std::optional<absl::Time> answered = std::nullopt) {
    const absl::Time begun = begin + absl::Milliseconds(2) + ahead;
    task.trace = {.stats = {{{.device = device,
                              .node_stats = {{.start_nanos =
                                                  absl::ToUnixNanos(begun)}}}}},
                  .begun = begun,
                  .ended = begun + absl::Milliseconds(4),
                  .answered = answered};
    task.EndRun();
  };
  scheduler_.AdvanceBy(absl::Milliseconds(8));
  ASSERT_EQ(worker_.running.size(), 1u);
  ASSERT_EQ(ps_.running.size(), 1u);
  tell(worker_, kDevice, absl::ZeroDuration());
  const absl::Time answered = scheduler_.clock().Now();
  scheduler_.AdvanceBy(absl::Milliseconds(100));
  tell(ps_, kPsDevice, absl::Hours(1), answered);
  ASSERT_OK(ended);
  for (const DeviceStepStats& device : metadata.step_stats.dev_stats) {
    EXPECT_EQ(device.node_stats[0].start_nanos,
              absl::ToUnixNanos(begin + absl::Milliseconds(2)))
        << device.device;
  }
  ASSERT_EQ(metadata.step_stats.dev_stats.size(), 2u);
}

TEST_F(TwoTasksTest, EndedSessionIsNotCreatedOnTasks) {
  absl::Status closed = absl::UnknownError("not closed yet");
  ps_.on_created = [&] {
    master_->CloseSession(session_,
                          [&](const absl::Status& status) { closed = status; });
  };
  Made made;
  Make(spec_, &made);
  EXPECT_FALSE(made.ok());
  EXPECT_OK(closed);
  EXPECT_EQ(ps_.created.size(), 1u);
  EXPECT_EQ(ps_.deleted.size(), 1u);
  EXPECT_TRUE(worker_.created.empty());
  EXPECT_TRUE(ps_.registered.empty());
}

TEST_F(TwoTasksTest, LateTaskIsNotToldOfAClosedSession) {
  worker_.hold = true;
  Made made;
  absl::Status closed;
  Make(spec_, &made);
  EXPECT_THAT(made, StatusIs(absl::StatusCode::kUnknown, "not answered"));
  Close(&closed);
  EXPECT_THAT(made, StatusIs(absl::StatusCode::kCancelled, "Session::Close"));
  worker_.hold = false;
  while (!worker_.held.empty()) ReleaseFirst(worker_);
  scheduler_.RunUntilIdle();
  EXPECT_OK(closed);
  EXPECT_TRUE(worker_.created.empty());
}

TEST_F(TwoTasksTest, CallableOfDisconnectedClientIsDropped) {
  worker_.hold_registers = true;
  Cancellation client;
  Made made;
  Make(spec_, &made, &client);
  ASSERT_EQ(ps_.registered.size(), 1u);
  client.Cancel(absl::UnavailableError("the connection was lost"));
  scheduler_.RunUntilIdle();
  EXPECT_THAT(made, StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  EXPECT_EQ(ps_.deregistered.size(), 1u);
  EXPECT_EQ(worker_.deregistered.size(), 1u);
  worker_.hold_registers = false;
  ReleaseFirst(worker_);
  Make(spec_, &made);
  EXPECT_OK(made);
}

// Nothing of it is kept, and once there is memory it can be made.
TEST_F(TwoTasksTest, CallableExceedingMemoryIsRefused) {
  ps_.new_variables.Add("table", 100);
  ps_.new_variables.available.task = 99;
  Made made;
  Make(spec_, &made);
  EXPECT_THAT(made, StatusIs(absl::StatusCode::kResourceExhausted,
                             absl::StrCat(kPs, " needs 100 bytes")));
  ASSERT_EQ(ps_.registered.size(), 1u);
  EXPECT_TRUE(ps_.registered[0].wants_new_variables);
  EXPECT_EQ(ps_.deregistered.size(), 1u);
  EXPECT_EQ(worker_.deregistered.size(), 1u);
  EXPECT_EQ(ps_.num_runs + worker_.num_runs, 0);
  Make(spec_, &made);
  EXPECT_THAT(made, StatusIs(absl::StatusCode::kResourceExhausted));
  ps_.new_variables.available.task = 100;
  Make(spec_, &made);
  EXPECT_OK(made);
}

TEST_F(TwoTasksTest, SessionsCloseConcurrently) {
  ps_.on_created = [this] { ps_.hold = true; };  // its connection is lost
  std::vector<uint64_t> sessions = {session_};
  ASSERT_OK(Ask().MakeCallable(session_, spec_));
  for (int i = 0; i < 2; ++i) {
    ps_.hold = false;
    Extended extended;
    ASSERT_OK_AND_ASSIGN(session_, NewSession());
    Extend(0, Nodes("x", "y"), &extended);
    ASSERT_OK(extended);
    ASSERT_OK(Ask().MakeCallable(session_, spec_));
  }
  const absl::Time begin = clock_.Now();
  master_->Drain(clock_.Now());
  EXPECT_EQ(clock_.Now() - begin, absl::Seconds(2));
  EXPECT_EQ(ps_.deleted.size(), 3u);
}

// The caller of close is answered even if the tasks never answer.
TEST_F(TwoTasksTest, CloseWaitingForTasksEndsWithTheMaster) {
  ASSERT_OK(Ask().MakeCallable(session_, spec_));
  ps_.hold = true;
  absl::Status closed;
  Close(&closed);
  EXPECT_THAT(closed, StatusIs(absl::StatusCode::kUnknown, "not closed yet"));
  const absl::Time begin = clock_.Now();
  master_.reset();
  EXPECT_EQ(clock_.Now(), begin);
  EXPECT_OK(closed);
  EXPECT_EQ(ps_.deleted.size(), 1u);
}

TEST_F(MasterSessionTest, SlowPlacementIsRequestedOnce) {
  Extended extended;
  coordinator_.hold_placements = true;
  const absl::Time begin = clock_.Now();
  Extend(0, Nodes("x", "y"), &extended);
  // Only the operation's own timeout ends it without an answer.
  EXPECT_EQ(coordinator_.placement_deadline - begin,
            MasterOptions().placement_timeout);
  coordinator_.answer = absl::DeadlineExceededError("ps:0 has not joined");
  scheduler_.AdvanceBy(absl::Seconds(21));  // after 5, 10 and 20 seconds
  EXPECT_EQ(coordinator_.placements.size(), 1u);
  ASSERT_EQ(logger_.lines().size(), 3u);
  for (const std::string& line : logger_.lines()) {
    EXPECT_EQ(line, absl::StrCat("I Still waiting to place nodes of session ",
                                 session_, ": ps:0 has not joined"));
  }
  coordinator_.answer = absl::OkStatus();
  Release();
  EXPECT_OK(extended);
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(logger_.lines().size(), 3u);
}

TEST_F(MasterSessionTest, DisabledWaitLogCoversTheCoordinator) {
  log_waits_after_ = absl::InfiniteDuration();
  master_ = NewMaster();
  ASSERT_OK_AND_ASSIGN(session_, NewSession());
  Extended extended;
  coordinator_.hold_placements = true;
  Extend(0, Nodes("x", "y"), &extended);
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(logger_.lines().size(), 0u);
  Release();
  EXPECT_OK(extended);
}

TEST_F(MasterSessionTest, UnavailableCoordinatorIsAskedAgain) {
  Extended extended;
  coordinator_.answer = absl::UnavailableError("no connection");
  Extend(0, Nodes("x", "y"), &extended);
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_THAT(extended, StatusIs(absl::StatusCode::kUnknown, "not answered"));
  EXPECT_GE(coordinator_.placements.size(), 5u);
  EXPECT_LE(coordinator_.placements.size(), 20u);
  coordinator_.answer = absl::OkStatus();
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_OK(extended);
}

// ---- partial runs ----

class OpenPartialRunTest : public MasterSessionTest {
 protected:
  void SetUp() override {
    MasterSessionTest::SetUp();
    Extended extended;
    Extend(0, Nodes("x", "y"), &extended);
    ASSERT_OK(extended);
    worker_.hold_runs = true;
    ASSERT_OK_AND_ASSIGN(partial_,
                         Ask().MakeCallable(session_, {.feeds = {"x:0"},
                                                       .fetches = {"y:0"},
                                                       .is_partial = true}));
    ASSERT_EQ(worker_.running.size(), 1u);
  }
  void TearDown() override {
    while (!worker_.running.empty()) worker_.EndRun();
    MasterSessionTest::TearDown();
  }
  // Requests the fetch, which is not there yet.
  void Call(absl::Status* answer) {
    *answer = absl::UnknownError("not answered yet");
    master_->RunCallable(
        session_, partial_,
        {.fetches = absl::MakeSpan(fetches_), .fetch_indices = fetch_indices_},
        [answer](absl::Status status) { *answer = status; });
  }
  // The task ends the step, as it was told to.
  void EndStep() {
    worker_.answer = absl::CancelledError("the step was cancelled");
    worker_.EndRun();
    worker_.answer = absl::OkStatus();
  }
  int NumWaitsLogged() const {
    return static_cast<int>(
        absl::c_count_if(logger_.lines(), [](const std::string& line) {
          return absl::StrContains(line, "has waited more than");
        }));
  }

  uint64_t partial_ = 0;
  std::vector<Tensor> fetches_{1};
  const std::vector<int> fetch_indices_ = {0};
};

TEST_F(OpenPartialRunTest, PartialRunWaitingForClientIsNotSlow) {
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(NumWaitsLogged(), 0);
  absl::Status answer;
  Call(&answer);
  scheduler_.AdvanceBy(absl::Seconds(4));
  EXPECT_EQ(NumWaitsLogged(), 0);
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_EQ(NumWaitsLogged(), 1);
  EndStep();
  EXPECT_FALSE(answer.ok());
}

TEST_F(OpenPartialRunTest, ADrainDoesNotWaitForItsClient) {
  worker_.running.front().step.cancellation->Register(
      [this](const absl::Status& cause) {
        EXPECT_THAT(cause,
                    StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
        scheduler_.Schedule(Pool::kCompute, [this] { EndStep(); });
      });
  const absl::Time begin = clock_.Now();
  master_->Drain(clock_.Now() + absl::Minutes(1));
  EXPECT_EQ(clock_.Now(), begin);
  EXPECT_TRUE(worker_.running.empty());
}

// As many sessions as the blocking pool has threads, and more.
TEST_F(MasterSessionTest, WaitingSessionsDoNotBlockOthers) {
  Extended first;
  Extend(0, Nodes("x", "y"), &first);
  ASSERT_OK(first);
  const uint64_t working = session_;
  coordinator_.hold = true;
  std::vector<Extended> waiting(200);
  for (Extended& result : waiting) {
    ASSERT_OK_AND_ASSIGN(session_, NewSession());
    Extend(0, Nodes("x", "y"), &result);
  }
  EXPECT_EQ(coordinator_.num_held(), 200u);
  session_ = working;
  EXPECT_OK(Run("x:0", "y:0"));
  ASSERT_OK_AND_ASSIGN(session_, NewSession());
  EXPECT_OK(Ask().CloseSession(session_));
  const absl::Time begin = clock_.Now();
  master_->Drain(clock_.Now() + absl::Minutes(1));
  EXPECT_EQ(clock_.Now(), begin);
  for (const Extended& result : waiting) {
    EXPECT_THAT(result,
                StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  }
  EXPECT_THAT(NewSession(),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
}

// Its own session is not monitored; `monitored_` is.
class DrainingMasterTest : public MasterSessionTest {
 protected:
  void SetUp() override {
    MasterSessionTest::SetUp();
    Extended extended;
    Extend(0, Nodes("x", "y"), &extended);
    ASSERT_OK(extended);
    ASSERT_OK_AND_ASSIGN(monitored_, NewSession({.is_monitored = true}));
  }
  void BeginDrain() {
    scheduler_.Schedule(Pool::kBlocking, [this] {
      master_->Drain(clock_.Now() + absl::Seconds(10));
      has_drained_ = true;
    });
    scheduler_.RunUntilIdle();
  }

  uint64_t monitored_ = 0;
  bool has_drained_ = false;
};

TEST_F(DrainingMasterTest, ServesMonitoredSessionsUntilTheyClose) {
  BeginDrain();
  EXPECT_FALSE(has_drained_);
  EXPECT_THAT(NewSession({.is_monitored = true}),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  EXPECT_THAT(Run("x:0", "y:0"),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  session_ = monitored_;
  Extended extended;
  Extend(0, Nodes("x", "y"), &extended);
  ASSERT_OK(extended);
  EXPECT_OK(Run("x:0", "y:0"));
  EXPECT_TRUE(worker_.created.back().options.is_monitored);
  EXPECT_FALSE(has_drained_);
  const absl::Time before = clock_.Now();
  absl::Status closed;
  Close(&closed);
  EXPECT_OK(closed);
  EXPECT_TRUE(has_drained_);
  EXPECT_EQ(clock_.Now(), before);
}

TEST_F(DrainingMasterTest, EndsMonitoredSessionsAtTheDeadline) {
  BeginDrain();
  session_ = monitored_;
  Extended extended;
  Extend(0, Nodes("x", "y"), &extended);
  ASSERT_OK(extended);
  scheduler_.AdvanceBy(absl::Seconds(9));
  EXPECT_FALSE(has_drained_);
  EXPECT_OK(Run("x:0", "y:0"));
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_TRUE(has_drained_);
  EXPECT_FALSE(Run("x:0", "y:0").ok());
  EXPECT_EQ(master_->num_sessions(), 0);
}

TEST_F(MasterSessionTest, NumberOfSessionsIsLimited) {
  while (master_->num_sessions() < 300) ASSERT_OK(NewSession());
  EXPECT_THAT(NewSession(), StatusIs(absl::StatusCode::kResourceExhausted,
                                     "300 sessions are open"));
  EXPECT_THAT(NewSession(), StatusIs(absl::StatusCode::kResourceExhausted,
                                     "raise max_sessions there"));
  EXPECT_OK(Ask().CloseSession(session_));
  EXPECT_OK(NewSession());
}

TEST_F(MasterSessionTest, DisconnectedClientCancelsItsReset) {
  Cancellation client;
  ps_.hold = true;
  absl::Status reset;
  master_->Reset({}, {}, &client, [&](absl::Status status) { reset = status; });
  scheduler_.RunUntilIdle();
  EXPECT_THAT(master_->CheckSession(session_),
              StatusIs(absl::StatusCode::kAborted));
  client.Cancel(absl::UnavailableError("the connection was lost"));
  EXPECT_THAT(reset, StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  ps_.hold = false;
  while (!ps_.held.empty()) ReleaseFirst(ps_);
  EXPECT_TRUE(ps_.cleared.empty());
  EXPECT_TRUE(coordinator_.forgotten.empty());
}

// A task may leave while the reset waits for it, or be known to have left only
// after a restarted coordinator learns of it.
TEST_F(MasterSessionTest, ResetDoesNotWaitForTasksThatLeft) {
  ps_.hold = true;
  absl::Status reset = absl::UnknownError("not answered yet");
  master_->Reset({}, {}, nullptr, [&](absl::Status status) { reset = status; });
  scheduler_.AdvanceBy(absl::Seconds(10));
  EXPECT_THAT(reset, StatusIs(absl::StatusCode::kUnknown));
  coordinator_.cluster.tasks.emplace_back();
  coordinator_.cluster.tasks[0].task = kPs;
  coordinator_.cluster.tasks[0].state = protocol::TaskState::kLeft;
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_OK(reset);
  EXPECT_EQ(worker_.cleared.size(), 1u);
  // A task that comes back has new containers.
  ps_.hold = false;
  while (!ps_.held.empty()) ReleaseFirst(ps_);
  EXPECT_TRUE(ps_.cleared.empty());
}

// A suspended task has received the request, and may resume later.
TEST_F(MasterSessionTest, CancelledResetIsCancelledOnTasks) {
  Cancellation client;
  ps_.hold_clears = true;
  absl::Status reset;
  master_->Reset({}, {}, &client, [&](absl::Status status) { reset = status; });
  scheduler_.RunUntilIdle();
  ASSERT_EQ(ps_.cleared.size(), 1u);
  const auto clearing = ps_.clearing.lock();
  ASSERT_NE(clearing, nullptr);
  EXPECT_FALSE(clearing->IsCancelled());
  client.Cancel(absl::UnavailableError("the connection was lost"));
  EXPECT_THAT(reset, StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  EXPECT_TRUE(clearing->IsCancelled());
}

// Tasks may answer after the master is gone.
TEST_F(MasterSessionTest, LateAnswersDoNotUseAnEndedMaster) {
  Extended extended;
  Extend(0, Nodes("x", "y"), &extended);
  ASSERT_OK(Run("x:0", "y:0"));
  coordinator_.hold = true;
  Extend(1, Nodes("a", "b"), &extended);
  worker_.hold = true;
  master_.reset();
  EXPECT_THAT(extended, StatusIs(absl::StatusCode::kCancelled));
  scheduler_.AdvanceBy(absl::Minutes(1));
}

// Otherwise it would place, and register, for a caller that is gone.
TEST_F(MasterSessionTest, CoordinatorIsToldOfACancelledCall) {
  coordinator_.hold = true;
  Extended extended;
  Cancellation client;
  Extend(0, Nodes("x", "y"), &extended, &client);
  const auto placement = coordinator_.last_cancellation.lock();
  ASSERT_NE(placement, nullptr);
  EXPECT_FALSE(placement->IsCancelled());
  client.Cancel(absl::CancelledError("gone"));
  scheduler_.RunUntilIdle();
  EXPECT_THAT(extended, StatusIs(absl::StatusCode::kCancelled, "gone"));
  EXPECT_TRUE(placement->IsCancelled());
}

// Steps of a callable that are held by a step of another master, with the nodes
// that a Saver of SaveConsistency::kStep adds (libs/passes/variable_saving.h).
std::string MarkNodes(int64_t max_hold_micros = 2000000) {
  Graph graph(StandardOps());
  auto v = graph.AddNode(
      {.name = "v",
       .op = "VarHandleOp",
       .attrs = {{"dtype", DT_FLOAT}, {"shape", PartialShape({})}}});
  EXPECT_OK(v);
  auto read = graph.AddNode({.name = "read",
                             .op = "ReadVariableOp",
                             .inputs = {{*v, 0}},
                             .attrs = {{"dtype", DT_FLOAT}}});
  EXPECT_OK(read);
  EXPECT_OK(graph.AddNode({.name = "mark",
                           .op = "IdentityN",
                           .inputs = {{*read, 0}},
                           .attrs = {{"_marks", std::string("0")},
                                     {"_max_hold_micros", max_hold_micros}}}));
  return ExportGraphDef(graph).value();
}

// All steps that write are held meanwhile.
TEST_F(MasterSessionTest, MarkingVariablesHasATimeLimit) {
  coordinator_.placement_reply.devices = {kDevice, kDevice, kDevice};
  Extended extended;
  Extend(0, MarkNodes(), &extended);
  ASSERT_OK(extended);
  ASSERT_OK_AND_ASSIGN(const uint64_t callable,
                       Ask().MakeCallable(session_, {.targets = {"mark"}}));
  worker_.hold_runs = true;
  absl::Status ended = absl::UnknownError("the step has not ended");
  master_->RunCallable(session_, callable, {},
                       [&](absl::Status status) { ended = std::move(status); });
  scheduler_.RunUntilIdle();
  ASSERT_EQ(worker_.running.size(), 1u);
  const std::shared_ptr<Cancellation> step =
      worker_.running[0].step.cancellation;
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_FALSE(step->IsCancelled());
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_TRUE(step->IsCancelled());
  worker_.answer = MarkDerived(absl::CancelledError("aborted"));
  worker_.EndRun();
  worker_.answer = absl::OkStatus();
  EXPECT_THAT(ended, StatusIs(absl::StatusCode::kDeadlineExceeded,
                              "not marked within 2s. Raise max_hold"));
}

// A user who allows no waiting for running steps still wants a checkpoint.
TEST_F(MasterSessionTest, MarkingIsAllowedWithoutHoldTime) {
  coordinator_.placement_reply.devices = {kDevice, kDevice, kDevice};
  Extended extended;
  Extend(0, MarkNodes(/*max_hold_micros=*/0), &extended);
  ASSERT_OK(extended);
  ASSERT_OK_AND_ASSIGN(const uint64_t callable,
                       Ask().MakeCallable(session_, {.targets = {"mark"}}));
  worker_.hold_runs = true;
  absl::Status ended = absl::UnknownError("the step has not ended");
  master_->RunCallable(session_, callable, {},
                       [&](absl::Status status) { ended = std::move(status); });
  scheduler_.RunUntilIdle();
  ASSERT_EQ(worker_.running.size(), 1u);
  scheduler_.AdvanceBy(absl::Milliseconds(500));
  EXPECT_FALSE(worker_.running[0].step.cancellation->IsCancelled());
  worker_.EndRun();
  scheduler_.RunUntilIdle();
  EXPECT_OK(ended);
}

class HeldStepsTest : public MasterSessionTest {
 protected:
  using Action = protocol::StepHold::Action;

  void SetUp() override {
    MasterSessionTest::SetUp();
    Extended extended;
    Extend(0, Nodes("x", "y"), &extended);
    ASSERT_OK(extended);
    ASSERT_OK_AND_ASSIGN(
        callable_,
        Ask().MakeCallable(session_, {.feeds = {"x:0"}, .fetches = {"y:0"}}));
  }
  void TearDown() override {
    while (!worker_.running.empty()) worker_.EndRun();
    scheduler_.AdvanceBy(absl::Minutes(1));
    MasterSessionTest::TearDown();
  }

  absl::Status Hold(Action action, uint64_t incarnation = 7) {
    absl::Status result = absl::UnknownError("not answered yet");
    master_->HoldSteps(
        {.action = action,
         .holder = {99, 1},
         .writers = {{kTask, {incarnation, session_}, callable_},
                     {kTask, {7, session_ + 1}, 5}},
         .max_wait = absl::Seconds(2),
         .lease = absl::Seconds(10)},
        [this](absl::Status status) { held_ = std::move(status); });
    return std::exchange(held_, absl::UnknownError("not answered yet"));
  }
  // Its answer is stored in ended_.
  void Begin(Cancellation* client = nullptr) {
    ended_ = absl::UnknownError("the step has not ended");
    master_->RunCallable(
        session_, callable_,
        {.feeds = feeds_,
         .fetches = absl::MakeSpan(fetches_),
         .cancellation = client},
        [this](absl::Status status) { ended_ = std::move(status); });
    scheduler_.RunUntilIdle();
  }

  uint64_t callable_ = 0;
  const std::vector<Tensor> feeds_ = {Tensor::Scalar(2.0f)};
  std::vector<Tensor> fetches_{1};
  absl::Status held_ = absl::UnknownError("not answered yet");
  absl::Status ended_;
};

TEST_F(HeldStepsTest, StepsBeginWhenTheHoldEnds) {
  ASSERT_OK(Hold(Action::kHoldSteps));
  EXPECT_THAT(Hold(Action::kHoldSteps),
              StatusIs(absl::StatusCode::kAlreadyExists));
  Begin();
  EXPECT_EQ(worker_.num_runs, 0);
  ASSERT_OK(Hold(Action::kReleaseSteps));
  EXPECT_OK(ended_);
  EXPECT_EQ(fetches_[0].scalar<float>(), 2);
  EXPECT_THAT(Hold(Action::kReleaseSteps),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "does not hold steps for step 1 any more"));
}

TEST_F(HeldStepsTest, StepsBeginWhenTheLeaseEnds) {
  ASSERT_OK(Hold(Action::kHoldSteps));
  Begin();
  scheduler_.AdvanceBy(absl::Seconds(9));
  EXPECT_EQ(worker_.num_runs, 0);
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_OK(ended_);
  EXPECT_THAT(Hold(Action::kReleaseSteps),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(HeldStepsTest, StepsBeginWhenTheHoldersMasterIsLost) {
  ASSERT_OK(Hold(Action::kHoldSteps));
  Begin();
  master_->EndHolds(98);
  EXPECT_EQ(worker_.num_runs, 0);
  master_->EndHolds(99);
  EXPECT_OK(ended_);
}

TEST_F(HeldStepsTest, HoldWaitsForARunningStep) {
  worker_.hold_runs = true;
  Begin();
  EXPECT_THAT(Hold(Action::kHoldSteps), StatusIs(absl::StatusCode::kUnknown));
  worker_.EndRun();
  EXPECT_OK(ended_);
  EXPECT_OK(held_);
}

TEST_F(HeldStepsTest, StepThatDoesNotEndIsNamed) {
  worker_.hold_runs = true;
  Begin();
  EXPECT_FALSE(Hold(Action::kHoldSteps).ok());
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_THAT(held_, StatusIs(absl::StatusCode::kDeadlineExceeded,
                              "(fetches [y:0], targets []) writes"));
  EXPECT_OK(Hold(Action::kReleaseSteps));
}

// Steps that another process runs as the same task, before or after, cannot be
// held.
TEST_F(HeldStepsTest, StepsOfAnotherIncarnationAreRefused) {
  EXPECT_THAT(Hold(Action::kHoldSteps, 6),
              StatusIs(absl::StatusCode::kAborted,
                       absl::StrCat("Another process that is ", kTask)));
  Begin();
  EXPECT_OK(ended_);
}

// The held step does not wait for the save of another session.
TEST_F(HeldStepsTest, HeldStepEndsWithItsCaller) {
  worker_.hold_runs = true;
  worker_.answer = absl::CancelledError("given up");
  ASSERT_OK(Hold(Action::kHoldSteps));
  Cancellation client;
  Begin(&client);
  ASSERT_TRUE(worker_.running.empty());
  client.Cancel(absl::CancelledError("given up"));
  ASSERT_EQ(worker_.running.size(), 1u);
  EXPECT_TRUE(worker_.running[0].step.cancellation->IsCancelled());
  worker_.EndRun();
  EXPECT_THAT(ended_, StatusIs(absl::StatusCode::kCancelled));
  // The next one waits, and begins, as if nothing had happened.
  worker_.answer = absl::OkStatus();
  Begin();
  EXPECT_TRUE(worker_.running.empty());
  ASSERT_OK(Hold(Action::kReleaseSteps));
  ASSERT_EQ(worker_.running.size(), 1u);
  EXPECT_FALSE(worker_.running[0].step.cancellation->IsCancelled());
  worker_.EndRun();
  EXPECT_OK(ended_);
}

// Its steps are cancelled, and may write until they have received the
// cancellation.
TEST_F(HeldStepsTest, StepsOfASessionThatIsClosedAreWaitedFor) {
  worker_.hold_runs = true;
  Begin();
  absl::Status closed;
  Close(&closed);
  EXPECT_THAT(Hold(Action::kHoldSteps), StatusIs(absl::StatusCode::kUnknown));
  ASSERT_EQ(worker_.running.size(), 1u);
  worker_.answer = absl::CancelledError("closed");
  worker_.EndRun();
  worker_.answer = absl::OkStatus();
  scheduler_.RunUntilIdle();
  EXPECT_OK(held_);
  EXPECT_OK(closed);
}

TEST_F(HeldStepsTest, HoldAfterItsReleaseIsRefused) {
  EXPECT_THAT(Hold(Action::kReleaseSteps),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Hold(Action::kHoldSteps),
              StatusIs(absl::StatusCode::kCancelled, "ended before it could"));
  Begin();
  EXPECT_OK(ended_);
}

// However long it is held, the end of its session ends it.
TEST_F(HeldStepsTest, HeldStepEndsWithItsSession) {
  worker_.hold_runs = true;
  ASSERT_OK(Hold(Action::kHoldSteps));
  Begin();
  absl::Status closed;
  Close(&closed);
  ASSERT_EQ(worker_.running.size(), 1u);
  EXPECT_TRUE(worker_.running[0].step.cancellation->IsCancelled());
  worker_.answer = absl::CancelledError("closed");
  worker_.EndRun();
  worker_.answer = absl::OkStatus();
  scheduler_.RunUntilIdle();
  EXPECT_THAT(ended_, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_OK(closed);
}

// Otherwise its tasks would not know the callable that it runs.
TEST_F(HeldStepsTest, ReleasedCallableIsKeptForHeldSteps) {
  ASSERT_OK(Hold(Action::kHoldSteps));
  Begin();
  master_->ReleaseCallable(session_, callable_, [](const absl::Status& status) {
    EXPECT_OK(status);
  });
  scheduler_.RunUntilIdle();
  EXPECT_THAT(worker_.deregistered, testing::IsEmpty());
  ASSERT_OK(Hold(Action::kReleaseSteps));
  EXPECT_OK(ended_);
  EXPECT_EQ(worker_.deregistered, std::vector<uint64_t>{callable_});
}

// The callable is kept until the last of several steps has ended, whatever its
// result.
TEST_F(HeldStepsTest, ReleasedCallableIsKeptForItsLastStep) {
  worker_.hold_runs = true;
  worker_.answer = absl::CancelledError("given up");
  ASSERT_OK(Hold(Action::kHoldSteps));
  Cancellation client;
  Begin(&client);
  Begin();
  master_->ReleaseCallable(session_, callable_, [](const absl::Status& status) {
    EXPECT_OK(status);
  });
  client.Cancel(absl::CancelledError("given up"));
  ASSERT_EQ(worker_.running.size(), 1u);
  worker_.EndRun();
  EXPECT_THAT(worker_.deregistered, testing::IsEmpty());
  worker_.answer = absl::OkStatus();
  ASSERT_OK(Hold(Action::kReleaseSteps));
  ASSERT_EQ(worker_.running.size(), 1u);
  EXPECT_THAT(worker_.deregistered, testing::IsEmpty());
  worker_.EndRun();
  EXPECT_OK(ended_);
  EXPECT_EQ(worker_.deregistered, std::vector<uint64_t>{callable_});
}

// A step whose feeds do not fit is refused at once.
TEST_F(HeldStepsTest, RefusedStepIsNotHeld) {
  ASSERT_OK(Hold(Action::kHoldSteps));
  ended_ = absl::UnknownError("the step has not ended");
  master_->RunCallable(session_, callable_, {}, [this](absl::Status status) {
    ended_ = std::move(status);
  });
  EXPECT_THAT(ended_, StatusIs(absl::StatusCode::kInvalidArgument));
  ASSERT_OK(Hold(Action::kReleaseSteps));
}

}  // namespace
}  // namespace weft
