// Tests how placements and lists of devices wait for tasks.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/coordinator/testing/coordinator_harness.h"

namespace weft {
namespace {

using protocol::HeartbeatReply;
using protocol::JoinRequest;
using protocol::LeftTask;
using protocol::PlacementReply;
using protocol::PlacementRequest;
using protocol::TaskState;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Counts the closures that run on the graph pool.
class GraphWork : public SimulatedScheduler::Part {
 public:
  explicit GraphWork(SimulatedScheduler& all)
      : SimulatedScheduler::Part(all, SimulatedPools()) {}
  void Schedule(Pool pool, Closure closure) override {
    if (pool == Pool::kGraph) ++count;
    SimulatedScheduler::Part::Schedule(pool, std::move(closure));
  }
  int count = 0;
};

TEST_F(CoordinatorTest, PlacementWaitsForAllTasksWithDevices) {
  auto reply =
      BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "/job:ps")}));
  for (const char* task : {kWorker0, kPs1, kPs0}) {
    JoinAs(task);
    EXPECT_FALSE(reply.has_come()) << task;
  }
  JoinAs(kWorker1);
  ASSERT_OK_AND_ASSIGN(const PlacementReply placed, reply.get());
  EXPECT_THAT(placed.devices, ElementsAre(Cpu(kPs0)));
  EXPECT_THAT(placed.reasons, IsEmpty());
}

TEST_F(CoordinatorTest, DeadlineErrorNamesMissingTasks) {
  JoinAs(kWorker0);
  JoinAs(kPs1);
  auto reply = BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "")}),
                          absl::Seconds(4));
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_FALSE(reply.has_come());
  scheduler_.AdvanceBy(absl::Seconds(2));
  const absl::Status status = reply.get().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDeadlineExceeded, kPs0));
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(kWorker1), HasSubstr("device_filters"),
                    Not(HasSubstr(kPs1)), Not(HasSubstr(kCoordinator))));
}

TEST_F(CoordinatorTest, LongWaitIsLoggedAtDoublingIntervals) {
  auto reply = BeginPlace(RequestOf(1, kWorker0, {}), absl::Seconds(79));
  scheduler_.AdvanceBy(absl::Seconds(85));  // lines at 10, 30, 70 s
  EXPECT_TRUE(reply.has_come());
  int lines = 0;
  for (const std::string& line : logger_.lines()) {
    lines += line.find("waits for /job:ps/replica:0/task:0") != line.npos;
  }
  EXPECT_EQ(lines, 3);
}

TEST_F(CoordinatorTest, FilteredTasksAreNeitherWaitedForNorUsed) {
  JoinAs(kWorker1);
  JoinAs(kPs1);
  PlacementRequest request = RequestOf(
      1, kWorker1, {NodeOf(Var("x"), "/job:ps"), NodeOf(Var("y"), "")});
  request.device_filters = {"/job:ps/task:1"};
  ASSERT_OK_AND_ASSIGN(const auto devices, Place(request));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs1), Cpu(kWorker1)));
  request = RequestOf(2, kWorker1, {NodeOf(Var("z"), "/job:ps/task:0")});
  request.device_filters = {"/job:ps/task:1"};
  EXPECT_THAT(Place(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "z"));
}

TEST_F(CoordinatorTest, MastersOwnTaskIsAlwaysWaitedFor) {
  JoinAs(kPs0);
  PlacementRequest request = RequestOf(1, kWorker1, {NodeOf(Var("x"), "")});
  request.device_filters = {"/job:ps/task:0"};
  auto reply = BeginPlace(request);
  EXPECT_FALSE(reply.has_come());
  JoinAs(kWorker1);
  ASSERT_OK_AND_ASSIGN(const PlacementReply placed, reply.get());
  EXPECT_THAT(placed.devices, ElementsAre(Cpu(kWorker1)));
}

