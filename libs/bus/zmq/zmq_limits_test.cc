// Tests a ZmqWire whose process may open no more descriptors or start no more
// threads.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/pool_progress.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/thread_name.h"
#include "libs/base/scheduler/thread_scheduler.h"
#include "libs/base/scheduler/thread_starter.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/little_address_space.h"
#include "libs/bus/testing/raw_peer.h"
#include "libs/bus/testing/recording_end.h"
#include "libs/bus/testing/served_friend.h"
#include "libs/bus/zmq/zmq_loop.h"
#include "libs/bus/zmq/zmq_wire.h"

namespace weft::bus {
namespace {

using Kind = RecordingEnd::Entry::Kind;

// Limits the descriptors of this process, until it is destroyed.
class DescriptorLimit {
 public:
  DescriptorLimit() { getrlimit(RLIMIT_NOFILE, &before_); }
  ~DescriptorLimit() { Lift(); }

  // Allows the open descriptors, and `count` more.
  void LeaveFree(int count) {
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/self/fd")) {
      highest_ = std::max(highest_, std::stoi(entry.path().filename()));
    }
    TakeLower();
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(highest_ + 1 + count);
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  void Lift() {
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0);
    for (const int descriptor : std::exchange(taken_, {})) close(descriptor);
  }

 private:
  // Occupies the free numbers below those.
  void TakeLower() {
    for (int taken = dup(0); taken >= 0; taken = dup(0)) {
      if (taken > highest_) {
        close(taken);
        return;
      }
      taken_.push_back(taken);
    }
  }
  rlimit before_ = {};
  int highest_ = 0;
  std::vector<int> taken_;
};

// Opens its descriptor before it connects.
class LatePeer {
 public:
  void Connect(const Address& to) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(to.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(descriptor_, reinterpret_cast<sockaddr*>(&address),
                      sizeof(address)),
              0);
    peer_ = std::make_unique<RawPeer>(descriptor_);
  }
  RawPeer& operator*() { return *peer_; }
  RawPeer* operator->() { return peer_.get(); }

 private:
  const int descriptor_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::unique_ptr<RawPeer> peer_;
};

// Expects to be called on a thread of the control pool, so by no reading
// thread.
class ControlThreadLogger : public RecordingLogger {
 public:
  void Log(Severity severity, absl::string_view message) override {
    EXPECT_THAT(ThisThreadName(), testing::HasSubstr("/x"));
    RecordingLogger::Log(severity, message);
  }
};

// Waits until the closures of the only control thread have run. REQUIRES: there
// is one.
void AwaitControlThread(Scheduler& scheduler) {
  const std::shared_ptr<Event> ran = scheduler.NewEvent();
  scheduler.Schedule(Pool::kControl, [ran] { ran->Set(); });
  ran->Wait();
}

// Outlives the wire that logs to it.
class LimitedProcess {
 protected:
  ControlThreadLogger logger_;
  DescriptorLimit limit_;
};

class ZmqLimitsTest : protected LimitedProcess, public ServedFriendTest {
 protected:
  ZmqLimitsTest()
      : ServedFriendTest(
            {.handshake_timeout = absl::Milliseconds(500), .logger = &logger_},
            {.max_control_threads = 1}) {}

  bool IsServed(RawPeer& peer) {
    return peer.ShakeHands() && peer.Say(RawPeer::ShortFrame(0, "hello")) &&
           peer.Hear(7) == RawPeer::ShortFrame(0, "hello");
  }
  int NumLogged(absl::string_view text) {
    AwaitControlThread(*scheduler_);
    int n = 0;
    for (const std::string& line : logger_.lines()) {
      n += absl::StrContains(line, text);
    }
    return n;
  }
};

TEST_F(ZmqLimitsTest, ConnectionsLeaveAReserveOfDescriptors) {
  std::vector<LatePeer> peers(20);
  limit_.LeaveFree(8);  // all of which are kept in reserve
  for (LatePeer& peer : peers) peer.Connect(listener_->address());
  for (LatePeer& peer : peers) EXPECT_TRUE(peer->WaitForClose());
  EXPECT_EQ(NumLogged("New connections are refused until some are closed"), 1);
  limit_.Lift();
  RawPeer later(listener_->address());
  EXPECT_TRUE(IsServed(later));
  EXPECT_EQ(NumLogged("Accepts connections again after refusing"), 1);
}

