// Tests how tasks join, leave and are lost, and what other tasks are told about
// that.
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/async/limited_log.h"
#include "libs/base/test_matchers.h"
#include "libs/coordinator/testing/coordinator_harness.h"

namespace weft {
namespace {

using protocol::ClusterStatus;
using protocol::HeartbeatReply;
using protocol::JoinReply;
using protocol::JoinRequest;
using protocol::LeftTask;
using protocol::PlacementReply;
using protocol::PlacementRequest;
using protocol::TaskState;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST_F(CoordinatorTest, JoinReplyHasIncarnationAndInterval) {
  ASSERT_OK_AND_ASSIGN(const JoinReply first, Join(JoinOf(kPs0, 1)));
  EXPECT_EQ(first.coordinator, 100u);
  EXPECT_EQ(first.heartbeat_interval, absl::Seconds(1));
  Start(200);
  ASSERT_OK_AND_ASSIGN(const JoinReply other, Join(JoinOf(kPs0, 1)));
  EXPECT_EQ(other.coordinator, 200u);
}

TEST_F(CoordinatorTest, ClusterUuidIsSentOnceAllJoined) {
  for (const char* task : {kWriter, kCoordinator, kPs0, kPs1, kWorker0}) {
    ASSERT_OK_AND_ASSIGN(const JoinReply early, Join(JoinOf(task, 1)));
    EXPECT_EQ(early.cluster_uuid, "");
  }
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply before, Beat(kPs0));
  EXPECT_EQ(before.cluster_uuid, "");
  ASSERT_OK_AND_ASSIGN(const JoinReply last, Join(JoinOf(kWorker1, 1)));
  EXPECT_EQ(last.cluster_uuid.size(), 32u);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply after, Beat(kPs0));
  EXPECT_EQ(after.cluster_uuid, last.cluster_uuid);
}

// The uuid is kept even if the task that hosts the coordinator, or another
// task, is new.
TEST_F(CoordinatorTest, ClusterUuidOutlivesTheCoordinator) {
  const std::string uuid = "00112233445566778899aabbccddeeff";
  Start(200);
  ASSERT_OK_AND_ASSIGN(const JoinReply fresh, Join(JoinOf(kPs0, 2)));
  EXPECT_EQ(fresh.cluster_uuid, "");
  JoinRequest old = JoinOf(kWorker0, 1);
  old.cluster_uuid = uuid;
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(old));
  EXPECT_EQ(reply.cluster_uuid, uuid);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply beat, Beat(kPs0, 2));
  EXPECT_EQ(beat.cluster_uuid, uuid);
  ASSERT_OK_AND_ASSIGN(const JoinReply later, Join(JoinOf(kPs1, 1)));
  EXPECT_EQ(later.cluster_uuid, uuid);
}

TEST_F(CoordinatorTest, MalformedClusterUuidIsIgnored) {
  JoinRequest odd = JoinOf(kPs0, 1);
  for (const std::string& text : {std::string("c0ffee"), std::string(32, '/'),
                                  std::string(100'000, 'a')}) {
    odd.cluster_uuid = text;
    ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(odd));
    EXPECT_EQ(reply.cluster_uuid, "");
  }
}

TEST_F(CoordinatorTest, EachDepartureIsReportedOnce) {
  JoinAll();
  const auto beat_since = [this](uint64_t version) {
    protocol::HeartbeatRequest request;
    request.task = kWorker0;
    request.incarnation = 1;
    request.coordinator = incarnation_;
    request.left_version = version;
    Pending<HeartbeatReply> reply;
    coordinator_->Heartbeat(request, In(absl::Seconds(3)), reply.Done());
    return *reply.get();
  };
  const HeartbeatReply none = beat_since(0);
  EXPECT_GT(none.left_version, 0u);
  EXPECT_THAT(none.left, IsEmpty());
  Leave(kPs0);
  Leave(kPs1);
  const HeartbeatReply both = beat_since(none.left_version);
  EXPECT_THAT(both.left, ElementsAre(LeftTask{kPs0, 1}, LeftTask{kPs1, 1}));
  EXPECT_THAT(beat_since(both.left_version).left, IsEmpty());
  JoinAs(kPs0, 2);
  const HeartbeatReply back = beat_since(both.left_version);
  EXPECT_THAT(back.left, ElementsAre(LeftTask{kPs0, 0}));
  EXPECT_THAT(beat_since(0).left,
              ElementsAre(LeftTask{kPs0, 0}, LeftTask{kPs1, 1}));
}

// The uuids of two clusters that use the same addresses.
constexpr char kThisCluster[] = "0123456789abcdef0123456789abcdef";
constexpr char kOtherCluster[] = "ffffffffffffffffffffffffffffffff";

// The tasks were members under the previous coordinator, which sent them the
// cluster's uuid. One of them leaves before it joins this coordinator.
TEST_F(CoordinatorTest, TaskMayLeaveBeforeItJoined) {
  JoinRequest survivor = JoinOf(kWorker0, 1);
  survivor.cluster_uuid = kThisCluster;
  EXPECT_OK(Join(survivor));
  Leave(kPs0, 1, kThisCluster);
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kLeft);
  EXPECT_THAT(Beat(kWorker0)->left, ElementsAre(LeftTask{kPs0, 1}));
  EXPECT_THAT(Join(JoinOf(kPs0, 1)), StatusIs(absl::StatusCode::kAborted))
      << "its last Join may be overtaken";
  JoinAs(kPs0, 2);
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kAlive);
}