TEST_F(CoordinatorTest, TaskLostDuringTheWaitIsWaitedForAgain) {
  JoinAs(kWorker0);
  JoinAs(kPs0);
  JoinAs(kPs1);
  auto reply =
      BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "/job:ps")}));
  coordinator_->OnTaskLost(kPs1, 1, absl::UnavailableError("cut"));
  JoinAs(kWorker1);
  EXPECT_FALSE(reply.has_come());
  JoinAs(kPs1, 2);
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, TaskThatLeftIsNeitherWaitedForNorUsed) {
  JoinAll();
  Leave(kPs0);
  ASSERT_OK_AND_ASSIGN(
      const auto devices,
      Place(1, kWorker0, {NodeOf(Var("x"), "/job:ps"), NodeOf(Var("y"), "")}));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs1), Cpu(kWorker0)));
  Pending<std::vector<DeviceAttributes>> listed;
  coordinator_->ListDevices({"/job:ps"}, In(absl::Minutes(1)), nullptr,
                            listed.Done());
  ASSERT_OK(listed.get());
  EXPECT_THAT(*listed.get(),
              ElementsAre(Field(&DeviceAttributes::name, Cpu(kPs1))));
  JoinAs(kPs0, 2);
  EXPECT_OK(Place(2, kWorker0, {NodeOf(Var("z"), "/job:ps/task:0")}));
}

// The live tasks report which tasks have left, as the previous coordinator has
// told them.
TEST_F(CoordinatorTest, TasksThatLeftEarlierAreNotWaitedFor) {
  JoinAll();
  Leave(kPs0);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply before, Beat(kWorker0));
  EXPECT_THAT(before.left, ElementsAre(LeftTask{kPs0, 1}));
  Start(200);
  JoinAs(kPs1);
  JoinAs(kWorker1);
  auto reply =
      BeginPlace(RequestOf(1, kWorker1, {NodeOf(Var("x"), "/job:ps")}));
  EXPECT_FALSE(reply.has_come());
  JoinRequest join = JoinOf(kWorker0, 1);
  join.left = before.left;
  join.left.push_back({kPs1, 1});  // this task has joined, so it has not left
  join.left.push_back({"/job:nobody/replica:0/task:0", 1});
  ASSERT_OK(Join(join));
  scheduler_.RunUntilIdle();
  ASSERT_OK(reply.get());
  EXPECT_THAT(reply.get()->devices, ElementsAre(Cpu(kPs1)));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kLeft);
  EXPECT_EQ(Tasks()[kPs1].state, TaskState::kAlive);
  // Once the new process of kPs0 joins, it is used, and its previous process is
  // refused.
  EXPECT_THAT(Join(JoinOf(kPs0, 1)), StatusIs(absl::StatusCode::kAborted));
  JoinAs(kPs0, 2);
  EXPECT_OK(Place(2, kWorker0, {NodeOf(Var("z"), "/job:ps/task:0")}));
}

TEST_F(CoordinatorTest, NodeOnTaskThatLeftIsRefusedNamingIt) {
  JoinAll();
  Leave(kPs1);
  auto refused = BeginPlace(RequestOf(1, kWorker0,
                                      {NodeOf(Var("v"), "/job:ps/task:0"),
                                       NodeOf(Var("w"), "/job:ps/task:1")}));
  scheduler_.AdvanceBy(absl::Milliseconds(4900));
  EXPECT_FALSE(refused.has_come()) << "it may be starting again";
  scheduler_.AdvanceBy(absl::Milliseconds(100));
  EXPECT_THAT(refused.get(), StatusIs(absl::StatusCode::kAborted, "Node w"));
  EXPECT_THAT(refused.get(),
              StatusIs(absl::StatusCode::kAborted,
                       "/job:ps/replica:0/task:1 has left the cluster"));
  EXPECT_THAT(logger_.lines(), Not(Contains(HasSubstr("waits"))));
}

TEST_F(CoordinatorTest, ANodeOnAJobThatHasLeftIsRefused) {
  JoinAll();
  Leave(kPs0);
  Leave(kPs1);
  auto refused =
      BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("w"), "/job:ps")}));
  EXPECT_THAT(Place(2, kWorker0, {NodeOf(Var("w"), "/job:worker/task:9")}),
              StatusIs(absl::StatusCode::kInvalidArgument, "w"))
      << "no such task";
  scheduler_.AdvanceBy(absl::Seconds(5));
  EXPECT_THAT(refused.get(),
              StatusIs(absl::StatusCode::kAborted, "has left the cluster"));
}

