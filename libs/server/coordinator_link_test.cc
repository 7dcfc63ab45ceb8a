#include "libs/server/coordinator_link.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/testing/recording_coordinator.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class CountedReports : public CoordinatorLinkEvents {
 public:
  protocol::TaskReport Report() override {
    ++num_reports;
    if (on_report) on_report();
    return {};
  }
  void OnClusterKnown(const std::string&) override {
    if (on_cluster_known) on_cluster_known();
  }
  void OnRefused(const absl::Status&) override { ++num_refusals; }
  void OnStopRequested() override {}
  void OnJobFinished(const std::string&) override {}
  void OnTaskLeft(const std::string& task, uint64_t incarnation) override {
    left.push_back({task, incarnation});
  }

  int num_reports = 0;
  int num_refusals = 0;
  std::vector<protocol::LeftTask> left;
  std::function<void()> on_cluster_known;
  std::function<void()> on_report;
};

class CoordinatorLinkTest : public testing::Test {
 protected:
  void SetUp() override {
    coordinator_.hold = true;
    coordinator_.ignores_reports = true;
    link_->Start("zmq://here:1");
  }
  void TearDown() override {
    link_->Close();
    while (coordinator_.num_held() > 0) coordinator_.Release();
    scheduler_.RunUntilIdle();
  }
  // Lets the attempt last for the time that the link set, and fail with `why`.
  absl::Duration NextAttemptFails(const absl::Status& why) {
    const absl::Duration slice = coordinator_.last_deadline - clock_.Now();
    scheduler_.AdvanceBy(slice);
    coordinator_.answer = why;
    coordinator_.Release();
    scheduler_.AdvanceBy(absl::Milliseconds(200));
    return slice;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  protocol::RecordingCoordinator coordinator_;
  CountedReports events_;
  RecordingLogger logger_;
  const std::shared_ptr<CoordinatorLink> link_ =
      std::make_shared<CoordinatorLink>(
          CoordinatorLinkOptions{.scheduler = &scheduler_,
                                 .coordinator = &coordinator_,
                                 .events = &events_,
                                 .logger = &logger_});
};

TEST_F(CoordinatorLinkTest, SlowCoordinatorIsSentFewJoins) {
  const absl::Status late = absl::DeadlineExceededError("no answer yet");
  const absl::Time begin = clock_.Now();
  absl::Duration slice = absl::ZeroDuration();
  while (clock_.Now() - begin < absl::Hours(1)) {
    const absl::Duration next = NextAttemptFails(late);
    EXPECT_GE(next, slice);
    EXPECT_LE(next, absl::Minutes(2));
    slice = next;
  }
  EXPECT_LE(coordinator_.joins.size(), 35);
  coordinator_.answer = absl::OkStatus();
  coordinator_.Release();
  EXPECT_TRUE(link_->joined());
}

// Nothing is sent to it, and as soon as it is reachable it must be told.
TEST_F(CoordinatorLinkTest, UnreachableCoordinatorIsRetriedSteadily) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(NextAttemptFails(absl::UnavailableError("no connection in time")),
              absl::Seconds(10));
  }
}

// The thread that handles the success of the first attempt continues after the
// loss; the timer that it arms must not replace the next attempt.
TEST_F(CoordinatorLinkTest, LossBeforeFirstHeartbeatRejoins) {
  events_.on_cluster_known = [this] { link_->OnLost(); };
  coordinator_.Release();
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(coordinator_.joins.size(), 2);
  coordinator_.Release();
  EXPECT_TRUE(link_->joined());
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_EQ(coordinator_.heartbeats.size(), 1);
}

