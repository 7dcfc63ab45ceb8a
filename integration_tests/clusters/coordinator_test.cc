// Tests effects of the coordinator that users observe. Its tasks are in one
// process, connected by sockets, or connected by a simulated network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/zmq/free_port.h"

namespace weft {
namespace {

using ::testing::HasSubstr;

class CoordinatorTest : public ::testing::TestWithParam<ClusterKind> {
 protected:
  void StartCluster(std::map<std::string, int> jobs) {
    cluster_ = std::make_unique<TestCluster>(
        TestCluster::Options{.kind = GetParam(),
                             .jobs = std::move(jobs),
                             .placement_timeout = absl::Seconds(20),
                             // In simulated time heartbeats are rare and never
                             // late. In real time they are frequent.
                             .heartbeat_interval = absl::Milliseconds(20),
                             .heartbeat_timeout = absl::Minutes(1)});
  }

  std::unique_ptr<Session> Connect(const Scope& scope, const std::string& job,
                                   int index) {
    auto session = Session::Connect(cluster_->target(job, index), scope,
                                    cluster_->session_options());
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  // Opens a session on worker 0, assigns a variable of two elements with the
  // sum 3 and closes the session. The variable remains.
  void LeaveModel(const std::string& device);

  std::unique_ptr<TestCluster> cluster_;
};

// Checks that `status` has the given code and contains all of `names`.
void ExpectRefused(const absl::Status& status, absl::StatusCode code,
                   const std::vector<std::string>& names) {
  EXPECT_EQ(status.code(), code) << status;
  for (const std::string& name : names) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(name));
  }
}

float ScalarOf(const absl::StatusOr<Tensor>& value) {
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? value->scalar<float>() : -1e30f;
}

// A client's graph with one variable. `size` is its number of elements, and
// `device` its device.
struct Model {
  Model(const std::string& device, float value, int size)
      : x(root.WithDevice(device).WithName("x"), Filled(value, size)),
        sum(ops::Sum(root.WithName("sum"), x, 0)) {}

  static Tensor Filled(float value, int size) {
    Tensor tensor(DT_FLOAT, TensorShape({size}));
    for (float& element : tensor.mutable_flat<float>()) element = value;
    return tensor;
  }