TEST_F(CoordinatorTest, TaskMayLeaveBeforeOthersJoined) {
  Leave(kPs0, 1, kThisCluster);
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kExpected);
  EXPECT_THAT(Join(JoinOf(kPs0, 1)), StatusIs(absl::StatusCode::kAborted));
  JoinRequest survivor = JoinOf(kWorker0, 1);
  survivor.cluster_uuid = kThisCluster;
  EXPECT_OK(Join(survivor));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kLeft);
  EXPECT_THAT(Beat(kWorker0)->left, ElementsAre(LeftTask{kPs0, 1}));
}

// An earlier deployment had the same addresses, and its workers leave late.
// They must not count as the workers of this cluster.
TEST_F(CoordinatorTest, LeaveOfAnotherClusterDoesNotCount) {
  JoinAs(kPs0);
  for (const std::string& uuid : {std::string(), std::string(kOtherCluster)}) {
    Leave(kWorker0, 9, uuid);
    Leave(kWorker1, 9, uuid);
  }
  JoinRequest survivor = JoinOf(kPs1, 1);
  survivor.cluster_uuid = kThisCluster;
  EXPECT_OK(Join(survivor));
  EXPECT_THAT(Beat(kPs0)->finished_jobs, IsEmpty());
  Leave(kWorker0, 9, kOtherCluster);
  EXPECT_EQ(Tasks()[kWorker0].state, TaskState::kExpected);
  JoinAs(kWorker0, 2);
  EXPECT_EQ(Tasks()[kWorker0].state, TaskState::kAlive);
}

// The task connected before the uuid of the cluster was final. If it could
// join, its leaving would end its job in this cluster.
TEST_F(CoordinatorTest, TaskOfAnotherClusterMayNotJoin) {
  JoinRequest survivor = JoinOf(kWorker0, 1);
  survivor.cluster_uuid = kThisCluster;
  EXPECT_OK(Join(survivor));
  JoinRequest stranger = JoinOf(kWorker1, 9);
  stranger.cluster_uuid = kOtherCluster;
  EXPECT_THAT(Join(stranger), StatusIs(kDisagrees, kThisCluster));
  EXPECT_THAT(Join(stranger), StatusIs(kDisagrees, kOtherCluster));
  EXPECT_THAT(logger_.lines(),
              Contains(testing::HasSubstr("may not join as /job:worker")));
  Leave(kWorker1, 9, kOtherCluster);
  Leave(kWorker0, 1, kThisCluster);
  EXPECT_EQ(Tasks()[kWorker1].state, TaskState::kExpected);
  JoinAs(kPs0);
  EXPECT_THAT(Beat(kPs0)->finished_jobs, IsEmpty());
  JoinAs(kWorker1, 2);
  EXPECT_EQ(Tasks()[kWorker1].state, TaskState::kAlive);
}

// All tasks are new, so they get a new uuid. A task of another cluster, which
// connected before any task had joined with its uuid, is refused.
TEST_F(CoordinatorTest, AllNewTasksMakeANewCluster) {
  for (const char* task : {kWriter, kCoordinator, kPs0, kPs1, kWorker0}) {
    JoinAs(task);
  }
  ASSERT_OK_AND_ASSIGN(const JoinReply last, Join(JoinOf(kWorker1, 1)));
  Leave(kWorker1);
  JoinRequest stranger = JoinOf(kWorker1, 9);
  stranger.cluster_uuid = kOtherCluster;
  EXPECT_THAT(Join(stranger), StatusIs(kDisagrees, last.cluster_uuid));
}

TEST_F(CoordinatorTest, RefusalsOfManyProcessesDoNotFillTheLog) {
  JoinAs(kPs0);
  for (uint64_t incarnation = 2; incarnation < 1000; ++incarnation) {
    EXPECT_FALSE(Join(JoinOf(kPs0, incarnation)).ok());
  }
  EXPECT_LE(logger_.lines().size(), 1 + size_t{LineLimit::kMaxLines});
}

TEST_F(CoordinatorTest, HeartbeatReportsTasksThatHaveLeft) {
  JoinAs(kWorker0);
  JoinAs(kPs1);
  protocol::HeartbeatRequest request;
  request.task = kWorker0;
  request.incarnation = 1;
  request.coordinator = incarnation_;
  request.left = {{kPs0, 1}, {kPs1, 1}};
  Pending<HeartbeatReply> reply;
  coordinator_->Heartbeat(request, In(absl::Seconds(3)), reply.Done());
  ASSERT_OK(reply.get());
  EXPECT_THAT(reply.get()->left, ElementsAre(LeftTask{kPs0, 1}));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kLeft);
  EXPECT_EQ(Tasks()[kPs1].state, TaskState::kAlive);
}

