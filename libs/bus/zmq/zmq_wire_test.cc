#include "libs/bus/zmq/zmq_wire.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/testing/wire_conformance.h"
#include "libs/bus/zmq/polled_socket.h"

namespace weft::bus {
namespace {

ZmqWireOptions LargeFrames() {
  ZmqWireOptions options;
  options.max_bulk_frame_bytes = (64 << 20) + 1024;
  return options;
}

class ZmqHarness : public WireHarness {
 public:
  Scheduler& scheduler() override { return *scheduler_; }
  Wire& server() override { return *server_; }
  Wire& client() override { return *client_; }
  Address host() override { return {"127.0.0.1", 0}; }

 private:
  SystemClock clock_;
  std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  std::unique_ptr<Wire> server_ = NewZmqWire(*scheduler_, LargeFrames());
  std::unique_ptr<Wire> client_ = NewZmqWire(*scheduler_, LargeFrames());
};

INSTANTIATE_TEST_SUITE_P(Zmq, WireConformanceTest, testing::Values([] {
                           return std::make_unique<ZmqHarness>();
                         }));

// A quiet connection sends one heartbeat in each interval, a third of the
// timeout.
TEST(HeartbeatTtlTest, IsLongerThanTheInterval) {
  EXPECT_EQ(HeartbeatTtl(absl::Seconds(6)), absl::Seconds(10));
  for (const absl::Duration timeout :
       {absl::Milliseconds(75), absl::Seconds(36), absl::Seconds(37),
        absl::Minutes(4), absl::Minutes(45)}) {
    const absl::Duration ttl = HeartbeatTtl(timeout);
    if (ttl == absl::ZeroDuration()) continue;  // none
    EXPECT_GT(ttl, timeout / 3) << timeout;
    EXPECT_LT(ttl, absl::Seconds(65)) << timeout;  // libzmq's limit
  }
}

// All threads that may block may be waiting for events that are still to come:
// over the bulk channel, for example, which is opened late, or for a connection
// that is dialed by name again.
TEST(ZmqWireTest, NeedsNoThreadThatMayBlock) {
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock, {.max_blocking_threads = 1});
  // The waiting thread may enter and leave the wait later than this.
  const std::shared_ptr<Event> release = scheduler->NewEvent();
  scheduler->Schedule(Pool::kBlocking, [release] { release->Wait(); });
  RecordingEnd server(*scheduler);
  RecordingEnd client(*scheduler);
  const auto accepting = NewZmqWire(*scheduler);
  const auto dialing = NewZmqWire(*scheduler);
  ASSERT_OK_AND_ASSIGN(
      const auto listener,
      accepting->Listen({"127.0.0.1", 0}, ChannelKind::kBulk, server));
  const ConnectionId connection = dialing->Dial(
      {"localhost", listener->address().port}, ChannelKind::kBulk, client);
  EXPECT_TRUE(client.WaitForOpens(1));
  dialing->Close(connection);
  release->Set();
}

// The reader has found nothing before, and is then busy with another connection
// until the peer has closed: it finds messages and their end at once.
TEST(ZmqWireTest, MessagesBeforeTheEndAreDelivered) {
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  for (int round = 0; round < 10; ++round) {
    const std::shared_ptr<Event> release = scheduler->NewEvent();
    RecordingEnd server(*scheduler), client(*scheduler), witness(*scheduler);
    RecordingEnd busy(*scheduler, [&](const RecordingEnd::Entry& entry) {
      if (entry.kind == RecordingEnd::Entry::Kind::kMessage) release->Wait();
    });
    const auto accepting = NewZmqWire(*scheduler);
    const auto dialing = NewZmqWire(*scheduler);
    const auto watching = NewZmqWire(*scheduler);
    ASSERT_OK_AND_ASSIGN(
        auto listener,
        accepting->Listen({"127.0.0.1", 0}, ChannelKind::kControl, server));
    std::vector<ConnectionId> dialed;
    const auto dial = [&](Wire& wire, RecordingEnd& end) {
      dialed.push_back(
          wire.Dial(listener->address(), ChannelKind::kControl, end));
      EXPECT_TRUE(end.WaitForOpens(1));
      EXPECT_OK(wire.Send(dialed.back(), Text("hello")));
      EXPECT_TRUE(server.WaitForMessages(dialed.size()));
      return server.entries().back().connection;
    };
    const ConnectionId to_client = dial(*dialing, client);
    const ConnectionId to_busy = dial(*dialing, busy);
    dial(*watching, witness);
    ASSERT_OK(accepting->Send(to_busy, Text("wait")));
    ASSERT_TRUE(busy.WaitForMessages(1));
    ASSERT_OK(accepting->Send(to_client, Text("reply")));
    ASSERT_OK(accepting->Send(to_client, Text("goodbye")));
    listener.reset();
    EXPECT_TRUE(witness.WaitForCloses(1));
    release->Set();
    EXPECT_TRUE(client.WaitForCloses(1));
    EXPECT_EQ(client.texts(), (std::vector<std::string>{"reply", "goodbye"}));
    dialing->Close(dialed[0]);
    dialing->Close(dialed[1]);
    watching->Close(dialed[2]);
  }
}

}  // namespace
}  // namespace weft::bus