TEST_F(ZmqLimitsTest, BacklogIsRefusedWithoutAnyDescriptor) {
  std::vector<LatePeer> peers(20);
  limit_.LeaveFree(0);
  // libzmq's threads may still close a few, which some of the peers get.
  for (LatePeer& peer : peers) peer.Connect(listener_->address());
  for (LatePeer& peer : peers) EXPECT_TRUE(peer->WaitForClose());
  ExpectFriendIsServed("meanwhile");
  EXPECT_EQ(NumLogged("New connections are refused until some are closed"), 1);
  limit_.Lift();
  RawPeer later(listener_->address());
  EXPECT_TRUE(IsServed(later));
}

TEST_F(ZmqLimitsTest, ConnectionIsClosedWithoutFreeDescriptor) {
  RawPeer peer(listener_->address());
  ASSERT_TRUE(IsServed(peer));
  limit_.LeaveFree(0);
  wire_->Close(accepted_.entries().back().connection);
  EXPECT_TRUE(peer.WaitForClose());
}

TEST_F(ZmqLimitsTest, DialWithoutFreeDescriptorIsResourceExhausted) {
  limit_.LeaveFree(3);  // for the socket, but not for the connection
  RecordingEnd end(*scheduler_);
  const ConnectionId id =
      wire_->Dial(listener_->address(), ChannelKind::kControl, end);
  ASSERT_TRUE(end.WaitForCloses(1));
  EXPECT_THAT(end.entries().back().why,
              StatusIs(absl::StatusCode::kResourceExhausted, "ulimit"));
  wire_->Close(id);
}

// libzmq aborts if it finds too few when it starts.
TEST(ZmqStartTest, TooFewDescriptorsAreAnError) {
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  for (int free = 0; free < 40; ++free) {
    DescriptorLimit limit;
    limit.LeaveFree(free);
    const auto wire = NewZmqWire(*scheduler);
    RecordingEnd end(*scheduler);
    const auto listener =
        wire->Listen({"127.0.0.1", 0}, ChannelKind::kControl, end);
    if (listener.ok()) continue;
    EXPECT_THAT(listener,
                StatusIs(absl::StatusCode::kResourceExhausted, "ulimit -n"));
  }
}

[[noreturn]] void StartsWithoutThreads() {
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  const auto wire = NewZmqWire(*scheduler);
  RecordingEnd end(*scheduler);
  if (!LimitAddressSpace()) _exit(1);
  const auto listener =
      wire->Listen({"127.0.0.1", 0}, ChannelKind::kControl, end);
  _exit(absl::IsResourceExhausted(listener.status()) ? 0 : 2);
}

TEST(ZmqStartTest, TooFewThreadsAreAnError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(StartsWithoutThreads(), testing::ExitedWithCode(0), "");
}

// Refuses to start threads once the test says so.
class RefusingStarter : public ThreadStarter {
 public:
  absl::StatusOr<std::thread> Start(Body body) override {
    if (refuses_.load()) return absl::ResourceExhaustedError("No more");
    return system_.Start(std::move(body));
  }
  void Refuse() { refuses_.store(true); }

 private:
  SystemThreadStarter system_;
  std::atomic<bool> refuses_{false};
};

TEST(ZmqLoopTest, LoopWithoutAThreadBlocksNoCaller) {
  SystemClock clock;
  RefusingStarter starter;
  const auto scheduler =
      NewThreadScheduler(clock, {}, &starter, [](const std::string&) {});
  starter.Refuse();
  const std::shared_ptr<Event> release = scheduler->NewEvent();
  const PoolProgress& progress = *PoolProgress::Of(*scheduler);
  const int held = progress.num_threads(Pool::kUnbounded);
  for (int i = 0; i < held; ++i) {
    scheduler->Schedule(Pool::kUnbounded, [release] { release->Wait(); });
  }
  {
    ZmqLoop loop(*scheduler, absl::ZeroDuration());
    ASSERT_OK(loop.Start());
    EXPECT_FALSE(loop.Lead([] { return true; }));
    release->Set();
  }
}

}  // namespace
}  // namespace weft::bus