TEST_F(CoordinatorTest, FirstOfTwoClaimantsIsTheTask) {
  JoinAs(kPs0, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(Join(JoinOf(kPs0, 2)),
                StatusIs(absl::StatusCode::kAlreadyExists, kPs0));
  }
  EXPECT_OK(Beat(kPs0, 1));
  int lines = 0;
  for (const std::string& line : logger_.lines()) {
    lines += line.find("may not join") != line.npos;
  }
  EXPECT_EQ(lines, 1) << "one line a claimant";
  Leave(kPs0, 2);
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kAlive);
  Leave(kPs0, 1);
  EXPECT_OK(Join(JoinOf(kPs0, 2)));
}

TEST_F(CoordinatorTest, TasksOfAnotherClusterAreRefused) {
  JoinRequest request = JoinOf(kPs0, 1);
  request.cluster = R"({"ps": ["elsewhere:1"], "worker": ["d:1"]})";
  EXPECT_THAT(Join(request),
              StatusIs(kDisagrees,
                       "task 0 of job \"ps\" is b:1 in the first "
                       "and elsewhere:1 in the second"));
  request.task = "/job:ps/replica:0/task:7";
  request.devices.clear();
  EXPECT_THAT(Join(request), StatusIs(kDisagrees,
                                      "/job:ps/replica:0/task:7 is "
                                      "not a task of the cluster"));
  request = JoinOf(kPs0, 1);
  request.cluster = "{";
  EXPECT_THAT(Join(request),
              StatusIs(absl::StatusCode::kInvalidArgument, kPs0));
  request.cluster = R"({"ps": ["b:1"]})";
  EXPECT_OK(Join(request)) << "a sparse spec contradicts nothing";
}

TEST_F(CoordinatorTest, AnotherBuildIsRefused) {
  JoinRequest other = JoinOf(kPs1, 1);
  other.op_fingerprint = 0xabc;
  JoinRequest none = JoinOf(kWorker0, 1);
  none.op_fingerprint = 0;
  EXPECT_OK(Join(none));
  JoinAs(kPs0);
  EXPECT_THAT(Join(other), StatusIs(kDisagrees, "different builds of Weft"));
  EXPECT_THAT(Join(other), StatusIs(kDisagrees, kPs0));
  EXPECT_THAT(Join(other), StatusIs(kDisagrees, "abc"));
  Leave(kPs0);
  EXPECT_OK(Join(other)) << "a new build takes over when the old has gone";
  EXPECT_THAT(Join(JoinOf(kPs0, 2)), StatusIs(kDisagrees, kPs1));
}

TEST_F(CoordinatorTest, MalformedJoinRequestsAreRefused) {
  JoinRequest request = JoinOf(kPs0, 0);
  EXPECT_THAT(Join(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "incarnation"));
  for (const std::string& device :
       {std::string("/cpu:0"), std::string("x"), std::string(), Cpu(kPs1),
        std::string("/job:ps/task:0/replica:0/device:CPU:0")}) {
    request = JoinOf(kPs0, 1);
    request.devices[0].name = device;
    EXPECT_THAT(Join(request),
                StatusIs(absl::StatusCode::kInvalidArgument, kPs0))
        << device;
  }
  request = JoinOf(kPs0, 1);
  request.devices.push_back(request.devices[0]);
  EXPECT_THAT(Join(request),
              StatusIs(absl::StatusCode::kInvalidArgument, "twice"));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kExpected);
}

TEST_F(CoordinatorTest, TaskWithoutHeartbeatsIsLost) {
  JoinAs(kPs0);
  JoinAs(kPs1);
  for (int i = 0; i < 7; ++i) {
    EXPECT_OK(Beat(kPs1));
    scheduler_.AdvanceBy(absl::Seconds(1));
  }
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kLost);
  EXPECT_EQ(Tasks()[kPs1].state, TaskState::kAlive);
  EXPECT_THAT(logger_.lines(), Contains("W /job:ps/replica:0/task:0 is lost: "
                                        "it has sent no heartbeat for 5s"));
  EXPECT_THAT(Beat(kPs0), StatusIs(absl::StatusCode::kAborted, kPs0));
  EXPECT_OK(Join(JoinOf(kPs0, 1)));
}

TEST_F(CoordinatorTest, StalledCoordinatorLosesNoTask) {
  const auto part = scheduler_.NewPart();
  Start(200, absl::Seconds(1), part.get());
  JoinAs(kPs0);
  JoinAs(kPs1);
  scheduler_.AdvanceBy(absl::Milliseconds(2500));
  EXPECT_OK(Beat(kPs1));
  PausePart(*part, absl::Minutes(1));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kAlive);
  EXPECT_OK(Beat(kPs1));
  scheduler_.AdvanceBy(absl::Milliseconds(4500));
  EXPECT_OK(Beat(kPs1));
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kLost) << "more was not missed";
  EXPECT_EQ(Tasks()[kPs1].state, TaskState::kAlive);
  coordinator_.reset();
}