TEST_F(CoordinatorTest, TaskThatReturnsSoonIsUsed) {
  JoinAll();
  Leave(kPs1);
  auto reply =
      BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:1")}));
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_FALSE(reply.has_come());
  JoinAs(kPs1, 2);
  ASSERT_OK_AND_ASSIGN(const PlacementReply placed, reply.get());
  EXPECT_THAT(placed.devices, ElementsAre(Cpu(kPs1)));
}

// The placement waits 5 seconds in total, not 5 seconds for each task that has
// left.
TEST_F(CoordinatorTest, TasksThatLeftAreNotWaitedForTwice) {
  JoinAll();
  Leave(kPs0);
  Leave(kPs1);
  auto reply = BeginPlace(RequestOf(1, kWorker0,
                                    {NodeOf(Var("v"), "/job:ps/task:0"),
                                     NodeOf(Var("w"), "/job:ps/task:1")}));
  scheduler_.AdvanceBy(absl::Seconds(3));
  JoinAs(kPs0, 2);
  EXPECT_FALSE(reply.has_come());
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_THAT(reply.get(), StatusIs(absl::StatusCode::kAborted, kPs1));
}

// The session's nodes on kPs1 are lost, but other nodes can still be added to
// its graph.
TEST_F(CoordinatorTest, GraphMayHaveOldNodesOnTaskThatLeft) {
  JoinAll();
  Leave(kPs1);
  PlacementNode placed = NodeOf(Var("w"), "/job:ps/task:1");
  placed.assigned_device = Cpu(kPs1);
  ASSERT_OK_AND_ASSIGN(
      const auto devices,
      Place(1, kWorker0, {placed, NodeOf(Var("x"), "/job:ps/task:0")}));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs1), Cpu(kPs0)));
}

TEST_F(CoordinatorTest, LostTaskThatLeavesIsNoLongerWaitedFor) {
  JoinAll();
  coordinator_->OnTaskLost(kPs1, 1, absl::UnavailableError("cut"));
  auto reply =
      BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "/job:ps")}));
  EXPECT_FALSE(reply.has_come());
  Leave(kPs1);
  scheduler_.RunUntilIdle();
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, PlacementWaitsForMasterThatLeft) {
  JoinAll();
  Leave(kWorker0);
  auto reply = BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "")}));
  EXPECT_FALSE(reply.has_come());
}

TEST_F(CoordinatorTest, DevicesAreListedInOrderOfTasks) {
  Pending<std::vector<DeviceAttributes>> all, ps;
  coordinator_->ListDevices({}, In(absl::Minutes(1)), nullptr, all.Done());
  coordinator_->ListDevices({"/job:ps"}, In(absl::Minutes(1)), nullptr,
                            ps.Done());
  const auto named = [](const std::string& task) {
    return Field(&DeviceAttributes::name, Cpu(task));
  };
  JoinAs(kPs1);
  JoinAs(kPs0);
  ASSERT_OK(ps.get());
  EXPECT_THAT(*ps.get(), ElementsAre(named(kPs0), named(kPs1)));
  EXPECT_FALSE(all.has_come());
  JoinAs(kWorker1);
  JoinAs(kWorker0);
  ASSERT_OK(all.get());
  EXPECT_THAT(*all.get(), ElementsAre(named(kPs0), named(kPs1), named(kWorker0),
                                      named(kWorker1)));
}

TEST_F(CoordinatorTest, ListDevicesHasADeadline) {
  Pending<std::vector<DeviceAttributes>> reply;
  coordinator_->ListDevices({"/job:ps/task:1"}, In(absl::Seconds(1)), nullptr,
                            reply.Done());
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_THAT(reply.get().status(),
              StatusIs(absl::StatusCode::kDeadlineExceeded, kPs1));
}