TEST_F(CoordinatorLinkTest, TasksThatLeftAreReportedToNextCoordinator) {
  using protocol::LeftTask;
  constexpr char kPs[] = "/job:ps/replica:0/task:";
  coordinator_.hold = false;
  coordinator_.heartbeat_reply.left_version = 1;
  coordinator_.Release();
  scheduler_.AdvanceBy(absl::Seconds(1));
  coordinator_.heartbeat_reply.left_version = 4;
  coordinator_.heartbeat_reply.left = {{absl::StrCat(kPs, 0), 5},
                                       {absl::StrCat(kPs, 1), 6}};
  link_->NoteLeft(absl::StrCat(kPs, 2), 7);
  scheduler_.AdvanceBy(absl::Seconds(2));
  EXPECT_EQ(coordinator_.heartbeats.back().left_version, 4u);
  EXPECT_THAT(events_.left, SizeIs(2)) << "each once";
  EXPECT_TRUE(link_->HasLeft(absl::StrCat(kPs, 0), 5));
  EXPECT_FALSE(link_->HasLeft(absl::StrCat(kPs, 0), 6));
  coordinator_.heartbeat_reply.left_version = 5;
  coordinator_.heartbeat_reply.left = {{absl::StrCat(kPs, 0), 0}};
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_FALSE(link_->HasLeft(absl::StrCat(kPs, 0), 5));
  // The next coordinator has a smaller version, but newer information.
  coordinator_.join_reply.coordinator = 78;
  coordinator_.heartbeat_reply.left_version = 2;
  coordinator_.heartbeat_reply.left = {{absl::StrCat(kPs, 1), 6}};
  link_->OnLost();
  link_->OnConnected();
  scheduler_.AdvanceBy(absl::Milliseconds(500));
  EXPECT_THAT(coordinator_.joins.back().left,
              ElementsAre(LeftTask{absl::StrCat(kPs, 1), 6},
                          LeftTask{absl::StrCat(kPs, 2), 7}));
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_TRUE(link_->HasLeft(absl::StrCat(kPs, 1), 6));
  EXPECT_FALSE(link_->HasLeft(absl::StrCat(kPs, 2), 7));
}

// The first answer of a coordinator may be older than a leave.
TEST_F(CoordinatorLinkTest, TaskThatLeftAfterTheJoinIsReported) {
  using protocol::LeftTask;
  const LeftTask gone{"/job:ps/replica:0/task:2", 7};
  coordinator_.heartbeat_reply.left_version = 1;
  coordinator_.Release();  // the join
  scheduler_.AdvanceBy(absl::Seconds(1));
  ASSERT_THAT(coordinator_.heartbeats, SizeIs(1));
  link_->NoteLeft(gone.task, gone.incarnation);
  coordinator_.hold = false;
  coordinator_.Release();
  scheduler_.RunUntilIdle();
  EXPECT_TRUE(link_->HasLeft(gone.task, gone.incarnation));
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_THAT(coordinator_.heartbeats.back().left, ElementsAre(gone));
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_THAT(coordinator_.heartbeats.back().left, SizeIs(0)) << "once";
  EXPECT_TRUE(link_->HasLeft(gone.task, gone.incarnation));
}

// The coordinator must know which finished jobs are new to this task.
TEST_F(CoordinatorLinkTest, TaskThatLeftBetweenCoordinatorsIsReported) {
  using protocol::LeftTask;
  const LeftTask told{"/job:ps/replica:0/task:1", 6};
  const LeftTask gone{"/job:ps/replica:0/task:2", 7};
  coordinator_.heartbeat_reply.left_version = 1;
  coordinator_.heartbeat_reply.left = {told};
  coordinator_.hold = false;
  coordinator_.Release();  // the join
  scheduler_.AdvanceBy(absl::Seconds(1));
  link_->OnLost();
  link_->NoteLeft(gone.task, gone.incarnation);
  link_->OnConnected();
  scheduler_.AdvanceBy(absl::Seconds(1));
  ASSERT_THAT(coordinator_.joins, SizeIs(2));
  EXPECT_THAT(coordinator_.joins.back().left, ElementsAre(told));
  EXPECT_THAT(coordinator_.heartbeats.back().left, ElementsAre(gone));
}