  Scope root = Scope::Root();
  ops::Variable x;
  Output sum;
};

void CoordinatorTest::LeaveModel(const std::string& device) {
  Model model(device, 1.5f, 2);
  auto session = Connect(model.root, "worker", 0);
  ASSERT_OK(session->Run(model.x.initializer()));
  ASSERT_OK(session->Close());
}

TEST_P(CoordinatorTest, CoordinatorMayHaveItsOwnJob) {
  StartCluster({{"coordinator", 1}, {"ps", 1}, {"worker", 1}});
  Model model("/job:ps/task:0", 1.5f, 2);
  auto session = Connect(model.root, "worker", 0);
  ASSERT_OK(session->Run(model.x.initializer()));
  EXPECT_EQ(ScalarOf(session->Run(model.sum)), 3.0f);
}

TEST_P(CoordinatorTest, TasksWithoutDevicesRejectSessions) {
  StartCluster({{"checkpoint_writer", 1}, {"coordinator", 1}, {"ps", 1}});
  for (const char* job : {"coordinator", "checkpoint_writer"}) {
    Scope root = Scope::Root();
    Output one = ops::Const(root, 1.0f);
    auto session = Session::Connect(cluster_->target(job, 0), root,
                                    cluster_->session_options());
    const absl::Status status =
        session.ok() ? (*session)->Run(one).status() : session.status();
    ExpectRefused(status, absl::StatusCode::kFailedPrecondition,
                  {job, "owns no devices", "/job:ps/replica:0/task:0"});
  }
}

TEST_P(CoordinatorTest, UnpinnedVariableIsSharedAcrossTasks) {
  StartCluster({{"ps", 1}, {"worker", 1}});
  {
    Model first("", 1.0f, 1);
    auto session = Connect(first.root, "ps", 0);
    ASSERT_OK(session->Run(first.x.initializer()));
  }
  Model second("", 7.0f, 1);
  auto session = Connect(second.root, "worker", 0);
  EXPECT_EQ(ScalarOf(session->Run(second.sum)), 1.0f);
}

TEST_P(CoordinatorTest, ReplicaMismatchErrorShowsDifference) {
  StartCluster({{"ps", 2}, {"worker", 2}});
  Model right("/job:ps/task:0", 1.0f, 2);
  auto first = Connect(right.root, "worker", 0);
  ASSERT_OK(first->Run(right.x.initializer()));
  Model elsewhere("/job:ps/task:1", 1.0f, 2);
  ExpectRefused(
      Connect(elsewhere.root, "worker", 1)->Run(elsewhere.x.initializer()),
      absl::StatusCode::kFailedPrecondition,
      {"x", "/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1"});
  Model larger("/job:ps/task:0", 1.0f, 3);
  ExpectRefused(Connect(larger.root, "worker", 1)->Run(larger.x.initializer()),
                absl::StatusCode::kFailedPrecondition, {"[2]", "[3]"});
  Model same("/job:ps/task:0", 1.0f, 2);
  EXPECT_EQ(ScalarOf(Connect(same.root, "worker", 1)->Run(same.sum)), 2.0f);
}

TEST_P(CoordinatorTest, ModelMayChangeAfterReset) {
  StartCluster({{"ps", 1}, {"worker", 1}});
  Model before("/job:ps/task:0", 1.0f, 2);
  auto first = Connect(before.root, "worker", 0);
  ASSERT_OK(first->Run(before.x.initializer()));
  ASSERT_OK(Session::Reset(cluster_->target("worker", 0), {},
                           cluster_->session_options()));
  Model after("/job:ps/task:0", 1.0f, 3);
  auto second = Connect(after.root, "worker", 0);
  ASSERT_OK(second->Run(after.x.initializer()));
  EXPECT_EQ(ScalarOf(second->Run(after.sum)), 3.0f);
}

TEST_P(CoordinatorTest, UninitializedVariableEndsWithItsSession) {
  StartCluster({{"ps", 1}, {"worker", 1}});
  {
    Model before("/job:ps/task:0", 1.0f, 2);
    auto first = Connect(before.root, "worker", 0);
    EXPECT_THAT(first->Run(before.sum).status(),
                StatusIs(absl::StatusCode::kFailedPrecondition));
    ASSERT_OK(first->Close());
  }
  Model after("/job:ps/task:0", 1.0f, 3);
  auto second = Connect(after.root, "worker", 0);
  ASSERT_OK(second->Run(after.x.initializer()));
}

TEST_P(CoordinatorTest, PlacementNamesMissingTask) {
  StartCluster({{"ps", 1}, {"worker", 1}});
  cluster_->Stop("worker", 0);
  Model model("/job:worker/task:0", 2.0f, 1);
  SessionOptions options = cluster_->session_options();
  options.operation_timeout = absl::Milliseconds(200);
  ASSERT_OK_AND_ASSIGN(auto hasty, Session::Connect(cluster_->target("ps", 0),
                                                    model.root, options));
  EXPECT_THAT(hasty->Run(model.x.initializer()),
              StatusIs(absl::StatusCode::kDeadlineExceeded,
                       "/job:worker/replica:0/task:0"));
  cluster_->Start("worker", 0);
  auto session = Connect(model.root, "ps", 0);
  ASSERT_OK(session->Run(model.x.initializer()));
  EXPECT_EQ(ScalarOf(session->Run(model.sum)), 2.0f);
}

TEST_P(CoordinatorTest, SessionsOutliveTheirCoordinator) {
  StartCluster({{"coordinator", 1}, {"ps", 1}, {"worker", 1}});
  Model model("/job:ps/task:0", 1.0f, 2);
  auto session = Connect(model.root, "worker", 0);
  ASSERT_OK(session->Run(model.x.initializer()));
  ASSERT_OK(session->Run(model.sum));
  cluster_->Stop("coordinator", 0);
  // While the coordinator is stopped, existing nodes run, and new nodes wait.
  EXPECT_EQ(ScalarOf(session->Run(model.sum)), 2.0f);
  cluster_->Start("coordinator", 0);
  Output twice = ops::Mul(model.root, model.sum, 2.0f);
  EXPECT_EQ(ScalarOf(session->Run(twice)), 4.0f);
  // The restarted coordinator has learned which variables exist.
  Model larger("/job:ps/task:0", 1.0f, 3);
  EXPECT_THAT(Connect(larger.root, "worker", 0)->Run(larger.x.initializer()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_P(CoordinatorTest, IsolatedSessionsIgnoreOtherReplicas) {
  StartCluster({{"ps", 1}, {"worker", 1}});
  Model shared("/job:ps/task:0", 1.0f, 2);
  auto first = Connect(shared.root, "worker", 0);
  ASSERT_OK(first->Run(shared.x.initializer()));
  Model own("/job:ps/task:0", 1.0f, 3);
  SessionOptions options = cluster_->session_options();
  options.isolate_session_state = true;
  ASSERT_OK_AND_ASSIGN(
      auto session,
      Session::Connect(cluster_->target("worker", 0), own.root, options));
  ASSERT_OK(session->Run(own.x.initializer()));
  EXPECT_EQ(ScalarOf(session->Run(own.sum)), 3.0f);
  EXPECT_EQ(ScalarOf(first->Run(shared.sum)), 2.0f);
}

// A variable outlives the session that created it, on any task. A later program
// that declares the variable differently gets an error before its first step.
TEST_P(CoordinatorTest, LeftoverVariablesAreCheckedBeforeFirstStep) {
  StartCluster({{"ps", 1}, {"worker", 1}});
  for (const char* job : {"ps", "worker"}) {
    SCOPED_TRACE(job);
    const std::string device = absl::StrCat("/job:", job, "/task:0");
    ASSERT_NO_FATAL_FAILURE(LeaveModel(device));
    Model after(device, 1.0f, 3);
    ExpectRefused(Connect(after.root, "worker", 0)->Run(after.x.initializer()),
                  absl::StatusCode::kFailedPrecondition,
                  {absl::StrCat("Var \"x\" in container \"", job, "\""),
                   "float [3]", "float [2]",
                   absl::StrCat("/job:", job, "/replica:0/task:0/device:CPU:0"),
                   "has lived since a session of /job:worker/replica:0/task:0 "
                   "that has ended",
                   absl::StrCat("weft reset ", job), "Session::Reset",
                   "Scope::WithContainer"});
    // A program that declares the variable in the same way uses its value.
    Model same(device, 7.0f, 2);
    EXPECT_EQ(ScalarOf(Connect(same.root, "worker", 0)->Run(same.sum)), 3.0f);
    // Each remedy that the error suggests works.
    Scope root = Scope::Root();
    const ops::Variable own(
        root.WithDevice(device).WithContainer("mine").WithName("x"),
        Model::Filled(1.0f, 3));
    EXPECT_OK(Connect(root, "worker", 0)->Run(own.initializer()));
    ASSERT_OK(Session::Reset(cluster_->target("worker", 0), {job},
                             cluster_->session_options()));
    EXPECT_OK(Connect(after.root, "worker", 0)->Run(after.x.initializer()));
  }
}

TEST_P(CoordinatorTest, RestartedCoordinatorKnowsLeftoverVariables) {
  StartCluster({{"coordinator", 1}, {"ps", 1}, {"worker", 1}});
  ASSERT_NO_FATAL_FAILURE(LeaveModel("/job:ps/task:0"));
  cluster_->Stop("coordinator", 0);
  cluster_->Start("coordinator", 0);
  Model after("/job:ps/task:0", 1.0f, 3);
  ExpectRefused(Connect(after.root, "worker", 0)->Run(after.x.initializer()),
                absl::StatusCode::kFailedPrecondition,
                {"has lived since a session that has ended", "weft reset ps"});
  Model same("/job:ps/task:0", 7.0f, 2);
  EXPECT_EQ(ScalarOf(Connect(same.root, "worker", 0)->Run(same.sum)), 3.0f);
}

TEST_P(CoordinatorTest, RestartedTaskHasNoLeftoverVariables) {
  StartCluster({{"coordinator", 1}, {"ps", 1}, {"worker", 1}});
  ASSERT_NO_FATAL_FAILURE(LeaveModel("/job:ps/task:0"));
  cluster_->Stop("ps", 0);
  cluster_->Start("ps", 0);
  Model after("/job:ps/task:0", 1.0f, 3);
  auto session = Connect(after.root, "worker", 0);
  ASSERT_OK(session->Run(after.x.initializer()));
  EXPECT_EQ(ScalarOf(session->Run(after.sum)), 3.0f);
}

INSTANTIATE_TEST_SUITE_P(All, CoordinatorTest,
                         ::testing::ValuesIn(kAllClusterKinds),
                         [](const auto& kind) {
                           return ClusterKindName(kind.param);
                         });

// A ps leaves before or while the coordinator is stopped. Neither the next
// coordinator nor a reset waits for that ps.
TEST(LeftTaskTest, DepartedTaskDoesNotBlockCoordinator) {
  for (const bool leaves_first : {true, false}) {
    SCOPED_TRACE(leaves_first);
    TestCluster cluster({.kind = ClusterKind::kSimulated,
                         .jobs = {{"coordinator", 1}, {"ps", 2}, {"worker", 1}},
                         .heartbeat_interval = absl::Seconds(1),
                         .heartbeat_timeout = absl::Minutes(5)});
    SimulatedScheduler& scheduler = cluster.scheduler();
    Scope root = Scope::Root();
    const ops::Variable on_both[] = {{root.WithDevice("/job:ps/task:0"), 1.0f},
                                     {root.WithDevice("/job:ps/task:1"), 1.0f}};
    {
      ASSERT_OK_AND_ASSIGN(const auto session,
                           Session::Connect(cluster.target("worker", 0), root,
                                            cluster.session_options()));
      for (const ops::Variable& variable : on_both) {
        ASSERT_OK(session->Run(variable.initializer()));
      }
    }
    if (leaves_first) cluster.Stop("ps", 1);
    scheduler.AdvanceBy(absl::Seconds(3));
    cluster.Stop("coordinator", 0);
    if (!leaves_first) cluster.Stop("ps", 1);
    cluster.Start("coordinator", 0);
    const absl::Time begin = scheduler.clock().Now();
    Scope later = Scope::Root();
    const ops::Variable other(later.WithDevice("/job:ps/task:0"), 1.0f);
    ASSERT_OK_AND_ASSIGN(const auto session,
                         Session::Connect(cluster.target("worker", 0), later,
                                          cluster.session_options()));
    EXPECT_OK(session->Run(other.initializer()));
    EXPECT_OK(Session::Reset(cluster.target("worker", 0), {},
                             cluster.session_options()));
    EXPECT_LT(scheduler.clock().Now() - begin, absl::Seconds(15));
  }
}

// The interval of log messages is not a timeout. With any interval, the
// placement is requested once and may take any time.
TEST(LongPlacementTest, PlacementIsRequestedOnceAndLogged) {
  RecordingLogger logger;
  TestCluster cluster({.kind = ClusterKind::kSimulated,
                       .jobs = {{"coordinator", 1}, {"ps", 1}, {"worker", 1}},
                       .heartbeat_interval = absl::Seconds(1),
                       .heartbeat_timeout = absl::Minutes(5),
                       .log_waits_after = absl::Seconds(2),
                       .logger = &logger});
  SimulatedScheduler& scheduler = cluster.scheduler();
  scheduler.AdvanceBy(absl::Seconds(1));
  cluster.Crash("ps", 0);
  // This graph makes the largest request to the coordinator.
  Scope root = Scope::Root();
  Output value = ops::Const(root.WithDevice("/job:ps/task:0"), 1.0f);
  for (int i = 0; i < 500; ++i) value = ops::Neg(root, value);
  int num_graphs = 0;
  cluster.network().set_hook([&](const bus::MessageInfo& message) {
    const uint64_t size = bus::SizeOf(*message.frames);
    if (message.to == "/job:coordinator/replica:0/task:0" && size > 10000) {
      ++num_graphs;
    }
    return bus::HookResult();
  });
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect(cluster.target("worker", 0), root,
                                        cluster.session_options()));
  scheduler.ScheduleAt(scheduler.clock().Now() + absl::Seconds(15), [&] {
    scheduler.Schedule(Pool::kBlocking, [&] { cluster.Start("ps", 0); });
  });
  EXPECT_EQ(ScalarOf(session->Run(value)), 1.0f);
  EXPECT_EQ(num_graphs, 1);
  EXPECT_THAT(logger.lines(),
              ::testing::Contains(::testing::AllOf(
                  HasSubstr("Still waiting"),
                  HasSubstr("/job:ps/replica:0/task:0 has not joined"))));
}

// Runs a second process for the same task in simulated time. TestCluster does
// not manage that process.
class SecondProcessTest : public ::testing::Test {
 protected:
  SimulatedScheduler& scheduler() { return cluster_.scheduler(); }

  TestCluster cluster_{{.kind = ClusterKind::kSimulated,
                        .jobs = {{"ps", 2}, {"worker", 1}},
                        .heartbeat_interval = absl::Milliseconds(500),
                        .heartbeat_timeout = absl::Seconds(5)}};
};

// Two processes claim the same task. The coordinator rejects the second
// process. Meanwhile and afterwards, the first one keeps its state on other
// tasks.
TEST_F(SecondProcessTest, SecondProcessDoesNotDisturbTheFirst) {
  Scope root = Scope::Root();
  const Scope ps = root.WithDevice("/job:ps/task:0");
  ops::Variable x(ps.WithName("x"), Model::Filled(1.5f, 2));
  const Output sum = ops::Sum(root.WithName("sum"), x, 0);
  const Output jobs = ops::FIFOQueue(ps.WithName("jobs"), {DT_FLOAT});
  const Operation put = ops::QueueEnqueue(ps, jobs, {ops::Const(ps, 4.0f)});
  const Output take =
      ops::Neg(root.WithDevice("/job:worker/task:0"),
               ops::QueueDequeue(ps.WithName("take"), jobs, {DT_FLOAT})[0]);
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect(cluster_.target("worker", 0), root,
                                        cluster_.session_options()));
  ASSERT_OK(session->Run(x.initializer()));
  absl::StatusOr<Tensor> taken = absl::UnknownError("not run");
  const auto has_taken = scheduler().NewEvent();
  scheduler().Schedule(Pool::kBlocking, [&] {
    taken = session->Run(take);
    has_taken->Set();
  });
  scheduler().AdvanceBy(absl::Seconds(1));

  const std::unique_ptr<Process> process = cluster_.NewProcess("second");
  NullLogger logger;
  ASSERT_OK_AND_ASSIGN(
      auto second, Server::Create(cluster_.spec(), {.job_name = "worker",
                                                    .bind = "localhost:5000",
                                                    .process = process.get(),
                                                    .logger = &logger}));
  scheduler().AdvanceBy(absl::Seconds(1));
  EXPECT_EQ(ScalarOf(session->Run(sum)), 3.0f) << "while it claims the task";
  EXPECT_THAT(second->Join(), StatusIs(absl::StatusCode::kAlreadyExists));
  ASSERT_OK(second->Stop());
  second.reset();
  EXPECT_EQ(ScalarOf(session->Run(sum)), 3.0f) << "after it was refused";
  ASSERT_OK(session->Run(put));
  has_taken->Wait();
  EXPECT_EQ(ScalarOf(taken), -4.0f) << "a step that ran all the time";
}

// The first process ends without notice. The second process becomes the task
// when the coordinator detects the loss.
TEST_F(SecondProcessTest, SecondProcessReplacesALostFirst) {
  Scope root = Scope::Root();
  ops::Variable x(root.WithDevice("/job:ps/task:1").WithName("x"),
                  Model::Filled(1.5f, 2));
  ASSERT_OK_AND_ASSIGN(auto session,
                       Session::Connect(cluster_.target("worker", 0), root,
                                        cluster_.session_options()));
  ASSERT_OK(session->Run(x.initializer()));
  EXPECT_EQ(cluster_.runtime("ps", 1)->num_sessions(), 1);
  cluster_.Crash("worker", 0);
  cluster_.Start("worker", 0);
  scheduler().AdvanceBy(absl::Seconds(1));
  Scope again = Scope::Root();
  ops::Variable y(again.WithDevice("/job:ps/task:1").WithName("y"),
                  Model::Filled(1.5f, 2));
  ASSERT_OK_AND_ASSIGN(auto second,
                       Session::Connect(cluster_.target("worker", 0), again,
                                        cluster_.session_options()));
  ASSERT_OK(second->Run(y.initializer()));
  EXPECT_EQ(cluster_.runtime("ps", 1)->num_sessions(), 1)
      << "those of the first are gone, before their lease";
}

// A task with its own Process, for settings that TestCluster does not support.
class Task {
 public:
  explicit Task(const ClusterSpec& cluster, ServerOptions options)
      : process_({.compute_threads = 2}) {
    options.process = &process_;
    options.logger = &logger_;
    options.heartbeat_interval = absl::Milliseconds(20);
    server_ = Server::Create(cluster, options);
  }
  Server& server() { return **server_; }

 private:
  Process process_;
  NullLogger logger_;
  absl::StatusOr<std::unique_ptr<Server>> server_ =
      absl::UnknownError("not made");
};

std::string FreeAddress() {
  return absl::StrCat("localhost:", *bus::FreePort());
}

TEST(ServerMembershipTest, TaskOfOtherClusterIsRejectedNamingBoth) {
  const std::string ps = FreeAddress();
  const std::string worker = FreeAddress();
  const std::string other = FreeAddress();
  Task first({{"ps", {ps}}, {"worker", {worker}}}, {.job_name = "ps"});
  Task second({{"ps", {ps}}, {"worker", {other}}}, {.job_name = "worker"});
  ExpectRefused(second.server().Join(), absl::StatusCode::kFailedPrecondition,
                {worker, other});
}

TEST(ServerMembershipTest, ServersStopWhenJobFinishes) {
  const ClusterSpec cluster{{"ps", {FreeAddress(), FreeAddress()}},
                            {"worker", {FreeAddress()}}};
  Task ps0(cluster, {.job_name = "ps", .stop_after_job = "worker"});
  Task ps1(cluster,
           {.job_name = "ps", .task_index = 1, .stop_after_job = "worker"});
  {
    Task worker(cluster, {.job_name = "worker"});
    Scope root = Scope::Root();
    Output one = ops::Const(root.WithDevice("/job:ps/task:1"), 1.0f);
    auto session = Session::Connect(worker.server().target(), root);
    ASSERT_OK(session);
    EXPECT_EQ(ScalarOf((*session)->Run(one)), 1.0f);
    ASSERT_OK((*session)->Close());
    ASSERT_OK(worker.server().Stop());
  }
  EXPECT_OK(ps1.server().Join());
  EXPECT_OK(ps0.server().Join());
}

// The first job in the cluster spec is "chief", so the chief's task hosts the
// coordinator.
TEST(ServerMembershipTest, FinishedCoordinatorStopsOtherTasks) {
  const ClusterSpec cluster{{"chief", {FreeAddress()}},
                            {"ps", {FreeAddress()}},
                            {"worker", {FreeAddress()}}};
  Task chief(cluster, {.job_name = "chief"});
  Task ps(cluster, {.job_name = "ps", .stop_after_job = "chief"});
  {
    Task worker(cluster, {.job_name = "worker"});
    EXPECT_FALSE(chief.server().AwaitJob("worker", absl::InfinitePast()));
    EXPECT_FALSE(ps.server().AwaitStopped(absl::InfinitePast()));
    ASSERT_OK(worker.server().Finish());
  }
  EXPECT_TRUE(chief.server().AwaitJob("worker", absl::InfiniteFuture()));
  ASSERT_OK(chief.server().Finish());
  EXPECT_OK(ps.server().Join());
  EXPECT_TRUE(ps.server().AwaitStopped(absl::InfinitePast()));
  EXPECT_FALSE(ps.server().AwaitJob("chiefs", absl::InfiniteFuture()))
      << "a stopped task does not wait for others";
}

}  // namespace
}  // namespace weft