// No task is lost even if the coordinator is stopped for less than the
// heartbeat timeout.
TEST_F(CoordinatorTest, BrieflyStalledCoordinatorLosesNoTask) {
  const auto part = scheduler_.NewPart();
  Start(200, absl::Seconds(1), part.get());
  JoinAs(kPs0);
  scheduler_.AdvanceBy(absl::Milliseconds(900));
  PausePart(*part, absl::Milliseconds(4150));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kAlive);
  coordinator_.reset();
}

TEST_F(CoordinatorTest, LateCoordinatorStillLosesSilentTasks) {
  const auto part = scheduler_.NewPart();
  Start(200, absl::Seconds(1), part.get());
  JoinAs(kPs0);
  JoinAs(kPs1);
  for (int i = 0; i < 20; ++i) {
    PausePart(*part, absl::Milliseconds(2500));
    EXPECT_OK(Beat(kPs1));
  }
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kLost);
  EXPECT_EQ(Tasks()[kPs1].state, TaskState::kAlive);
  coordinator_.reset();
}

// The logger in this test calls the coordinator. If lines were logged with the
// lock held, that call would never return.
TEST_F(CoordinatorTest, LinesAreLoggedWithoutTheLock) {
  class AskingLogger : public Logger {
   public:
    explicit AskingLogger(std::unique_ptr<Coordinator>& coordinator)
        : coordinator_(coordinator) {}
    void Log(Severity, absl::string_view) override {
      coordinator_->GetCluster(
          {}, absl::InfiniteFuture(),
          [this](const absl::StatusOr<ClusterStatus>&) { ++lines; });
    }
    int lines = 0;

   private:
    std::unique_ptr<Coordinator>& coordinator_;
  };
  AskingLogger logger(coordinator_);
  Start(200, absl::Seconds(1), &scheduler_, &logger);
  JoinAs(kPs0);
  EXPECT_FALSE(Join(JoinOf(kPs0, 2)).ok());
  Leave(kPs0);
  JoinAs(kPs1);
  coordinator_->OnTaskLost(kPs1, 1, absl::UnavailableError("cut"));
  JoinAs(kWorker0);
  const auto waiting = BeginPlace(RequestOf(1, kWorker0, {}));
  scheduler_.AdvanceBy(absl::Seconds(11));
  coordinator_->Shutdown(In(absl::Seconds(1)), [](const absl::Status&) {});
  EXPECT_EQ(logger.lines, 9);
  coordinator_.reset();
}

TEST_F(CoordinatorTest, LateLossOfOldProcessKeepsTheNewOne) {
  JoinAs(kPs0, 1);
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("it was cut"));
  JoinAs(kPs0, 2);
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("it was cut"));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kAlive);
}

TEST_F(CoordinatorTest, ConnectionLossDoesNotSwitchClaimants) {
  JoinAs(kPs0, 1);
  EXPECT_FALSE(Join(JoinOf(kPs0, 2)).ok());
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("it was cut"));
  EXPECT_THAT(Join(JoinOf(kPs0, 2)),
              StatusIs(absl::StatusCode::kAborted, "may come back"));
  EXPECT_OK(Join(JoinOf(kPs0, 1)));
}

TEST_F(CoordinatorTest, MembershipChangesAreLogged) {
  JoinAs(kPs0);
  JoinAs(kPs0);
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("it was cut"));
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("it was cut"));
  JoinAs(kPs0, 2);
  Leave(kPs0, 2);
  Leave(kPs0, 2);
  EXPECT_THAT(
      logger_.lines(),
      ElementsAre(
          "I /job:ps/replica:0/task:0 has joined at zmq://somewhere:1 with 1 "
          "device",
          "W /job:ps/replica:0/task:0 is lost: it was cut",
          "I /job:ps/replica:0/task:0 has joined at zmq://somewhere:1 with 1 "
          "device",
          "I /job:ps/replica:0/task:0 has left"));
}

TEST_F(CoordinatorTest, KnowsWhichProcessOfATaskHasLeft) {
  EXPECT_FALSE(coordinator_->HasLeft(kPs0, 1));
  JoinAs(kPs0, 1);
  EXPECT_FALSE(coordinator_->HasLeft(kPs0, 1));
  Leave(kPs0, 1);
  EXPECT_TRUE(coordinator_->HasLeft(kPs0, 1));
  EXPECT_FALSE(coordinator_->HasLeft(kPs0, 2));
  JoinAs(kPs0, 2);
  EXPECT_FALSE(coordinator_->HasLeft(kPs0, 2));
  EXPECT_FALSE(coordinator_->HasLeft("nobody", 1));
}

