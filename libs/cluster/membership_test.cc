// Tests the membership with a manual clock.
#include "libs/cluster/membership.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using State = Membership::State;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kPs0[] = "/job:ps/replica:0/task:0";
constexpr char kPs1[] = "/job:ps/replica:0/task:1";
constexpr char kWorker0[] = "/job:worker/replica:0/task:0";

class MembershipTest : public testing::Test {
 protected:
  State StateOf(const std::string& task) const {
    return members_.members().at(task).state;
  }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  Membership members_{ClusterSpec{{"ps", {"a:1", "b:1"}}, {"worker", {"c:1"}}},
                      absl::Seconds(5)};
};

TEST_F(MembershipTest, AllTasksOfTheSpecAreExpected) {
  EXPECT_EQ(members_.members().size(), 3u);
  for (const auto& [task, member] : members_.members()) {
    EXPECT_EQ(member.state, State::kExpected) << task;
    EXPECT_EQ(member.incarnation, 0u) << task;
  }
  EXPECT_FALSE(members_.IsAlive(kPs0));
  EXPECT_EQ(members_.NextTick(), absl::InfiniteFuture());
  EXPECT_THAT(members_.FinishedJobs(), IsEmpty());
}

TEST_F(MembershipTest, JoinedTaskIsAlive) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  EXPECT_TRUE(members_.IsAlive(kPs0));
  EXPECT_FALSE(members_.IsAlive(kPs1));
  EXPECT_EQ(members_.members().at(kPs0).incarnation, 7u);
  EXPECT_EQ(members_.members().at(kPs0).last_heard, now_);
}

TEST_F(MembershipTest, RejoiningOnlyUpdatesTheTime) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  ASSERT_OK(members_.Join(kPs0, 7, now_ + absl::Seconds(3)));
  EXPECT_EQ(members_.members().at(kPs0).incarnation, 7u);
  EXPECT_EQ(members_.NextTick(), now_ + absl::Seconds(8));
}

TEST_F(MembershipTest, OnlyTasksOfTheSpecMayJoin) {
  for (const char* task : {"/job:ps/replica:0/task:2", "/job:ps/task:0", ""}) {
    EXPECT_THAT(members_.Join(task, 7, now_),
                StatusIs(absl::StatusCode::kInvalidArgument, task));
    EXPECT_FALSE(members_.IsAlive(task));
  }
}

TEST_F(MembershipTest, SecondClaimantIsRefusedWhileFirstLives) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  EXPECT_THAT(members_.Join(kPs0, 8, now_ + absl::Seconds(2)),
              StatusIs(absl::StatusCode::kAlreadyExists, "heard of 2s ago"));
  EXPECT_EQ(members_.members().at(kPs0).incarnation, 7u);
  EXPECT_EQ(members_.members().at(kPs0).last_heard, now_);
  EXPECT_OK(members_.RecordHeartbeat(kPs0, 7, now_ + absl::Seconds(3)));
}

TEST_F(MembershipTest, NewIncarnationReplacesALostOne) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  EXPECT_TRUE(members_.Lose(kPs0, 7, now_));
  ASSERT_OK(members_.Join(kPs0, 8, now_));
  EXPECT_EQ(members_.members().at(kPs0).incarnation, 8u);
  EXPECT_TRUE(members_.Leave(kPs0, 8));
  ASSERT_OK(members_.Join(kPs0, 9, now_));
  EXPECT_TRUE(members_.IsAlive(kPs0));
}

TEST_F(MembershipTest, ConnectionLossDoesNotHandOverALiveTask) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  const auto at = [&](int seconds) { return now_ + absl::Seconds(seconds); };
  EXPECT_FALSE(members_.Join(kPs0, 8, at(1)).ok());
  ASSERT_OK(members_.RecordHeartbeat(kPs0, 7, at(2)));
  EXPECT_TRUE(members_.Lose(kPs0, 7, at(3)));
  EXPECT_THAT(members_.Join(kPs0, 8, at(4)),
              StatusIs(absl::StatusCode::kAborted, "may come back"));
  ASSERT_OK(members_.Join(kPs0, 7, at(5)));
  EXPECT_THAT(members_.Join(kPs0, 8, at(6)),
              StatusIs(absl::StatusCode::kAlreadyExists));
  // After the second loss, the task does not come back before its time is over.
  EXPECT_TRUE(members_.Lose(kPs0, 7, at(6)));
  EXPECT_THAT(members_.Join(kPs0, 8, at(9)),
              StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK(members_.Join(kPs0, 8, at(10)));
}

