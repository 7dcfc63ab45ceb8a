// Tests which resources sessions share, and what happens to shared resources
// when sessions or their masters end.
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
using protocol::HeartbeatRequest;
using protocol::JoinRequest;
using protocol::PlacedResource;
using protocol::PlacementReply;
using protocol::PlacementRequest;
using protocol::TaskState;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(CoordinatorTest, ReplicasThatAgreeShareTheirVariables) {
  JoinAll();
  for (const auto& [session, task] :
       {std::pair<uint64_t, const char*>{1, kWorker0}, {2, kWorker1}}) {
    ASSERT_OK_AND_ASSIGN(const auto devices,
                         Place(session, task,
                               {NodeOf(Var("w"), "/job:ps/task:0"),
                                NodeOf(Var("b"), "/job:ps/task:1"),
                                // As in synchronous training, each worker has a
                                // step counter of its own.
                                NodeOf(Var("sync_rep_local_step", {}, DT_INT64),
                                       std::string(task) + "/cpu:0")}));
    EXPECT_THAT(devices, ElementsAre(Cpu(kPs0), Cpu(kPs1), Cpu(task)));
  }
}

TEST_F(CoordinatorTest, ReplicasThatDisagreeAreRefused) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0,
                  {NodeOf(Var("w"), "/job:ps/task:0"),
                   NodeOf(Var("e/part_0", {5, 4}), "/job:ps/task:0"),
                   NodeOf(Var("e/part_1", {5, 4}), "/job:ps/task:1")}));
  EXPECT_THAT(Place(2, kWorker1, {NodeOf(Var("w"), "/job:ps/task:1")}),
              StatusIs(kDisagrees, "another strategy"));
  EXPECT_THAT(
      Place(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}),
      StatusIs(kDisagrees, "there: float [2,3] on " + Cpu(kPs0) +
                               ", declared by a session of " + kWorker0));
  EXPECT_THAT(
      Place(2, kWorker1,
            {NodeOf(Var("w", {2, 3}, DT_INT32), "/job:ps/task:0")}),
      StatusIs(kDisagrees, "here:  int32 [2,3] on " + Cpu(kPs0) +
                               ", declared by this session of " + kWorker1));
  EXPECT_THAT(Place(2, kWorker1,
                    {NodeOf(Var("e/part_0", {4, 4}), "/job:ps/task:0"),
                     NodeOf(Var("e/part_1", {3, 4}), "/job:ps/task:1"),
                     NodeOf(Var("e/part_2", {3, 4}), "/job:ps/task:0")}),
              StatusIs(kDisagrees, "partitioner"));
}

TEST_F(CoordinatorTest, FailedPlacementDeclaresNoResources) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EXPECT_THAT(Place(2, kWorker1,
                    {NodeOf(Var("new"), "/job:ps/task:0"),
                     NodeOf(Var("w", {9}), "/job:ps/task:0")}),
              StatusIs(kDisagrees));
  EXPECT_THAT(Place(2, kWorker1,
                    {NodeOf(Var("new"), "/job:ps/task:0"),
                     NodeOf(Var("v"), "/job:ps/task:7")}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_OK(Place(3, kWorker0, {NodeOf(Var("new", {7}), "/job:ps/task:1")}));
  EXPECT_EQ(Tasks()[kWorker1].num_sessions, 0);
  EXPECT_EQ(Tasks()[kWorker0].num_sessions, 2);
}

TEST_F(CoordinatorTest, ExplanationSeesResourcesAndDeclaresNone) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("x"), "/job:ps/task:1")}));
  PlacementRequest request = RequestOf(
      2, kWorker1, {NodeOf(Var("x"), ""), NodeOf(Var("y"), "/job:ps/task:0")});
  request.explain = true;
  ASSERT_OK_AND_ASSIGN(const PlacementReply reply, BeginPlace(request).get());
  EXPECT_THAT(reply.devices, ElementsAre(Cpu(kPs1), Cpu(kPs0)));
  EXPECT_THAT(reply.reasons,
              ElementsAre(HasSubstr("Var 'x' lives there already"),
                          Not(HasSubstr("lives there"))));
  // An explained request declares nothing, so y may now be placed elsewhere.
  // Nor is an explained request compared with declared resources such as x.
  EXPECT_OK(Place(3, kWorker1, {NodeOf(Var("y"), "/job:ps/task:1")}));
  request.graph.nodes = {NodeOf(Var("x", {7}), "/job:ps/task:0")};
  EXPECT_OK(BeginPlace(request).get());
}

TEST_F(CoordinatorTest, IsolatedSessionSharesNoResources) {
  JoinAll();
  ASSERT_OK(Place(1, kPs1, {NodeOf(Var("w"), "")}));
  PlacementRequest request = RequestOf(
      2, kWorker1,
      {NodeOf(Var("w", {9}), "/job:ps/task:0"), NodeOf(Var("w"), "")});
  request.graph.nodes[1].name = "w_1";
  request.isolated = true;
  ASSERT_OK_AND_ASSIGN(const auto devices, Place(request));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs0), Cpu(kWorker1)))
      << "what others have is not looked for";
  EXPECT_OK(Place(3, kWorker0, {NodeOf(Var("w", {2, 3}), "/job:ps/task:0")}));
}