TEST_F(CoordinatorTest, OnlyDisconnectsLoseTasksWithoutHeartbeats) {
  Start(200, absl::InfiniteDuration());
  ASSERT_OK_AND_ASSIGN(const JoinReply reply, Join(JoinOf(kPs0, 1)));
  EXPECT_EQ(reply.heartbeat_interval, absl::InfiniteDuration());
  scheduler_.AdvanceBy(absl::Hours(1000));
  EXPECT_EQ(Tasks()[kPs0].state, TaskState::kAlive);
  JoinAs(kPs1);
  JoinAs(kWorker0);
  JoinAs(kWorker1);
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("w"), "/job:ps/task:0")}));
  EXPECT_THAT(Place(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}),
              StatusIs(kDisagrees));
  EndSession(1);
  EXPECT_OK(Place(2, kWorker1, {NodeOf(Var("w", {9}), "/job:ps/task:0")}))
      << "nobody can tell whether it still exists";
}

TEST_F(CoordinatorTest, HeartbeatReplyNamesFinishedJobs) {
  JoinAll();
  Leave(kWorker0);
  ASSERT_OK_AND_ASSIGN(HeartbeatReply reply, Beat(kPs0));
  EXPECT_THAT(reply.finished_jobs, IsEmpty());
  Leave(kWorker1);
  ASSERT_OK_AND_ASSIGN(reply, Beat(kPs0));
  EXPECT_THAT(reply.finished_jobs, ElementsAre("worker"));
  JoinAs(kWorker1, 2);
  ASSERT_OK_AND_ASSIGN(reply, Beat(kPs0));
  EXPECT_THAT(reply.finished_jobs, IsEmpty());
}

// The parameter server belongs to a program that trains twice, so it is told of
// the finish of each training.
TEST_F(CoordinatorTest, ParameterServerGetsOneFinishPerTraining) {
  JoinAll();
  Leave(kWorker0);
  Leave(kWorker1);
  EXPECT_THAT(Beat(kPs0)->finished_jobs, ElementsAre("worker"));
  Leave(kPs0);
  JoinAs(kPs0, 2);
  EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, IsEmpty());
  JoinAs(kWorker0, 2);
  Leave(kWorker0, 2);
  EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, IsEmpty())
      << "the other worker has not started";
  JoinAs(kWorker1, 2);
  EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, IsEmpty());
  Leave(kWorker1, 2);
  EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, ElementsAre("worker"));
}

// A worker of the next training may be faster than a parameter server of this
// training. If the server missed the first finish, it would mistake the end of
// the next training for the end of its own.
TEST_F(CoordinatorTest, FinishIsReportedAlthoughTheJobRestarts) {
  JoinAll();
  Leave(kWorker0);
  Leave(kWorker1);
  JoinAs(kWorker0, 2);
  EXPECT_THAT(Beat(kPs0)->finished_jobs, ElementsAre("worker"));
  EXPECT_THAT(Beat(kPs0)->finished_jobs, IsEmpty()) << "once";
  Leave(kPs0);
  JoinAs(kWorker1, 2);
  Leave(kWorker0, 2);
  Leave(kWorker1, 2);
  JoinAs(kPs0, 2);
  EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, ElementsAre("worker"))
      << "the end of the next training, which had nothing left to do";
}

// The next training had no work left, and ended before the parameter server's
// next heartbeat.
TEST_F(CoordinatorTest, TwoFinishesBeforeAHeartbeatCountAsTwo) {
  for (const bool is_notified : {true, false}) {
    Start(is_notified ? 100 : 200);
    JoinAll();
    for (const uint64_t incarnation : {1, 2}) {
      if (incarnation == 2) JoinAs(kWorker0, 2);
      if (incarnation == 2) JoinAs(kWorker1, 2);
      Leave(kWorker0, incarnation);
      Leave(kWorker1, incarnation);
    }
    if (is_notified) {
      EXPECT_THAT(Beat(kPs0)->finished_jobs, ElementsAre("worker"));
    }
    Leave(kPs0);
    JoinAs(kPs0, 2);
    EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, ElementsAre("worker"));
    Leave(kPs0, 2);
    JoinAs(kPs0, 3);
    EXPECT_THAT(Beat(kPs0, 3)->finished_jobs, IsEmpty());
  }
}

// The parameter server joins again as the same process, after it has missed
// both finishes, or after it was notified of them.
TEST_F(CoordinatorTest, RejoinedTaskEndsWithItsFirstFinish) {
  for (const bool is_notified : {true, false}) {
    Start(is_notified ? 100 : 200);
    JoinAll();
    if (!is_notified) {
      coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("it was cut"));
    }
    for (const uint64_t incarnation : {1, 2}) {
      if (incarnation == 2) JoinAs(kWorker0, 2);
      if (incarnation == 2) JoinAs(kWorker1, 2);
      Leave(kWorker0, incarnation);
      Leave(kWorker1, incarnation);
    }
    JoinRequest again = JoinOf(kPs0, 1);
    if (is_notified) {
      EXPECT_THAT(Beat(kPs0)->finished_jobs, ElementsAre("worker"));
      again.left = {{kWorker0, 2}, {kWorker1, 2}};
    }
    EXPECT_OK(Join(again));
    EXPECT_THAT(Beat(kPs0)->finished_jobs, ElementsAre("worker"));
    Leave(kPs0);
    JoinAs(kPs0, 2);
    EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, ElementsAre("worker"));
    Leave(kPs0, 2);
    JoinAs(kPs0, 3);
    EXPECT_THAT(Beat(kPs0, 3)->finished_jobs, IsEmpty());
  }
}