TEST_F(CoordinatorLinkTest, RefusedTaskDoesNotJoinAgain) {
  coordinator_.answer = absl::FailedPreconditionError("another cluster");
  coordinator_.Release();
  EXPECT_EQ(events_.num_refusals, 1);
  link_->OnConnected();
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(coordinator_.joins.size(), 1);
  EXPECT_EQ(events_.num_refusals, 1);
}

TEST_F(CoordinatorLinkTest, OtherProcessDoesNotEndAJoinedTask) {
  coordinator_.Release();
  link_->OnLost();
  const absl::Status refusals[] = {
      absl::FailedPreconditionError("another cluster"),
      absl::UnimplementedError("another version"),
      absl::InvalidArgumentError("what is that"),
      absl::PermissionDeniedError("not on the list")};
  scheduler_.AdvanceBy(absl::Seconds(1));
  for (const absl::Status& refusal : refusals) {
    ASSERT_EQ(coordinator_.num_held(), 1);
    coordinator_.answer = refusal;
    coordinator_.Release();
    EXPECT_THAT(logger_.lines().back(),
                testing::HasSubstr(std::string(refusal.message())));
    // The coordinator is not notified of the task more often than necessary.
    scheduler_.AdvanceBy(absl::Seconds(29));
    EXPECT_EQ(coordinator_.num_held(), 0);
    scheduler_.AdvanceBy(absl::Seconds(2));
  }
  EXPECT_EQ(events_.num_refusals, 0);
  EXPECT_FALSE(link_->joined());
  coordinator_.answer = absl::OkStatus();
  coordinator_.Release();
  EXPECT_TRUE(link_->joined());
}

TEST_F(CoordinatorLinkTest, ReturningCoordinatorIsJoinedAtOnce) {
  coordinator_.Release();
  link_->OnLost();
  scheduler_.AdvanceBy(absl::Seconds(1));
  coordinator_.answer = absl::FailedPreconditionError("another cluster");
  coordinator_.Release();
  link_->OnConnected();
  scheduler_.RunUntilIdle();
  ASSERT_EQ(coordinator_.num_held(), 1);
  // Also if the event comes while the other process's answer is in flight.
  link_->OnConnected();
  scheduler_.RunUntilIdle();
  coordinator_.Release();
  scheduler_.AdvanceBy(absl::Seconds(1));
  ASSERT_EQ(coordinator_.num_held(), 1);
  coordinator_.answer = absl::OkStatus();
  coordinator_.Release();
  EXPECT_TRUE(link_->joined());
}

TEST_F(CoordinatorLinkTest, PersistentOtherProcessEndsAJoinedTask) {
  const auto claim = [this](absl::Duration time) {
    coordinator_.answer = absl::AlreadyExistsError("another process plays it");
    for (absl::Duration past; past < time; past += absl::Milliseconds(200)) {
      coordinator_.Release();
      if (events_.num_refusals > 0) return;
      scheduler_.AdvanceBy(absl::Milliseconds(200));
    }
  };
  coordinator_.Release();
  link_->OnLost();
  scheduler_.AdvanceBy(absl::Seconds(1));
  claim(absl::Seconds(19));
  EXPECT_EQ(events_.num_refusals, 0);
  // Another process in between reports nothing about it.
  coordinator_.answer = absl::FailedPreconditionError("another cluster");
  coordinator_.Release();
  scheduler_.AdvanceBy(absl::Seconds(30));
  claim(absl::Seconds(19));
  EXPECT_EQ(events_.num_refusals, 0);
  claim(absl::Seconds(3));
  EXPECT_EQ(events_.num_refusals, 1);
}