TEST_F(CoordinatorTest, AnUnpinnedResourceIsFoundByASecondSession) {
  JoinAll();
  ASSERT_OK_AND_ASSIGN(auto devices, Place(1, kPs1, {NodeOf(Var("x"), "")}));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs1)));
  ASSERT_OK_AND_ASSIGN(devices, Place(2, kWorker0, {NodeOf(Var("x"), "")}));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs1)));
  // After both sessions have ended, the resource's device is kept because the
  // object still exists ...
  EndSession(1);
  EndSession(2);
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("x"), Cpu(kPs1))};
  BeatAndReport(kPs1, report);
  ASSERT_OK_AND_ASSIGN(devices, Place(3, kWorker1, {NodeOf(Var("x"), "")}));
  EXPECT_THAT(devices, ElementsAre(Cpu(kPs1)));
  // ... and once the object is gone, a new resource can be placed on any
  // device.
  EndSession(3);
  BeatAndReport(kPs1, {});
  ASSERT_OK_AND_ASSIGN(devices, Place(4, kWorker1, {NodeOf(Var("x"), "")}));
  EXPECT_THAT(devices, ElementsAre(Cpu(kWorker1)));
}

TEST_F(CoordinatorTest, AResetAllowsAnotherDefinition) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EndSession(1);
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("w"), Cpu(kPs0))};
  BeatAndReport(kPs0, report);
  EXPECT_THAT(Tasks()[kPs0].resources,
              ElementsAre(Field(&PlacedResource::num_bytes, 24)));
  EXPECT_OK(Forget({}, {"/job:ps"}));
  EXPECT_THAT(Tasks()[kPs0].resources, IsEmpty());
  EXPECT_OK(Place(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}));
}

TEST_F(CoordinatorTest, ResourceDecidesAfterItsSessionEnds) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EndSession(1);
  const PlacementRequest other =
      RequestOf(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")});
  auto reply = BeginPlace(other);
  EXPECT_FALSE(reply.has_come()) << "only the ps knows whether w exists";
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("w"), Cpu(kPs0))};
  BeatAndReport(kPs0, report);
  EXPECT_THAT(reply.get(),
              StatusIs(kDisagrees, "has lived since a session of"));
  // Another session deletes the resource.
  reply = BeginPlace(other);
  EXPECT_FALSE(reply.has_come());
  BeatAndReport(kPs0, {});
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, MissingReportFailsAtTheDeadline) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EndSession(1);
  auto reply = BeginPlace(
      RequestOf(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}),
      absl::Seconds(2));
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_THAT(reply.get(), StatusIs(absl::StatusCode::kDeadlineExceeded,
                                    std::string(kPs0) + " to report"));
}

TEST_F(CoordinatorTest, LostTaskIsNotAskedForAReport) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EndSession(1);
  auto reply = BeginPlace(
      RequestOf(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}));
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("cut"));
  scheduler_.RunUntilIdle();
  EXPECT_FALSE(reply.has_come());
  JoinAs(kPs0, 2);
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, PlacementsRunOneAtATime) {
  JoinAll();
  std::vector<Pending<PlacementReply>> replies;
  for (uint64_t i = 0; i < 20; ++i) {
    const bool is_first = i % 2 == 0;
    replies.emplace_back();
    coordinator_->Place(
        RequestOf(i + 1, is_first ? kWorker0 : kWorker1,
                  {NodeOf(Var("w", {is_first ? 2 : 3}), "/job:ps/task:0")}),
        In(absl::Minutes(1)), nullptr, replies.back().Done());
  }
  scheduler_.RunUntilIdle();
  for (size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(replies[i].get().ok(), i % 2 == 0) << i << ": the first wins";
  }
}

// ---- sessions and their masters ----

TEST_F(CoordinatorTest, ReplacedMasterCannotPlace) {
  JoinAll();
  PlacementRequest request = RequestOf(1, kWorker0, {NodeOf(Var("x"), "")});
  request.incarnation = 9;
  EXPECT_THAT(Place(request), StatusIs(absl::StatusCode::kAborted, kWorker0));
  // A session whose master is replaced while it waits is not placed either.
  coordinator_->OnTaskLost(kWorker0, 1, absl::UnavailableError("cut"));
  request.incarnation = 1;
  auto reply = BeginPlace(request);
  EXPECT_FALSE(reply.has_come());
  JoinAs(kWorker0, 2);
  EXPECT_THAT(reply.get(), StatusIs(absl::StatusCode::kAborted, kWorker0));
}

TEST_F(CoordinatorTest, TheEndOfASessionEndsItsPlacement) {
  JoinAs(kWorker0);
  auto reply = BeginPlace(RequestOf(1, kWorker0, {NodeOf(Var("x"), "")}));
  auto other = BeginPlace(RequestOf(2, kWorker0, {NodeOf(Var("x"), "")}));
  EndSession(1);
  EXPECT_THAT(reply.get(), StatusIs(absl::StatusCode::kAborted, "has ended"));
  EXPECT_FALSE(other.has_come());
  EXPECT_THAT(BeginPlace(RequestOf(1, kWorker0, {})).get(),
              StatusIs(absl::StatusCode::kAborted, "has ended"));
}