// All tasks of a training may be asked to end at once, so a parameter server
// may leave before the job finishes or after that.
TEST_F(CoordinatorTest, SuccessorOfALeftTaskGetsTheNextFinish) {
  for (const bool leaves_first : {true, false}) {
    Start(leaves_first ? 100 : 200);
    JoinAll();
    if (leaves_first) Leave(kPs0);
    Leave(kWorker0);
    Leave(kWorker1);
    if (!leaves_first) Leave(kPs0);
    JoinAs(kPs0, 2);
    EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, IsEmpty());
    JoinAs(kWorker0, 2);
    JoinAs(kWorker1, 2);
    EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, IsEmpty());
    Leave(kWorker0, 2);
    Leave(kWorker1, 2);
    EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, ElementsAre("worker"));
  }
}

TEST_F(CoordinatorTest, TaskRestartedBeforeTheFinishGetsIt) {
  JoinAll();
  Leave(kPs0);
  JoinAs(kPs0, 2);
  Leave(kWorker0);
  Leave(kWorker1);
  EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, ElementsAre("worker"));
}

// A new parameter server knows which tasks left at the end of the last
// training, and reports that to the new coordinator.
TEST_F(CoordinatorTest, NewCoordinatorDoesNotRepeatAFinish) {
  Start(200);
  JoinRequest survivor = JoinOf(kPs0, 2);
  survivor.left = {{kWorker0, 1}, {kWorker1, 1}};
  EXPECT_OK(Join(survivor));
  EXPECT_EQ(Tasks()[kWorker1].state, TaskState::kLeft);
  EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, IsEmpty());
  JoinAs(kWorker0, 2);
  JoinAs(kWorker1, 2);
  Leave(kWorker0, 2);
  Leave(kWorker1, 2);
  EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, ElementsAre("worker"));
}

TEST_F(CoordinatorTest, FinishUnknownToCoordinatorsIsReported) {
  Start(200);
  JoinRequest survivor = JoinOf(kPs0, 1);
  survivor.left = {{kWorker0, 1}};
  EXPECT_OK(Join(survivor));
  EXPECT_THAT(Beat(kPs0)->finished_jobs, IsEmpty());
  protocol::HeartbeatRequest request;
  request.task = kPs0;
  request.incarnation = 1;
  request.coordinator = incarnation_;
  request.left = {{kWorker1, 1}};
  Pending<HeartbeatReply> reply;
  coordinator_->Heartbeat(request, In(absl::Seconds(3)), reply.Done());
  ASSERT_OK(reply.get());
  EXPECT_THAT(reply.get()->finished_jobs, ElementsAre("worker"));
}

// The lost task did not end with the training, so it needs the finish again.
TEST_F(CoordinatorTest, LostTaskGetsAFinishAgain) {
  JoinAll();
  Leave(kWorker0);
  Leave(kWorker1);
  EXPECT_THAT(Beat(kPs0)->finished_jobs, ElementsAre("worker"));
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("it was cut"));
  JoinAs(kPs0, 2);
  EXPECT_THAT(Beat(kPs0, 2)->finished_jobs, ElementsAre("worker"));
}

// A lost task cannot be notified. A task that sends another heartbeat has
// received the previous reply.
TEST_F(CoordinatorTest, AcknowledgmentNeedsALaterHeartbeat) {
  JoinAll();
  const auto beat_twice = [this](const char* task) {
    ASSERT_OK(Beat(task));
    EXPECT_FALSE(coordinator_->HaveAllAcknowledged());
    ASSERT_OK(Beat(task));
  };
  beat_twice(kPs0);
  beat_twice(kPs1);
  Leave(kWorker0);
  Leave(kWorker1);
  EXPECT_FALSE(coordinator_->HaveAllAcknowledged());
  beat_twice(kPs0);
  EXPECT_FALSE(coordinator_->HaveAllAcknowledged());
  coordinator_->OnTaskLost(kPs1, 1, absl::UnavailableError("it was cut"));
  EXPECT_TRUE(coordinator_->HaveAllAcknowledged());
  JoinAs(kPs0);
  EXPECT_FALSE(coordinator_->HaveAllAcknowledged())
      << "what it heard it may forget";
  beat_twice(kPs0);
  EXPECT_TRUE(coordinator_->HaveAllAcknowledged());
  Leave(kPs0);
  EXPECT_TRUE(coordinator_->HaveAllAcknowledged());
}