// While the answer to its leave request is delayed.
TEST_F(CoordinatorLinkTest, LeavingTaskSendsNoHeartbeatsOrJoins) {
  coordinator_.Release();
  scheduler_.AdvanceBy(absl::Milliseconds(500));
  link_->Leave();
  EXPECT_EQ(coordinator_.left.size(), 1);
  EXPECT_TRUE(coordinator_.heartbeats.empty());
  link_->OnConnected();
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(coordinator_.joins.size(), 1);
  EXPECT_TRUE(coordinator_.heartbeats.empty());
}

// Otherwise its job would never be finished.
TEST_F(CoordinatorLinkTest, TaskLeavesALostCoordinator) {
  coordinator_.Release();
  link_->OnLost();
  ASSERT_FALSE(link_->joined());
  link_->Leave();
  EXPECT_EQ(coordinator_.left.size(), 1);
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(coordinator_.joins.size(), 1);
}

// A restarted coordinator may serve them in either order.
TEST_F(CoordinatorLinkTest, LeaveWaitsForAPendingJoin) {
  coordinator_.Release();
  link_->OnLost();
  link_->OnConnected();
  scheduler_.RunUntilIdle();
  ASSERT_EQ(coordinator_.joins.size(), 2);
  scheduler_.ScheduleAt(clock_.Now() + absl::Milliseconds(100), [this] {
    EXPECT_TRUE(coordinator_.left.empty());
    coordinator_.Release();
  });
  link_->Leave();
  EXPECT_EQ(coordinator_.left.size(), 1);
  EXPECT_FALSE(link_->joined());
}

TEST_F(CoordinatorLinkTest, LeaveWithoutAJoinSendsNoRequest) {
  const absl::Time before = clock_.Now();
  link_->Leave();
  EXPECT_TRUE(coordinator_.left.empty());
  EXPECT_EQ(clock_.Now(), before) << "it waits for nothing";
}

TEST_F(CoordinatorLinkTest, HeartbeatAfterLeaveDoesNotRejoin) {
  coordinator_.Release();
  scheduler_.AdvanceBy(absl::Seconds(1));
  ASSERT_EQ(coordinator_.heartbeats.size(), 1);
  scheduler_.ScheduleAt(clock_.Now() + absl::Milliseconds(100), [this] {
    coordinator_.answer = absl::AbortedError("it must join");
    coordinator_.Release();
  });
  link_->Leave();
  EXPECT_EQ(coordinator_.left.size(), 1);
  EXPECT_EQ(coordinator_.joins.size(), 1);
}