TEST_F(CoordinatorTest, EndWaitsFailsWaitingCalls) {
  JoinAs(kWorker0);
  auto placed = BeginPlace(RequestOf(1, kWorker0, {}));
  Pending<std::vector<DeviceAttributes>> listed;
  coordinator_->ListDevices({}, In(absl::Minutes(1)), nullptr, listed.Done());
  EXPECT_FALSE(placed.has_come());
  EXPECT_FALSE(listed.has_come());
  coordinator_->EndWaits();
  EXPECT_THAT(placed.get(),
              StatusIs(absl::StatusCode::kUnavailable, kCoordinator));
  EXPECT_THAT(listed.get(),
              StatusIs(absl::StatusCode::kUnavailable, kCoordinator));
}

TEST_F(CoordinatorTest, AfterEndWaitsOnlyWaitingCallsFail) {
  coordinator_->EndWaits();
  JoinAs(kWorker0);
  PlacementRequest request = RequestOf(1, kWorker0, {NodeOf(Var("x"), "")});
  EXPECT_THAT(Place(request),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  request.device_filters = {"/job:worker/task:0"};
  EXPECT_OK(Place(request));
}

TEST_F(CoordinatorTest, QueuedCallThatLosesATaskEnds) {
  JoinAll();
  Pending<PlacementReply> reply;
  coordinator_->Place(RequestOf(1, kWorker0, {NodeOf(Var("x"), "")}),
                      In(absl::Minutes(1)), nullptr, reply.Done());
  coordinator_->EndWaits();
  coordinator_->OnTaskLost(kPs1, 1, absl::UnavailableError("cut"));
  scheduler_.RunUntilIdle();
  EXPECT_THAT(reply.get(),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
}

TEST_F(CoordinatorTest, ACancelledCallEndsWithTheCause) {
  const auto gone = std::make_shared<Cancellation>();
  auto placed = BeginPlace(RequestOf(1, kWorker0, {}), absl::Minutes(10), gone);
  Pending<std::vector<DeviceAttributes>> listed;
  coordinator_->ListDevices({}, In(absl::Minutes(10)), gone, listed.Done());
  gone->Cancel(absl::CancelledError("the client is gone"));
  EXPECT_THAT(placed.get(), StatusIs(absl::StatusCode::kCancelled, "is gone"));
  EXPECT_THAT(listed.get(), StatusIs(absl::StatusCode::kCancelled, "is gone"));
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_THAT(logger_.lines(), Not(Contains(HasSubstr("waits"))));
  EXPECT_THAT(
      BeginPlace(RequestOf(1, kWorker0, {}), absl::Minutes(10), gone).get(),
      StatusIs(absl::StatusCode::kCancelled, "is gone"));
}

TEST_F(CoordinatorTest, CancelledRequestIsFreedOnTheGraphPool) {
  GraphWork scheduler(scheduler_);
  Start(200, absl::Seconds(1), &scheduler);
  const auto gone = std::make_shared<Cancellation>();
  auto cancelled =
      BeginPlace(RequestOf(1, kWorker0, {}), absl::Minutes(10), gone);
  auto late = BeginPlace(RequestOf(2, kWorker0, {}), absl::Seconds(5));
  EXPECT_EQ(scheduler.count, 0);
  gone->Cancel(absl::CancelledError("the client is gone"));
  ASSERT_TRUE(cancelled.has_come());
  EXPECT_EQ(scheduler.count, 1);
  scheduler_.AdvanceBy(absl::Seconds(5));
  ASSERT_TRUE(late.has_come());
  EXPECT_EQ(scheduler.count, 2);
  coordinator_.reset();
  scheduler_.RunUntilIdle();
}

TEST_F(CoordinatorTest, CancelledPlacementDoesNotRegister) {
  JoinAll();
  const auto gone = std::make_shared<Cancellation>();
  Pending<PlacementReply> reply;
  coordinator_->Place(
      RequestOf(1, kWorker0, {NodeOf(Var("x"), "/job:ps/task:0")}),
      In(absl::Minutes(1)), gone, reply.Done());
  gone->Cancel(absl::CancelledError("the client is gone"));
  scheduler_.RunUntilIdle();
  EXPECT_THAT(reply.get(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_OK(Place(2, kWorker1, {NodeOf(Var("x", {9}), "/job:ps/task:0")}));
}

TEST_F(CoordinatorTest, BadRequestsAreRefusedAtOnce) {
  JoinAll();
  PlacementRequest request = RequestOf(1, kWorker0, {});
  request.device_filters = {"/jobs:ps"};
  EXPECT_THAT(Place(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "device_filters"));
  Pending<std::vector<DeviceAttributes>> list;
  coordinator_->ListDevices({"/jobs:ps"}, In(absl::Seconds(1)), nullptr,
                            list.Done());
  EXPECT_THAT(list.get(),
              StatusIs(absl::StatusCode::kInvalidArgument, "device_filters"));
  EXPECT_THAT(Forget({}, {"/jobs:ps"}),
              StatusIs(absl::StatusCode::kInvalidArgument, "device_filters"));
  for (const char* master : {"nobody", "", kCoordinator}) {
    EXPECT_THAT(Place(1, master, {}),
                StatusIs(absl::StatusCode::kInvalidArgument, "master"));
  }
  for (const int input : {-1, 1, 1 << 30}) {
    PlacementNode node = NodeOf(Var("x"), "");
    node.inputs = {{input, true}};
    EXPECT_THAT(Place(1, kWorker0, {node}),
                StatusIs(absl::StatusCode::kInvalidArgument, "Node x"));
  }
}

// LateReportTest tests tasks whose report waits for locks of variables.
class LateReportTest : public CoordinatorTest {
 protected:
  void JoinWithoutReport(const std::string& task) {
    protocol::JoinRequest request = JoinOf(task, 1);
    request.reports_later = true;
    EXPECT_OK(Join(request));
    scheduler_.RunUntilIdle();
  }
};

TEST_F(LateReportTest, OnlyPlacementsWaitForTheReport) {
  for (const char* task : {kPs1, kWorker0, kWorker1}) JoinAs(task);
  const auto before =
      BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "")}));
  JoinWithoutReport(kPs0);
  const auto after = BeginPlace(RequestOf(2, kWorker1, {NodeOf(Var("x"), "")}));
  Pending<std::vector<DeviceAttributes>> list;
  coordinator_->ListDevices({}, In(absl::Minutes(1)), nullptr, list.Done());
  EXPECT_OK(list.get());
  EXPECT_EQ(Tasks()[kPs0].state, protocol::TaskState::kAlive);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Beat(kPs0));
  EXPECT_TRUE(reply.wants_report);
  EXPECT_FALSE(before.has_come());
  EXPECT_FALSE(after.has_come());
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("x"), Cpu(kPs0))};
  EXPECT_OK(Beat(kPs0, 1, report));
  for (const auto& placed : {before, after}) {
    ASSERT_OK(placed.get());
    EXPECT_THAT(placed.get()->devices, testing::ElementsAre(Cpu(kPs0)))
        << "where the variable is";
  }
}