TEST_F(CoordinatorTest, LateJoinDoesNotReviveAFinishedJob) {
  JoinAll();
  Leave(kWorker0);
  Leave(kWorker1);
  EXPECT_THAT(Join(JoinOf(kWorker1, 1)),
              StatusIs(absl::StatusCode::kAborted, "has left the cluster"));
  coordinator_->OnTaskLost(kWorker1, 1, absl::UnavailableError("it was cut"));
  EXPECT_EQ(Tasks()[kWorker1].state, TaskState::kLeft);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Beat(kPs0));
  EXPECT_THAT(reply.finished_jobs, ElementsAre("worker"));
}

TEST_F(CoordinatorTest, ShutdownStopsTheCoordinatorLast) {
  JoinAs(kPs0);
  JoinAs(kWorker0);
  JoinRequest own = JoinOf(kCoordinator, 1);
  own.devices.clear();
  EXPECT_OK(Join(own));
  const auto shall_stop = [&](const std::string& task) {
    const absl::StatusOr<HeartbeatReply> reply = Beat(task);
    EXPECT_OK(reply);
    return reply.ok() && reply->stop;
  };
  EXPECT_FALSE(shall_stop(kPs0));
  absl::Status status = absl::UnknownError("not answered");
  coordinator_->Shutdown(In(absl::Seconds(1)),
                         [&](absl::Status given) { status = given; });
  EXPECT_OK(status);
  EXPECT_TRUE(shall_stop(kPs0));
  EXPECT_TRUE(shall_stop(kWorker0));
  EXPECT_FALSE(shall_stop(kCoordinator));
  Leave(kPs0);
  EXPECT_FALSE(shall_stop(kCoordinator));
  coordinator_->OnTaskLost(kWorker0, 1, absl::UnavailableError("cut"));
  EXPECT_TRUE(shall_stop(kCoordinator));
}

TEST_F(CoordinatorTest, ShutdownDoesNotWaitForeverForATask) {
  JoinAs(kPs0);
  JoinRequest own = JoinOf(kCoordinator, 1);
  own.devices.clear();
  EXPECT_OK(Join(own));
  coordinator_->Shutdown(In(absl::Seconds(1)), [](const absl::Status&) {});
  for (int i = 0; i < 10; ++i) {
    EXPECT_OK(Beat(kPs0));
    ASSERT_OK_AND_ASSIGN(const HeartbeatReply early, Beat(kCoordinator));
    EXPECT_FALSE(early.stop) << "after " << i << " seconds";
    scheduler_.AdvanceBy(absl::Seconds(1));
  }
  EXPECT_OK(Beat(kPs0));
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Beat(kCoordinator));
  EXPECT_TRUE(reply.stop);
}

TEST_F(CoordinatorTest, StatusDescribesAllTasks) {
  JoinAs(kPs0, 7);
  PlacementRequest request = RequestOf(1, kWorker0, {NodeOf(Var("x"), "")});
  request.device_filters = {"/job:worker/task:0"};
  JoinAs(kWorker0);
  ASSERT_OK(Place(request));
  Pending<ClusterStatus> pending;
  coordinator_->GetCluster({}, In(absl::Seconds(1)), pending.Done());
  ASSERT_OK_AND_ASSIGN(const ClusterStatus status, pending.get());
  EXPECT_EQ(status.coordinator, kCoordinator);
  EXPECT_EQ(status.cluster_uuid.size(), 32u);
  std::vector<std::string> names;
  for (const auto& task : status.tasks) names.push_back(task.task);
  EXPECT_THAT(names, ElementsAre("/job:checkpoint_writer/replica:0/task:0",
                                 kCoordinator, kPs0, kPs1, kWorker0, kWorker1));
  const protocol::TaskStatus& ps = status.tasks[2];
  EXPECT_EQ(ps.state, TaskState::kAlive);
  EXPECT_EQ(ps.incarnation, 7u);
  EXPECT_EQ(ps.target, "zmq://somewhere:1");
  EXPECT_THAT(ps.devices,
              ElementsAre(Field(&DeviceAttributes::name, Cpu(kPs0))));
  EXPECT_EQ(status.tasks[3].state, TaskState::kExpected);
  EXPECT_EQ(status.tasks[4].num_sessions, 1);
  ASSERT_OK_AND_ASSIGN(const HeartbeatReply reply, Beat(kPs0, 7));
  EXPECT_TRUE(reply.wants_report) << "a later report has more";
}

