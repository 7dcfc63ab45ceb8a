// How TaskHandler reports the loss of connections from other tasks.
#include "libs/server/task_handler.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/protocol/method.h"
#include "libs/protocol/testing/recording_coordinator.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kWorker[] = "/job:worker/replica:0/task:0";
constexpr uint64_t kIncarnation = 7;

class RecordingPeers : public protocol::PeerEvents {
 public:
  absl::Status OnPeerConnected(const bus::Identity& /*peer*/) override {
    return refusal;
  }
  void OnPeerLost(const std::string& /*task*/, uint64_t incarnation,
                  const absl::Status& /*why*/) override {
    lost.push_back(incarnation);
  }
  void OnUnusedConnectionLost(const std::string& /*task*/, uint64_t incarnation,
                              const absl::Status& /*why*/) override {
    unused.push_back(incarnation);
  }
  void OnPushFailed(const protocol::Push& /*push*/,
                    const absl::Status& /*why*/) override {}
  void OnPushes(std::vector<protocol::Push> /*pushes*/) override {}

  absl::Status refusal;
  std::vector<uint64_t> lost, unused;
};

class TaskHandlerTest : public testing::Test {
 protected:
  const bus::Peer& Peer(uint64_t connection) {
    bus::Peer& peer = connections_[connection];
    if (peer.id != 0) return peer;
    peer.id = connection;
    peer.identity = {.task = kWorker, .incarnation = kIncarnation};
    return peer;
  }
  void Connect(uint64_t connection) {
    EXPECT_OK(handler_.OnConnect(Peer(connection)));
  }
  void Lose(uint64_t connection) {
    handler_.OnDisconnect(Peer(connection), absl::UnavailableError("gone"));
  }
  void Send(uint64_t connection, protocol::Method method) {
    bus::Message message;
    message.method = static_cast<uint8_t>(method);
    handler_.OnOneWay(Peer(connection), std::move(message), absl::OkStatus());
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  protocol::RecordingCoordinator coordinator_;
  RecordingPeers peers_;
  std::map<uint64_t, bus::Peer> connections_;
  TaskHandler handler_{
      {.coordinator = {.coordinator = &coordinator_, .scheduler = &scheduler_},
       .peers = &peers_}};
};

TEST_F(TaskHandlerTest, ConnectionWithOnlyAHelloIsUnused) {
  Connect(1);
  Lose(1);
  EXPECT_THAT(peers_.unused, ElementsAre(kIncarnation));
  EXPECT_THAT(peers_.lost, IsEmpty());
}

TEST_F(TaskHandlerTest, OtherMessagesLeaveConnectionUnused) {
  Connect(1);
  Send(1, protocol::Method::kGetStatus);
  Lose(1);
  EXPECT_THAT(peers_.unused, ElementsAre(kIncarnation));
}

TEST_F(TaskHandlerTest, MessageOfStepUsesItsConnectionOnly) {
  Connect(1);
  Connect(2);
  Send(1, protocol::Method::kPushes);
  Lose(2);
  EXPECT_THAT(peers_.unused, ElementsAre(kIncarnation));
  Lose(1);
  EXPECT_THAT(peers_.lost, ElementsAre(kIncarnation));
}

TEST_F(TaskHandlerTest, HelloOfUncountedPeerIsRefused) {
  peers_.refusal = absl::PermissionDeniedError("another task's incarnation");
  EXPECT_THAT(handler_.OnConnect(Peer(1)),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

}  // namespace
}  // namespace weft
