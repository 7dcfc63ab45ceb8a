// Tests that peers that violate the protocol lose their connection to a
// ZmqWire, and affect no other connection.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/testing/raw_peer.h"
#include "libs/bus/testing/recording_end.h"
#include "libs/bus/testing/served_friend.h"
#include "libs/bus/zmq/zmq_wire.h"

namespace weft::bus {
namespace {

using Kind = RecordingEnd::Entry::Kind;

ZmqWireOptions Impatient() {
  ZmqWireOptions options;
  options.max_control_frame_bytes = 1 << 20;
  options.max_unsent_control = 10;
  options.max_unsent_bytes = 1 << 20;
  options.handshake_timeout = absl::Milliseconds(300);
  options.connect_timeout = absl::Milliseconds(300);
  options.max_unread_bytes = 8 << 20;
  options.max_connections = 60;
  return options;
}

class ZmqHostileTest : public ServedFriendTest {
 protected:
  ZmqHostileTest() : ServedFriendTest(Impatient()) {}

  // Returns the number of connections at the accepting end, besides the
  // friend's.
  size_t StrangersOpened() const {
    size_t n = 0;
    for (const auto& entry : accepted_.entries())
      n += entry.kind == Kind::kOpen;
    return n - 1;
  }
};

TEST_F(ZmqHostileTest, GarbledGreetingClosesTheConnection) {
  for (const std::string& garbage :
       {std::string(1000, 'x'), std::string(1000, '\xff'),
        std::string("GET / HTTP/1.1\r\nHost: weft\r\n\r\n"),
        std::string(64, '\0')}) {
    RawPeer peer(listener_->address());
    peer.Say(garbage);
    EXPECT_TRUE(peer.WaitForClose());
  }
  EXPECT_EQ(StrangersOpened(), 0u);
}

TEST_F(ZmqHostileTest, IncompleteGreetingTimesOut) {
  RawPeer silent(listener_->address());
  RawPeer half(listener_->address());
  EXPECT_TRUE(half.Say(std::string("\xff\0\0\0\0\0\0\0\x01\x7f\x03", 11)));
  EXPECT_TRUE(half.WaitForClose());
  EXPECT_TRUE(silent.WaitForClose());
  EXPECT_EQ(StrangersOpened(), 0u);
}

TEST_F(ZmqHostileTest, RawZmtpPeerIsServed) {
  RawPeer peer(listener_->address());
  ASSERT_TRUE(peer.ShakeHands());
  ASSERT_TRUE(peer.Say(RawPeer::ShortFrame(0, "hello")));
  EXPECT_EQ(peer.Hear(7), RawPeer::ShortFrame(0, "hello"));
  EXPECT_EQ(StrangersOpened(), 1u);
}

// Everything it sends is answered with as much data, which it does not read.
TEST_F(ZmqHostileTest, PeerThatNeverReadsIsDisconnected) {
  const std::string frame =
      RawPeer::LongFrameHeader(0, 100'000) + std::string(100'000, 'x');
  RawPeer peer(listener_->address());
  ASSERT_TRUE(peer.ShakeHands());
  int said = 0;
  // Data held by libzmq and the network is not bounded here.
  while (said < 2000 && peer.Say(frame)) ++said;
  EXPECT_LT(said, 2000);
  ASSERT_TRUE(accepted_.WaitForCloses(1));
  EXPECT_THAT(accepted_.entries().back().why,
              StatusIs(absl::StatusCode::kUnavailable));
}

// Without a reset the system would keep the unsent bytes for minutes.
TEST_F(ZmqHostileTest, APeerThatNeverReadsIsReset) {
  const std::string frame =
      RawPeer::LongFrameHeader(0, 100'000) + std::string(100'000, 'x');
  absl::Mutex mutex;
  std::shared_ptr<Event> answered;
  absl::Status sent;
  RecordingEnd echoing(*scheduler_, [&](const RecordingEnd::Entry& entry) {
    if (entry.kind != Kind::kMessage) return;
    const absl::Status status = wire_->Send(entry.connection, entry.frames);
    absl::MutexLock lock(&mutex);
    sent.Update(status);
    answered->Set();
  });
  ASSERT_OK_AND_ASSIGN(
      const auto listener,
      wire_->Listen({"127.0.0.1", 0}, ChannelKind::kControl, echoing));
  RawPeer peer(listener->address());
  ASSERT_TRUE(peer.ShakeHands());
  // The peer must not send once it is given up: that would also reset the
  // connection.
  const auto is_answered = [&] {
    std::shared_ptr<Event> answer = scheduler_->NewEvent();
    {
      absl::MutexLock lock(&mutex);
      answered = answer;
    }
    EXPECT_TRUE(peer.Say(frame));
    EXPECT_TRUE(answer->WaitUntil(clock_.Now() + kTimeout));
    absl::MutexLock lock(&mutex);
    return sent.ok();
  };
  int said = 0;
  while (is_answered()) ASSERT_LT(++said, 2000);
  EXPECT_TRUE(peer.IsReset());
}

// Send holds the lock of all connections.
TEST_F(ZmqHostileTest, DisconnectingSendDoesNotFreeTheQueue) {
  RawPeer peer(listener_->address());
  ASSERT_TRUE(peer.ShakeHands());
  ASSERT_TRUE(peer.Say(RawPeer::ShortFrame(0, "hello")));
  ASSERT_EQ(peer.Hear(7), RawPeer::ShortFrame(0, "hello"));
  const ConnectionId connection = accepted_.entries().back().connection;
  const auto bytes = std::make_shared<const std::string>(100'000, 'x');
  // Freed by this thread. libzmq's threads may free messages later than this
  // test.
  const auto num_freed = std::make_shared<std::atomic<int>>(0);
  const auto free = [bytes, num_freed,
                     sender = std::this_thread::get_id()](const void*) {
    *num_freed += std::this_thread::get_id() == sender;
  };
  int freed_before = 0;
  const auto send = [&] {
    freed_before = *num_freed;
    std::shared_ptr<const void> lent(bytes->data(), free);
    return wire_->Send(connection,
                       {Blob(std::move(lent), bytes->data(), bytes->size())});
  };
  int num_sent = 0;
  while (send().ok()) ASSERT_LT(++num_sent, 2000);
  EXPECT_LE(*num_freed - freed_before, 1) << "its own message";
  ASSERT_TRUE(accepted_.WaitForCloses(1));
}

TEST_F(ZmqHostileTest, TooLargeFrameClosesTheConnection) {
  for (const uint64_t size : {uint64_t{1} << 21, uint64_t{1} << 40,
                              uint64_t{1} << 62, ~uint64_t{0}}) {
    RawPeer peer(listener_->address());
    ASSERT_TRUE(peer.ShakeHands());
    ASSERT_TRUE(peer.Say(RawPeer::ShortFrame(0, "hello")));
    ASSERT_TRUE(peer.Hear(7) == RawPeer::ShortFrame(0, "hello"));
    peer.Say(RawPeer::LongFrameHeader(0, size));
    EXPECT_TRUE(peer.WaitForClose()) << size;
  }
  EXPECT_TRUE(accepted_.WaitForCloses(4));
  EXPECT_EQ(StrangersOpened(), 4u);
}

TEST_F(ZmqHostileTest, MalformedCommandClosesTheConnection) {
  RawPeer peer(listener_->address());
  ASSERT_TRUE(peer.ShakeHands());
  peer.Say(RawPeer::ShortFrame(4, "\x04PING"));  // without its TTL
  peer.Say(RawPeer::ShortFrame(0xff, "reserved bits"));
  EXPECT_TRUE(peer.WaitForClose());
}

// libzmq delivers a message only when its last frame has come; if the
// connection ends before, the message is dropped.
TEST_F(ZmqHostileTest, PartialMessageEndsWithItsConnection) {
  {
    RawPeer peer(listener_->address());
    ASSERT_TRUE(peer.ShakeHands());
    const std::string frame =
        RawPeer::LongFrameHeader(1, 100000) + std::string(100000, 'm');
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(peer.Say(frame));
    ExpectFriendIsServed("meanwhile");
  }
  EXPECT_EQ(StrangersOpened(), 0u);
}

// The amount received without a complete message is limited, too: the system
// counts it.
TEST_F(ZmqHostileTest, EndlessMessageIsBounded) {
  for (const bool spoke : {false, true}) {
    RawPeer peer(listener_->address());
    ASSERT_TRUE(peer.ShakeHands());
    if (spoke) {
      ASSERT_TRUE(peer.Say(RawPeer::ShortFrame(0, "hello")));
      ASSERT_TRUE(peer.Hear(7) == RawPeer::ShortFrame(0, "hello"));
    }
    const std::string frame =
        RawPeer::LongFrameHeader(1, 100000) + std::string(100000, 'm');
    EXPECT_TRUE(peer.SendUntilClosed(frame));
  }
}

// A reader that is stuck does not keep other connections from being limited.
TEST_F(ZmqHostileTest, UnreadMessagesAreBounded) {
  const auto unblock = scheduler_->NewEvent();
  RecordingEnd stuck(*scheduler_, [&](const RecordingEnd::Entry& entry) {
    if (entry.kind == Kind::kMessage) unblock->Wait();
  });
  ASSERT_OK_AND_ASSIGN(auto listener, wire_->Listen({"127.0.0.1", 0},
                                                    ChannelKind::kBulk, stuck));
  RawPeer peer(listener->address());
  ASSERT_TRUE(peer.ShakeHands());
  const std::string frame =
      RawPeer::LongFrameHeader(0, 100000) + std::string(100000, 'm');
  EXPECT_TRUE(peer.SendUntilClosed(frame));
  unblock->Set();
  EXPECT_TRUE(stuck.WaitForCloses(1));
}

TEST_F(ZmqHostileTest, SilentPeerIsCutAfterTheHandshake) {
  RawPeer peer(listener_->address());
  ASSERT_TRUE(peer.ShakeHands());
  EXPECT_TRUE(peer.WaitForClose());
}

TEST_F(ZmqHostileTest, NumberOfConnectionsIsLimited) {
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 59; ++i) {
    peers.push_back(std::make_unique<RawPeer>(listener_->address()));
    ASSERT_TRUE(peers.back()->ShakeHands());
    ASSERT_TRUE(peers.back()->Say(RawPeer::ShortFrame(0, "hello")));
    ASSERT_EQ(peers.back()->Hear(7), RawPeer::ShortFrame(0, "hello"));
  }
  RawPeer late(listener_->address());
  late.ShakeHands();
  EXPECT_TRUE(late.WaitForClose());
}

// A listener, and peers that connect to it.
class ZmqStrangersTest : public ::testing::Test {
 protected:
  void Listen(const ZmqWireOptions& options) {
    wire_ = NewZmqWire(*scheduler_, options);
    auto listener =
        wire_->Listen({"127.0.0.1", 0}, ChannelKind::kControl, accepted_);
    ASSERT_OK(listener);
    listener_ = *std::move(listener);
  }

  SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  RecordingEnd accepted_{*scheduler_};
  std::unique_ptr<Wire> wire_;
  std::unique_ptr<WireListener> listener_;
};

TEST_F(ZmqStrangersTest, OldestSilentConnectionIsClosed) {
  ZmqWireOptions options;
  options.max_silent_connections = 5;
  options.handshake_timeout = absl::Hours(1);
  ASSERT_NO_FATAL_FAILURE(Listen(options));
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 6; ++i) {
    peers.push_back(std::make_unique<RawPeer>(listener_->address()));
    ASSERT_TRUE(peers.back()->ShakeHands());
  }
  EXPECT_TRUE(peers.front()->WaitForClose());
  ASSERT_TRUE(peers.back()->Say(RawPeer::ShortFrame(0, "hello")));
  EXPECT_TRUE(accepted_.WaitForMessages(1));
}

// The loop may see many connections before it sees the first one's message.
TEST_F(ZmqStrangersTest, NewConnectionsGetAGracePeriod) {
  ZmqWireOptions options;
  options.max_silent_connections = 5;
  options.silent_grace = absl::Hours(1);
  options.handshake_timeout = absl::Hours(1);
  ASSERT_NO_FATAL_FAILURE(Listen(options));
  std::vector<std::unique_ptr<RawPeer>> peers;
  for (int i = 0; i < 50; ++i) {
    peers.push_back(std::make_unique<RawPeer>(listener_->address()));
    ASSERT_TRUE(peers.back()->ShakeHands());
  }
  for (const auto& peer : peers) {
    ASSERT_TRUE(peer->Say(RawPeer::ShortFrame(0, "hello")));
  }
  EXPECT_TRUE(accepted_.WaitForMessages(50));
}

// A port assigns a limited number of identities per time, regardless of who
// requests them.
TEST_F(ZmqStrangersTest, RateOfNewConnectionsIsLimited) {
  ZmqWireOptions options;
  options.max_accepts_at_once = 5;
  options.max_accepts_per_second = 1;
  ASSERT_NO_FATAL_FAILURE(Listen(options));
  const absl::Time begin = clock_.Now();
  for (int i = 0; i < 50; ++i) {
    RawPeer peer(listener_->address());
    if (peer.ShakeHands()) peer.Say(RawPeer::ShortFrame(0, "hello"));
  }
  ASSERT_TRUE(accepted_.WaitForOpens(5));
  size_t num_opened = 0;
  for (const auto& entry : accepted_.entries()) {
    num_opened += entry.kind == Kind::kOpen;
  }
  const absl::Duration taken = clock_.Now() - begin;
  EXPECT_LE(num_opened, 6 + absl::ToDoubleSeconds(taken));
}

TEST_F(ZmqHostileTest, PeerChosenIdentityIsRefused) {
  for (const std::string& identity :
       {std::string("x"), std::string(255, 'x'), std::string("\0\0\0\0", 4)}) {
    RawPeer peer(listener_->address());
    ASSERT_TRUE(peer.ShakeHands(identity));
    peer.Say(RawPeer::ShortFrame(0, "hello"));
    EXPECT_TRUE(peer.WaitForClose());
  }
  EXPECT_EQ(StrangersOpened(), 0u);
}

// Such an identity looks like those that libzmq assigns, and could conflict
// with one that it assigns later, which would abort the process.
TEST_F(ZmqHostileTest, LibzmqStyleIdentityIsRefused) {
  for (const std::string& identity :
       {std::string("\0\0\0\0\1", 5), std::string("\0\x12\x34\x56\x78", 5)}) {
    RawPeer peer(listener_->address());
    ASSERT_TRUE(peer.ShakeHands(identity));
    peer.Say(RawPeer::ShortFrame(0, "hello"));
    EXPECT_TRUE(peer.WaitForClose());
  }
  EXPECT_EQ(StrangersOpened(), 0u);
}

// The start of libzmq's identities must be unpredictable: with the seed of the
// C library's random numbers that every process starts with, the first socket's
// identities would be the same everywhere.
TEST(ZmqIdentitiesDeathTest, NextIdentityIsUnpredictable) {
  const auto serve_stranger_named_as_the_next = [] {
    SystemClock clock;
    const auto scheduler = NewThreadScheduler(clock);
    const auto wire = NewZmqWire(*scheduler, Impatient());
    RecordingEnd accepted(*scheduler);
    const auto listener =
        wire->Listen({"127.0.0.1", 0}, ChannelKind::kControl, accepted);
    std::vector<std::unique_ptr<RawPeer>> peers;
    constexpr uint32_t kFirst = 1804289383;  // random() of a new process
    for (uint32_t i = 0; i < 20; ++i) {
      std::string name(5, '\0');
      for (int j = 0; j < 4; ++j) {
        name[1 + j] = static_cast<char>((kFirst + i) >> (24 - 8 * j));
      }
      peers.push_back(std::make_unique<RawPeer>((*listener)->address()));
      peers.back()->ShakeHands(name);
    }
    for (size_t i = 1; i <= 5; ++i) {
      peers.push_back(std::make_unique<RawPeer>((*listener)->address()));
      peers.back()->ShakeHands();
      peers.back()->Say(RawPeer::ShortFrame(0, "hello"));
      accepted.WaitForMessages(i);
    }
    _exit(0);
  };
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(serve_stranger_named_as_the_next(), testing::ExitedWithCode(0),
              "");
}

TEST_F(ZmqHostileTest, ReconnectingPeersLeaveNoState) {
  constexpr int kRounds = 50;
  for (int i = 0; i < kRounds; ++i) {
    RawPeer mute(listener_->address());
    RawPeer rude(listener_->address());
    // If the connection of an earlier message is uncertain, it is cut.
    if (rude.ShakeHands() && i % 2 == 0) {
      rude.Say(RawPeer::ShortFrame(0, "bye"));
    }
  }
  // Every opened connection is closed, and no other.
  ExpectFriendIsServed("meanwhile");
  EXPECT_TRUE(accepted_.WaitFor([](const auto& entries) {
    int open = 0;
    for (const auto& entry : entries) {
      open += entry.kind == Kind::kOpen;
      open -= entry.kind == Kind::kClose;
    }
    return open == 1;
  }));
}

TEST_F(ZmqHostileTest, DialingANonZmtpServerFails) {
  RawListener other;
  RecordingEnd dialed(*scheduler_);
  const ConnectionId garbled =
      wire_->Dial(other.address(), ChannelKind::kControl, dialed);
  RawPeer first = other.Accept();
  first.Say("220 mail.example.com ESMTP and more than ten bytes of it\r\n");
  ASSERT_TRUE(dialed.WaitForCloses(1));
  const ConnectionId unanswered =
      wire_->Dial(other.address(), ChannelKind::kControl, dialed);
  RawPeer silent = other.Accept();
  ASSERT_TRUE(dialed.WaitForCloses(2));
  wire_->Close(unanswered);  // waits for OnClose to return
  for (const auto& entry : dialed.entries()) {
    EXPECT_EQ(entry.kind, Kind::kClose);
    EXPECT_THAT(entry.why, StatusIs(absl::StatusCode::kUnavailable));
  }
  EXPECT_EQ(dialed.entries()[0].connection, garbled);
}

TEST_F(ZmqHostileTest, UnknownHostNameIsUnavailable) {
  RecordingEnd dialed(*scheduler_);
  const ConnectionId id =
      wire_->Dial({"no-such-host.invalid", 80}, ChannelKind::kControl, dialed);
  ASSERT_TRUE(dialed.WaitForCloses(1));
  wire_->Close(id);  // waits for OnClose to return
  EXPECT_THAT(dialed.entries()[0].why,
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(wire_->Listen({"no-such-host.invalid", 0}, ChannelKind::kControl,
                            accepted_),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(
      wire_->Listen({"203.0.113.1", 0}, ChannelKind::kControl, accepted_),
      StatusIs(absl::StatusCode::kInvalidArgument, "one of this machine"));
}

TEST_F(ZmqHostileTest, HostNamesAndIpv6AreResolved) {
  for (const char* host : {"localhost", "::1"}) {
    RecordingEnd dialed(*scheduler_);
    ASSERT_OK_AND_ASSIGN(
        const auto listener,
        wire_->Listen({host, 0}, ChannelKind::kControl, accepted_));
    const ConnectionId id =
        wire_->Dial(listener->address(), ChannelKind::kControl, dialed);
    ASSERT_OK(wire_->Send(id, Text("hello")));
    EXPECT_TRUE(dialed.WaitForMessages(1)) << host;
    wire_->Close(id);
  }
}

// The peer is killed; its system closes the connection.
TEST_F(ZmqHostileTest, KilledProcessIsReportedDisconnected) {
  const Address address = listener_->address();
  const pid_t child = fork();
  if (child == 0) {  // the other threads are gone: use no lock, no event
    RawPeer peer(address);
    if (peer.ShakeHands()) peer.Say(RawPeer::ShortFrame(0, "hello"));
    pause();
    _exit(0);
  }
  ASSERT_TRUE(accepted_.WaitForMessages(2));
  EXPECT_EQ(kill(child, SIGKILL), 0);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(accepted_.WaitForCloses(1));
}

}  // namespace
}  // namespace weft::bus