TEST_F(MembershipTest, ExpiredClaimDoesNotDelayARestart) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  EXPECT_FALSE(members_.Join(kPs0, 8, now_).ok());
  const absl::Time later = now_ + absl::Minutes(1);
  ASSERT_OK(members_.RecordHeartbeat(kPs0, 7, later));
  EXPECT_TRUE(members_.Lose(kPs0, 7, later));
  ASSERT_OK(members_.Join(kPs0, 9, later));
}

TEST_F(MembershipTest, ClaimedTaskIsKeptBrieflyWithoutTimeout) {
  Membership patient(ClusterSpec{{"ps", {"a:1"}}}, absl::InfiniteDuration());
  ASSERT_OK(patient.Join(kPs0, 7, now_));
  const absl::Time later = now_ + absl::Hours(1);
  EXPECT_FALSE(patient.Join(kPs0, 8, later).ok());
  EXPECT_TRUE(patient.Lose(kPs0, 7, later));
  EXPECT_THAT(patient.Join(kPs0, 8, later),
              StatusIs(absl::StatusCode::kAborted));
  ASSERT_OK(patient.Join(kPs0, 8, later + absl::Seconds(6)));
}

TEST_F(MembershipTest, SameIncarnationRejoinsAfterConnectionLoss) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  EXPECT_TRUE(members_.Lose(kPs0, 7, now_));
  EXPECT_EQ(StateOf(kPs0), State::kLost);
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  EXPECT_EQ(StateOf(kPs0), State::kAlive);
}

// A late join request arrives after the leave request that has overtaken it.
TEST_F(MembershipTest, LateJoinDoesNotReviveATaskThatLeft) {
  ASSERT_OK(members_.Join(kWorker0, 7, now_));
  EXPECT_TRUE(members_.Leave(kWorker0, 7));
  EXPECT_THAT(members_.Join(kWorker0, 7, now_),
              StatusIs(absl::StatusCode::kAborted, "has left the cluster"));
  EXPECT_EQ(StateOf(kWorker0), State::kLeft);
  EXPECT_THAT(members_.FinishedJobs(), ElementsAre("worker"));
  ASSERT_OK(members_.Join(kWorker0, 8, now_));
}

// If a lost task could not leave, callers that wait for its job to finish would
// wait forever.
TEST_F(MembershipTest, LostTaskMayStillLeave) {
  ASSERT_OK(members_.Join(kWorker0, 7, now_));
  EXPECT_TRUE(members_.Lose(kWorker0, 7, now_));
  EXPECT_FALSE(members_.Leave(kWorker0, 8));
  EXPECT_TRUE(members_.Leave(kWorker0, 7));
  EXPECT_THAT(members_.FinishedJobs(), ElementsAre("worker"));
  EXPECT_FALSE(members_.Leave(kWorker0, 7)) << "once";
}

TEST_F(MembershipTest, OldIncarnationIsIgnored) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  EXPECT_TRUE(members_.Lose(kPs0, 7, now_));
  EXPECT_THAT(members_.RecordHeartbeat(kPs0, 7, now_),
              StatusIs(absl::StatusCode::kAborted, kPs0));
  ASSERT_OK(members_.Join(kPs0, 8, now_));
  EXPECT_THAT(members_.RecordHeartbeat(kPs0, 7, now_ + absl::Seconds(1)),
              StatusIs(absl::StatusCode::kAborted, kPs0));
  EXPECT_FALSE(members_.Leave(kPs0, 7));
  EXPECT_FALSE(members_.Lose(kPs0, 7, now_));
  EXPECT_TRUE(members_.IsAlive(kPs0));
  EXPECT_EQ(members_.members().at(kPs0).last_heard, now_);
}

TEST_F(MembershipTest, TaskThatNeverJoinedIsIgnored) {
  EXPECT_THAT(members_.RecordHeartbeat(kPs0, 7, now_),
              StatusIs(absl::StatusCode::kAborted, "must join"));
  EXPECT_THAT(members_.RecordHeartbeat("nobody", 7, now_),
              StatusIs(absl::StatusCode::kAborted, "nobody"));
  EXPECT_FALSE(members_.Leave(kPs0, 7));
  EXPECT_FALSE(members_.Lose("nobody", 7, now_));
  EXPECT_EQ(StateOf(kPs0), State::kExpected);
}