// A member whose coordinator answers at once, in a process with few threads.
class BusyMemberTest : public testing::Test {
 protected:
  void SetUp() override {
    link_->Start("zmq://here:1");
    ASSERT_TRUE(link_->joined());
    scheduler_.RunUntilIdle();
    ASSERT_EQ(NumReports(), 1);
  }
  void TearDown() override {
    release_->Set();
    link_->Close();
    scheduler_.RunUntilIdle();
  }
  int NumReports() const {
    return static_cast<int>(coordinator_.reports.size());
  }
  int NumBeats() const {
    return static_cast<int>(coordinator_.heartbeats.size());
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{
      clock_,
      {.pools = {.compute = 1, .control = 1, .graph = 1, .blocking = 1}}};
  const std::shared_ptr<Event> release_ = scheduler_.NewEvent();
  protocol::RecordingCoordinator coordinator_;
  CountedReports events_;
  const std::shared_ptr<CoordinatorLink> link_ =
      std::make_shared<CoordinatorLink>(
          CoordinatorLinkOptions{.scheduler = &scheduler_,
                                 .coordinator = &coordinator_,
                                 .events = &events_});
};

TEST_F(BusyMemberTest, HeartbeatsWaitForNoKernel) {
  for (const Pool pool : {Pool::kCompute, Pool::kGraph, Pool::kBlocking}) {
    scheduler_.Schedule(pool, [this] { release_->Wait(); });
  }
  scheduler_.AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(NumBeats(), 10);
}

// The report waits for the lock of a variable that a kernel changes.
TEST_F(BusyMemberTest, HeartbeatsWaitForNoReport) {
  events_.on_report = [this] { release_->Wait(); };
  coordinator_.heartbeat_reply.wants_report = true;
  scheduler_.AdvanceBy(absl::Seconds(10));
  EXPECT_EQ(NumBeats(), 10);
  EXPECT_EQ(NumReports(), 1);
  EXPECT_EQ(events_.num_reports, 2)
      << "after the join, and one at a time since";
  coordinator_.heartbeat_reply.wants_report = false;
  release_->Set();
  scheduler_.RunUntilIdle();
  EXPECT_EQ(NumReports(), 2);
}

// The report waits for the lock of a variable, as above, and graphs are being
// read.
TEST_F(BusyMemberTest, JoinsWaitForNoReport) {
  for (const Pool pool : {Pool::kCompute, Pool::kGraph, Pool::kBlocking}) {
    scheduler_.Schedule(pool, [this] { release_->Wait(); });
  }
  scheduler_.RunUntilIdle();
  link_->OnConnected();
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_TRUE(link_->joined());
  EXPECT_EQ(coordinator_.joins.size(), 2);
  link_->OnLost();
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_TRUE(link_->joined());
  ASSERT_EQ(coordinator_.joins.size(), 3);
  EXPECT_TRUE(coordinator_.joins.back().reports_later);
  EXPECT_EQ(NumReports(), 1);
  release_->Set();
  scheduler_.RunUntilIdle();
  EXPECT_EQ(NumReports(), 2);
}

// Without heartbeats, no reply could ask for the report again.
TEST_F(BusyMemberTest, FailedReportWithoutHeartbeatsMakesItRejoin) {
  coordinator_.join_reply.heartbeat_interval = absl::InfiniteDuration();
  events_.on_report = [this] { coordinator_.hold = true; };
  link_->OnLost();
  link_->OnConnected();
  scheduler_.RunUntilIdle();
  ASSERT_EQ(coordinator_.joins.size(), 2);
  ASSERT_EQ(coordinator_.num_held(), 1);
  events_.on_report = nullptr;
  coordinator_.hold = false;
  coordinator_.answer = absl::UnavailableError("lost");
  coordinator_.Release();
  coordinator_.answer = absl::OkStatus();
  scheduler_.AdvanceBy(absl::Seconds(1));
  EXPECT_EQ(coordinator_.joins.size(), 3);
  EXPECT_EQ(NumReports(), 3);
  scheduler_.AdvanceBy(absl::Minutes(1));
  EXPECT_EQ(NumReports(), 3);
}

TEST_F(BusyMemberTest, WantedReportIsSentAtOnce) {
  scheduler_.AdvanceBy(absl::Milliseconds(500));
  coordinator_.heartbeat_reply.wants_report = true;
  events_.on_report = [this] {
    coordinator_.heartbeat_reply.wants_report = false;
  };
  scheduler_.AdvanceBy(absl::Milliseconds(500));
  EXPECT_EQ(NumBeats(), 1);
  EXPECT_EQ(NumReports(), 2);
}

// Heartbeats detect whether the coordinator knows this task.
TEST_F(BusyMemberTest, FailedReportDoesNotRejoin) {
  coordinator_.heartbeat_reply.wants_report = true;
  events_.on_report = [this] {
    coordinator_.hold = true;
    coordinator_.heartbeat_reply.wants_report = false;
  };
  scheduler_.AdvanceBy(absl::Seconds(1));
  coordinator_.answer = absl::DeadlineExceededError("too slow");
  coordinator_.Release();
  coordinator_.answer = absl::OkStatus();
  coordinator_.hold = false;
  scheduler_.AdvanceBy(absl::Seconds(3));
  EXPECT_TRUE(link_->joined());
  EXPECT_EQ(coordinator_.joins.size(), 1);
}

}  // namespace
}  // namespace weft