TEST_F(CoordinatorTest, OnlyFreshStatusHasContainerCounts) {
  JoinAll();
  ASSERT_OK(Place(1, kWorker0, {NodeOf(Var("x"), "/job:ps/task:0")}));
  EXPECT_THAT(Tasks()[kWorker0].sessions_by_container, IsEmpty());
  EXPECT_EQ(Tasks()[kWorker0].num_sessions, 1);
  Pending<ClusterStatus> pending;
  coordinator_->GetCluster({.is_fresh = true}, In(absl::Minutes(1)),
                           pending.Done());
  scheduler_.AdvanceBy(absl::Seconds(2));
  ASSERT_OK_AND_ASSIGN(const ClusterStatus status, pending.get());
  ASSERT_EQ(status.tasks[4].task, kWorker0);
  EXPECT_THAT(status.tasks[4].sessions_by_container,
              ElementsAre(Pair("ps", 1)));
}

TEST_F(CoordinatorTest, StatesOmitResourcesAndDevices) {
  JoinAs(kPs0);
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("x"), Cpu(kPs0))};
  BeatAndReport(kPs0, report);
  ASSERT_THAT(Tasks()[kPs0].resources, SizeIs(1));
  Pending<ClusterStatus> pending;
  coordinator_->GetCluster({.only_states = true}, In(absl::Seconds(1)),
                           pending.Done());
  ASSERT_OK_AND_ASSIGN(const ClusterStatus status, pending.get());
  ASSERT_THAT(status.tasks, SizeIs(6));
  EXPECT_EQ(status.tasks[2].task, kPs0);
  EXPECT_EQ(status.tasks[2].state, TaskState::kAlive);
  EXPECT_THAT(status.tasks[2].resources, IsEmpty());
  EXPECT_THAT(status.tasks[2].devices, IsEmpty());
  EXPECT_EQ(status.tasks[3].state, TaskState::kExpected);
}

TEST_F(CoordinatorTest, FreshStatusIsNewerThanTheCall) {
  JoinAll();
  for (const char* task : {kPs0, kPs1, kWorker0, kWorker1}) {
    BeatAndReport(task, {});
  }
  Pending<ClusterStatus> pending;
  coordinator_->GetCluster({.is_fresh = true}, In(absl::Seconds(10)),
                           pending.Done());
  for (const char* task : {kPs1, kWorker0, kWorker1}) BeatAndReport(task, {});
  EXPECT_FALSE(pending.has_come());
  protocol::TaskReport report;
  report.resources = {Held("ps", Var("x"), Cpu(kPs0))};
  BeatAndReport(kPs0, report);
  ASSERT_OK_AND_ASSIGN(const ClusterStatus status, pending.get());
  ASSERT_EQ(status.tasks[2].task, kPs0);
  ASSERT_EQ(status.tasks[2].resources.size(), 1u);
  EXPECT_EQ(status.tasks[2].resources[0].resource.name, "x");
}

TEST_F(CoordinatorTest, FreshStatusSkipsASilentTask) {
  JoinAll();
  Pending<ClusterStatus> pending;
  coordinator_->GetCluster({.is_fresh = true}, In(absl::Minutes(1)),
                           pending.Done());
  scheduler_.AdvanceBy(absl::Milliseconds(1900));
  EXPECT_FALSE(pending.has_come());
  scheduler_.AdvanceBy(absl::Milliseconds(100));
  ASSERT_OK(pending.get());
  EXPECT_EQ(pending.get()->tasks.size(), 6u);
}

TEST_F(CoordinatorTest, FreshStatusWaitsOnlyForReportingTasks) {
  JoinAs(kPs0);
  Pending<ClusterStatus> pending;
  coordinator_->GetCluster({.is_fresh = true}, In(absl::Minutes(1)),
                           pending.Done());
  EXPECT_FALSE(pending.has_come());
  coordinator_->OnTaskLost(kPs0, 1, absl::UnavailableError("cut"));
  EXPECT_OK(pending.get());

  Start(200, absl::InfiniteDuration());
  JoinAs(kPs0);
  Pending<ClusterStatus> without_heartbeats;
  coordinator_->GetCluster({.is_fresh = true}, In(absl::Minutes(1)),
                           without_heartbeats.Done());
  EXPECT_OK(without_heartbeats.get());
}

TEST_F(CoordinatorTest, DestructorFailsWaitingCalls) {
  auto waiting = BeginPlace(RequestOf(1, kWorker0, {}));
  Pending<std::vector<DeviceAttributes>> list;
  coordinator_->ListDevices({}, In(absl::Minutes(1)), nullptr, list.Done());
  coordinator_.reset();
  EXPECT_THAT(waiting.get(),
              StatusIs(absl::StatusCode::kUnavailable, kCoordinator));
  EXPECT_THAT(list.get(),
              StatusIs(absl::StatusCode::kUnavailable, kCoordinator));

  Start(200);
  JoinAll();
  Pending<PlacementReply> queued;
  coordinator_->Place(RequestOf(3, kWorker0, {}), In(absl::Minutes(1)), nullptr,
                      queued.Done());
  EXPECT_FALSE(queued.has_come());
  coordinator_.reset();
  EXPECT_THAT(queued.get(),
              StatusIs(absl::StatusCode::kUnavailable, kCoordinator));
  scheduler_.AdvanceBy(absl::Minutes(5));
}

}  // namespace
}  // namespace weft