TEST_F(MembershipTest, TaskWithoutHeartbeatsIsLost) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  ASSERT_OK(members_.Join(kWorker0, 8, now_ + absl::Seconds(1)));
  ASSERT_OK(members_.Join(kPs1, 9, now_ + absl::Seconds(2)));
  EXPECT_EQ(members_.NextTick(), now_ + absl::Seconds(5));
  EXPECT_THAT(members_.Tick(now_ + absl::Seconds(4)), IsEmpty());
  ASSERT_OK(members_.RecordHeartbeat(kPs0, 7, now_ + absl::Seconds(4)));
  EXPECT_EQ(members_.NextTick(), now_ + absl::Seconds(6));
  EXPECT_THAT(members_.Tick(now_ + absl::Seconds(7)),
              ElementsAre(kPs1, kWorker0));
  EXPECT_EQ(StateOf(kWorker0), State::kLost);
  EXPECT_EQ(StateOf(kPs0), State::kAlive);
  EXPECT_THAT(members_.Tick(now_ + absl::Seconds(8)), IsEmpty());
  EXPECT_EQ(members_.NextTick(), now_ + absl::Seconds(9));
}

TEST_F(MembershipTest, MissedTimeExtendsAllTimeouts) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  ASSERT_OK(members_.Join(kPs1, 8, now_));
  EXPECT_TRUE(members_.Lose(kPs1, 8, now_));
  const absl::Time later = now_ + absl::Hours(1);
  members_.ExtendTimeouts(later - now_ - absl::Seconds(2), later);
  EXPECT_THAT(members_.Tick(later), IsEmpty());
  EXPECT_EQ(members_.NextTick(), later + absl::Seconds(3));
  members_.ExtendTimeouts(absl::Hours(2), later);
  EXPECT_EQ(members_.NextTick(), later + absl::Seconds(5)) << "not more";
  EXPECT_EQ(StateOf(kPs1), State::kLost);
  EXPECT_EQ(StateOf(kWorker0), State::kExpected);
}

TEST_F(MembershipTest, TimeNeverGoesBackwards) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  ASSERT_OK(members_.RecordHeartbeat(kPs0, 7, now_ - absl::Seconds(3)));
  EXPECT_EQ(members_.NextTick(), now_ + absl::Seconds(5));
}

TEST_F(MembershipTest, SilentTaskIsNotLostWithoutATimeout) {
  Membership patient(ClusterSpec{{"ps", {"a:1"}}}, absl::InfiniteDuration());
  ASSERT_OK(patient.Join(kPs0, 7, now_));
  EXPECT_EQ(patient.NextTick(), absl::InfiniteFuture());
  EXPECT_THAT(patient.Tick(now_ + absl::Hours(10000)), IsEmpty());
  EXPECT_TRUE(patient.Lose(kPs0, 7, now_));
}

TEST_F(MembershipTest, AJobIsFinishedWhenAllItsTasksHaveLeft) {
  ASSERT_OK(members_.Join(kPs0, 7, now_));
  ASSERT_OK(members_.Join(kPs1, 8, now_));
  ASSERT_OK(members_.Join(kWorker0, 9, now_));
  EXPECT_TRUE(members_.Leave(kPs0, 7));
  EXPECT_THAT(members_.FinishedJobs(), IsEmpty());
  EXPECT_TRUE(members_.Leave(kWorker0, 9));
  EXPECT_THAT(members_.FinishedJobs(), ElementsAre("worker"));
  EXPECT_TRUE(members_.Lose(kPs1, 8, now_));
  EXPECT_THAT(members_.FinishedJobs(), ElementsAre("worker"))
      << "a lost task has not left";
  ASSERT_OK(members_.Join(kPs1, 10, now_));
  EXPECT_TRUE(members_.Leave(kPs1, 10));
  EXPECT_THAT(members_.FinishedJobs(), ElementsAre("ps", "worker"));
  ASSERT_OK(members_.Join(kWorker0, 11, now_));
  EXPECT_THAT(members_.FinishedJobs(), ElementsAre("ps"));
}

}  // namespace
}  // namespace weft
