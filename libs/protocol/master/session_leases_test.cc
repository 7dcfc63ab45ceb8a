// Tests which sessions outlive which connections, with a manual clock.
#include "libs/protocol/master/session_leases.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft::protocol {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class SessionLeasesTest : public testing::Test {
 protected:
  static bus::Peer Peer(uint64_t connection, uint64_t incarnation) {
    return {connection, {.incarnation = incarnation}};
  }
  void Create(const bus::Peer& peer, uint64_t session) {
    ASSERT_OK(leases_->Reserve(peer));
    leases_->OnCreated(peer, session);
  }
  void Pass(absl::Duration time) { scheduler_.AdvanceBy(time); }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  std::vector<uint64_t> expired_;
  std::unique_ptr<SessionLeases> leases_ = std::make_unique<SessionLeases>(
      scheduler_, absl::Seconds(60),
      [this](uint64_t session) { expired_.push_back(session); },
      /*max_sessions_per_client=*/2);
};

TEST_F(SessionLeasesTest, AllSessionsOfAClientExpireTogether) {
  leases_->OnConnect(Peer(1, 7));
  Create(Peer(1, 7), 100);
  Create(Peer(1, 7), 101);
  Pass(absl::Minutes(10));
  EXPECT_THAT(expired_, IsEmpty());
  leases_->OnDisconnect(Peer(1, 7));
  EXPECT_EQ(leases_->num_orphans(), 2);
  Pass(absl::Seconds(61));
  EXPECT_THAT(expired_, UnorderedElementsAre(100, 101));
  Pass(absl::Minutes(10));
  EXPECT_EQ(expired_.size(), 2u);
}

TEST_F(SessionLeasesTest, ANewLeaseBeginsAtEachDisconnect) {
  leases_->OnConnect(Peer(1, 7));
  Create(Peer(1, 7), 100);
  for (uint64_t i = 1; i < 5; ++i) {
    leases_->OnDisconnect(Peer(i, 7));
    Pass(absl::Seconds(50));
    leases_->OnConnect(Peer(i + 1, 7));
    Pass(absl::Seconds(5));
  }
  EXPECT_THAT(expired_, IsEmpty());
  leases_->OnDisconnect(Peer(5, 7));
  Pass(absl::Seconds(61));
  EXPECT_THAT(expired_, ElementsAre(100));
}

TEST_F(SessionLeasesTest, OneConnectionKeepsTheLease) {
  leases_->OnConnect(Peer(1, 7));
  leases_->OnConnect(Peer(2, 7));
  Create(Peer(1, 7), 100);
  leases_->OnDisconnect(Peer(1, 7));
  Pass(absl::Minutes(10));
  EXPECT_THAT(expired_, IsEmpty());
}

TEST_F(SessionLeasesTest, AnotherIncarnationIsAnotherClient) {
  leases_->OnConnect(Peer(1, 7));
  Create(Peer(1, 7), 100);
  leases_->OnDisconnect(Peer(1, 7));
  leases_->OnConnect(Peer(2, 8));
  Pass(absl::Seconds(61));
  EXPECT_THAT(expired_, ElementsAre(100));
}

TEST_F(SessionLeasesTest, SessionCreatedAfterDisconnectExpires) {
  leases_->OnConnect(Peer(1, 7));
  leases_->OnDisconnect(Peer(1, 7));
  Create(Peer(1, 7), 100);
  EXPECT_EQ(leases_->num_orphans(), 1);
  Pass(absl::Seconds(61));
  EXPECT_THAT(expired_, ElementsAre(100));
}

TEST_F(SessionLeasesTest, SessionBelongsToItsClientOnAnyConnection) {
  leases_->OnConnect(Peer(1, 7));
  leases_->OnConnect(Peer(2, 8));
  Create(Peer(1, 7), 100);
  EXPECT_TRUE(leases_->Owns(Peer(1, 7), 100));
  EXPECT_FALSE(leases_->Owns(Peer(2, 8), 100));
  EXPECT_FALSE(leases_->Owns(Peer(1, 7), 101));
  leases_->OnDisconnect(Peer(1, 7));
  leases_->OnConnect(Peer(3, 7));
  EXPECT_TRUE(leases_->Owns(Peer(3, 7), 100));
  leases_->OnDisconnect(Peer(3, 7));
  Pass(absl::Seconds(61));
  EXPECT_FALSE(leases_->Owns(Peer(3, 7), 100));
}