TEST_F(LateReportTest, LossOfTheTaskEndsTheWait) {
  for (const char* task : {kPs1, kWorker0, kWorker1}) JoinAs(task);
  JoinWithoutReport(kPs0);
  const auto placed = BeginPlace(RequestOf(1, kWorker0, {}));
  Leave(kPs0);
  scheduler_.RunUntilIdle();
  EXPECT_OK(placed.get());
}

TEST_F(LateReportTest, MemberThatJoinsAgainIsKnown) {
  JoinAll();
  JoinWithoutReport(kPs0);
  EXPECT_OK(Place(1, kWorker0, {NodeOf(Var("x"), "/job:ps/task:0")}));
  EXPECT_TRUE(Beat(kPs0)->wants_report);
}

TEST_F(LateReportTest, ReportArrivesWithoutHeartbeats) {
  Start(200, absl::InfiniteDuration());
  for (const char* task : {kPs1, kWorker0, kWorker1}) JoinAs(task);
  JoinWithoutReport(kPs0);
  const auto placed = BeginPlace(RequestOf(1, kWorker0, {}));
  EXPECT_FALSE(placed.has_come());
  EXPECT_OK(Beat(kPs0, 1, protocol::TaskReport()));
  EXPECT_OK(placed.get());
}

}  // namespace
}  // namespace weft