TEST_F(CoordinatorTest, SessionsOfALostMasterDoNotConflict) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  coordinator_->OnTaskLost(kWorker0, 1, absl::UnavailableError("cut"));
  PlacementRequest request =
      RequestOf(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")});
  request.device_filters = {"/job:ps"};
  auto reply = BeginPlace(request);
  BeatAndReport(kPs0, {});
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, MissedSessionEndCausesOneConflict) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  const PlacementRequest other =
      RequestOf(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")});
  EXPECT_THAT(Place(other), StatusIs(kDisagrees));
  BeatAndReport(kWorker0, {});
  BeatAndReport(kWorker0, {});
  auto reply = BeginPlace(other);
  BeatAndReport(kPs0, {});
  EXPECT_OK(reply.get());
}

TEST_F(CoordinatorTest, ARestartedTaskHasLostItsContainers) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("w"), Cpu(kPs0))};
  EXPECT_OK(Beat(kPs0, 1, report));
  EXPECT_EQ(Tasks()[kPs0].resources.size(), 1u);
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("cut"));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kLost);
  EXPECT_THAT(Tasks()[kPs0].resources, IsEmpty());
  EXPECT_THAT(Beat(kPs0, 1), StatusIs(absl::StatusCode::kAborted, kPs0));
  JoinAs(kPs0, 2);
  EXPECT_OK(Place(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}));
}

TEST_F(CoordinatorTest, NewCoordinatorLearnsFromReports) {
  JoinAll();
  const std::vector<PlacementNode> model = {NodeOf(Var("w"), "/job:ps/task:0"),
                                            NodeOf(Var("x"), "/job:ps/task:1")};
  ASSERT_OK(Place(1, kWorker0, model));
  Start(200);
  HeartbeatRequest old;
  old.task = kPs0;
  old.incarnation = 1;
  old.coordinator = 100;
  Pending<HeartbeatReply> refused;
  coordinator_->Heartbeat(old, In(absl::Seconds(1)), refused.Done());
  EXPECT_THAT(refused.get(), StatusIs(absl::StatusCode::kAborted, "restarted"));

  JoinRequest worker = JoinOf(kWorker0, 1);
  worker.report.sessions = {
      {1, {Held("ps", Var("w"), Cpu(kPs0)), Held("ps", Var("x"), Cpu(kPs1))}}};
  EXPECT_OK(Join(worker));
  auto differs =
      BeginPlace(RequestOf(2, kWorker1, {NodeOf(Var("w"), "/job:ps/task:1")}));
  auto unpinned = BeginPlace(RequestOf(3, kWorker1, {NodeOf(Var("x"), "")}));
  auto held = BeginPlace(RequestOf(4, kWorker1, {NodeOf(Var("old"), "")}));
  for (const char* task : {kPs0, kPs1}) {
    JoinRequest ps = JoinOf(task, 1);
    ps.report.resources = {
        Held("ps", Var(task == kPs0 ? "w" : "x"), Cpu(task)),
        Held("ps", Var(task == kPs0 ? "old" : "y"), Cpu(task))};
    EXPECT_OK(Join(ps));
  }
  JoinAs(kWorker1);
  EXPECT_THAT(differs.get(), StatusIs(kDisagrees, "Var \"w\""));
  ASSERT_OK(unpinned.get());
  EXPECT_THAT(unpinned.get()->devices, ElementsAre(Cpu(kPs1)));
  ASSERT_OK(held.get());
  EXPECT_THAT(held.get()->devices, ElementsAre(Cpu(kPs0)));
  EXPECT_OK(Place(5, kWorker1, model));
}

TEST_F(CoordinatorTest, ReconnectKeepsDeclaredResources) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  const protocol::DeclaredResources declared = {
      1, {Held("ps", Var("w"), Cpu(kPs0))}};
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("cut"));
  JoinRequest back = JoinOf(kPs0, 1);
  back.report.resources = declared.resources;
  EXPECT_OK(Join(back));
  // Only the worker knows which resources its session declares on the ps.
  protocol::TaskReport report;
  report.sessions = {declared};
  BeatAndReport(kWorker0, report);
  EXPECT_THAT(Place(2, kWorker1, {NodeOf(Var("w"), "/job:ps/task:1")}),
              StatusIs(kDisagrees, "declared by a session of"));
}

// The end of the session was reported to the previous coordinator, or was not
// reported.
TEST_F(CoordinatorTest, SessionEndedDuringJoinIsForgotten) {
  JoinRequest worker = JoinOf(kWorker0, 1);
  worker.report.sessions = {{1, {Held("ps", Var("w"), Cpu(kPs0))}}};
  EXPECT_OK(Join(worker));
  BeatAndReport(kWorker0, {});
  EXPECT_OK(Beat(kWorker0, 1, protocol::TaskReport()));
  EXPECT_EQ(Tasks()[kWorker0].num_sessions, 0);
}

}  // namespace
}  // namespace weft