TEST_F(SessionLeasesTest, ClosedOrResetSessionsDoNotExpire) {
  leases_->OnConnect(Peer(1, 7));
  Create(Peer(1, 7), 100);
  leases_->OnConnect(Peer(2, 8));
  Create(Peer(2, 8), 200);
  leases_->OnClosed(100);
  leases_->OnClosed(100);
  leases_->OnDisconnect(Peer(1, 7));
  leases_->OnDisconnect(Peer(2, 8));
  leases_->OnReset([](uint64_t) { return false; });
  EXPECT_EQ(leases_->num_orphans(), 0);
  Pass(absl::Minutes(10));
  EXPECT_THAT(expired_, IsEmpty());
}

TEST_F(SessionLeasesTest, SessionThatSurvivesAResetExpires) {
  leases_->OnConnect(Peer(1, 7));
  Create(Peer(1, 7), 100);
  Create(Peer(1, 7), 101);
  leases_->OnReset([](uint64_t session) { return session == 101; });
  leases_->OnDisconnect(Peer(1, 7));
  EXPECT_EQ(leases_->num_orphans(), 1);
  Pass(absl::Seconds(61));
  EXPECT_THAT(expired_, ElementsAre(101));
}

TEST_F(SessionLeasesTest, SessionsPerClientAreLimited) {
  const auto exhausted = absl::StatusCode::kResourceExhausted;
  leases_->OnConnect(Peer(1, 7));
  ASSERT_OK(leases_->Reserve(Peer(1, 7)));
  Create(Peer(1, 7), 100);
  EXPECT_THAT(leases_->Reserve(Peer(1, 7)),
              StatusIs(exhausted, "max_sessions_per_client"));
  EXPECT_OK(leases_->Reserve(Peer(2, 8)));  // another client
  leases_->OnNotCreated(Peer(1, 7));
  Create(Peer(1, 7), 101);
  EXPECT_THAT(leases_->Reserve(Peer(1, 7)), StatusIs(exhausted));
  leases_->OnClosed(100);
  EXPECT_OK(leases_->Reserve(Peer(1, 7)));
}

// Its connection may only have been cut.
TEST_F(SessionLeasesTest, DrainWaitsBrieflyForClientOfMonitoredSession) {
  const auto create = [this](const bus::Peer& peer, uint64_t session) {
    ASSERT_OK(leases_->Reserve(peer));
    leases_->OnCreated(peer, session, /*is_monitored=*/true);
  };
  leases_->OnConnect(Peer(1, 7));
  create(Peer(1, 7), 100);
  leases_->OnConnect(Peer(2, 8));
  create(Peer(2, 8), 200);
  leases_->OnDisconnect(Peer(1, 7));
  leases_->Drain();
  leases_->OnDisconnect(Peer(2, 8));
  EXPECT_TRUE(leases_->HasMonitored(7));
  EXPECT_FALSE(leases_->HasMonitored(9));
  Pass(absl::Seconds(1));
  EXPECT_THAT(expired_, IsEmpty());
  leases_->OnConnect(Peer(3, 7));
  EXPECT_TRUE(leases_->Owns(Peer(3, 7), 100));
  Pass(absl::Seconds(2));
  EXPECT_THAT(expired_, ElementsAre(200));
  leases_->OnClosed(100);
  EXPECT_FALSE(leases_->HasMonitored(7));
}

TEST_F(SessionLeasesTest, LeasesEndAtOnceWhileTheServerDrains) {
  leases_->OnConnect(Peer(1, 7));
  Create(Peer(1, 7), 100);
  leases_->OnConnect(Peer(2, 8));
  Create(Peer(2, 8), 200);
  leases_->OnDisconnect(Peer(1, 7));
  Pass(absl::Seconds(1));
  EXPECT_THAT(expired_, IsEmpty());
  leases_->Drain();
  Pass(absl::ZeroDuration());
  EXPECT_THAT(expired_, ElementsAre(100));
  leases_->OnDisconnect(Peer(2, 8));
  Pass(absl::ZeroDuration());
  EXPECT_THAT(expired_, ElementsAre(100, 200));
}

TEST_F(SessionLeasesTest, DestructorDropsLeases) {
  leases_->OnConnect(Peer(1, 7));
  Create(Peer(1, 7), 100);
  leases_->OnDisconnect(Peer(1, 7));
  leases_.reset();
  Pass(absl::Minutes(10));
  EXPECT_THAT(expired_, IsEmpty());
}

}  // namespace
}  // namespace weft::protocol
