// Tests callers that read their answers themselves: Wire::Lead over ZeroMQ.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/forwarding_scheduler.h"
#include "libs/bus/testing/raw_peer.h"
#include "libs/bus/testing/recording_end.h"
#include "libs/bus/wire.h"
#include "libs/bus/zmq/zmq_loop.h"
#include "libs/bus/zmq/zmq_wire.h"

namespace weft::bus {
namespace {

constexpr absl::Duration kLongEnough = absl::Seconds(30);

// Sends each message back.
class Echo : public WireEvents {
 public:
  void OnOpen(ConnectionId) override {}
  void OnMessage(ConnectionId connection, Frames frames) override {
    wire->Send(connection, std::move(frames)).IgnoreError();
  }
  void OnClose(ConnectionId, const absl::Status&) override {}
  Wire* wire = nullptr;
};

// One caller: counts the answers of its connection.
class Caller : public WireEvents {
 public:
  Caller(Wire& wire, Scheduler& scheduler)
      : wire_(wire), scheduler_(scheduler), open_(scheduler.NewEvent()) {}

  void Dial(const Address& address) {
    connection_ = wire_.Dial(address, ChannelKind::kControl, *this);
    ASSERT_TRUE(open_->WaitUntil(scheduler_.clock().Now() + kLongEnough));
  }
  // Makes one round trip; returns true if this thread read the answer itself.
  bool Call() {
    const int want = answers_.load() + 1;
    auto answered = scheduler_.NewEvent();
    {
      absl::MutexLock lock(&mutex_);
      waiting_ = answered.get();
    }
    EXPECT_OK(wire_.Send(connection_, {Blob::FromString("ping")}));
    const bool led = wire_.Lead([&] { return answers_.load() >= want; });
    EXPECT_TRUE(answered->WaitUntil(scheduler_.clock().Now() + kLongEnough));
    absl::MutexLock lock(&mutex_);  // OnMessage has released the event
    return led;
  }
  void Close() { wire_.Close(connection_); }
  int answers() const { return answers_.load(); }

  void OnOpen(ConnectionId) override { open_->Set(); }
  void OnMessage(ConnectionId, Frames) override {
    absl::MutexLock lock(&mutex_);
    ++answers_;
    waiting_->Set();
  }
  void OnClose(ConnectionId, const absl::Status&) override {}

 private:
  Wire& wire_;
  Scheduler& scheduler_;
  ConnectionId connection_ = 0;
  const std::unique_ptr<Event> open_;
  absl::Mutex mutex_;
  Event* waiting_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::atomic<int> answers_{0};
};

class ZmqLeadTest : public ::testing::Test {
 protected:
  ZmqLeadTest() {
    echo_.wire = server_.get();
    auto listener =
        server_->Listen({"127.0.0.1", 0}, ChannelKind::kControl, echo_);
    EXPECT_OK(listener);
    listener_ = *std::move(listener);
  }

  SystemClock clock_;
  std::unique_ptr<Scheduler> scheduler_ =
      NewThreadScheduler(clock_, {.compute_threads = 2});
  std::unique_ptr<Wire> server_ = NewZmqWire(*scheduler_);
  std::unique_ptr<Wire> client_ = NewZmqWire(*scheduler_);
  Echo echo_;
  std::unique_ptr<WireListener> listener_;
};

TEST_F(ZmqLeadTest, SingleCallerReadsItsOwnAnswers) {
  Caller caller(*client_, *scheduler_);
  caller.Dial(listener_->address());
  int led = 0;
  for (int i = 0; i < 1000; ++i) led += caller.Call();
  EXPECT_EQ(caller.answers(), 1000);
  EXPECT_EQ(led, 1000);
  caller.Close();
}

TEST_F(ZmqLeadTest, AllConcurrentCallersGetTheirAnswers) {
  std::vector<std::unique_ptr<Caller>> callers;
  for (int i = 0; i < 4; ++i) {
    callers.push_back(std::make_unique<Caller>(*client_, *scheduler_));
    callers.back()->Dial(listener_->address());
  }
  std::vector<std::thread> threads;
  for (auto& caller : callers) {
    threads.emplace_back([&caller] {
      for (int i = 0; i < 300; ++i) caller->Call();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& caller : callers) {
    EXPECT_EQ(caller->answers(), 300);
    caller->Close();
  }
}

TEST_F(ZmqLeadTest, WireThreadResumesAfterTheLeader) {
  Caller leader(*client_, *scheduler_);
  leader.Dial(listener_->address());
  for (int i = 0; i < 10; ++i) leader.Call();
  // No thread leads now: a new connection is opened by the wire's own thread.
  Caller other(*client_, *scheduler_);
  other.Dial(listener_->address());
  other.Close();
  leader.Close();
}

TEST_F(ZmqLeadTest, WokenLeaderEndsWithoutAnEvent) {
  Caller caller(*client_, *scheduler_);
  caller.Dial(listener_->address());
  std::atomic<bool> asked{false};
  std::atomic<bool> over{false};
  scheduler_->Schedule(Pool::kBlocking, [&] {
    while (!asked.load()) std::this_thread::yield();
    over.store(true);
    client_->WakeLeader();
  });
  EXPECT_TRUE(client_->Lead([&] {
    asked.store(true);
    return over.load();
  }));
  caller.Close();
}

TEST_F(ZmqLeadTest, ListeningWireHasNoLeader) {
  EXPECT_FALSE(server_->Lead([] { return false; }));
}

// For example a tunnel, a proxy or a stopped task: it accepts, and then sends
// nothing or stops in the middle of its handshake.
TEST_F(ZmqLeadTest, SilentListenerDoesNotKeepTheDialerBusy) {
  ZmqWireOptions options;
  options.handshake_timeout = absl::Milliseconds(300);
  const std::unique_ptr<Wire> wire = NewZmqWire(*scheduler_, options);
  for (const size_t said : {0, 10, 11}) {
    RawListener silent;
    std::atomic<bool> closed{false};
    RecordingEnd dialed(*scheduler_, [&](const RecordingEnd::Entry& entry) {
      closed = entry.kind == RecordingEnd::Entry::Kind::kClose;
    });
    wire->Dial(silent.address(), ChannelKind::kControl, dialed);
    RawPeer peer = silent.Accept();
    const std::string zmtp_greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03", 11);
    ASSERT_TRUE(peer.Say(zmtp_greeting.substr(0, said)));
    // The loop's thread may begin later than this.
    while (!wire->Lead([] { return true; })) std::this_thread::yield();
    int num_rounds = 0;
    ASSERT_TRUE(wire->Lead([&] {
      ++num_rounds;
      return closed.load();
    }));
    EXPECT_LT(num_rounds, 100) << said;
  }
}

// Counts how the loop's thread waits while it is parked. It can be held between
// two of these waits.
class ParkedThread : public ForwardingScheduler {
 public:
  using ForwardingScheduler::ForwardingScheduler;

  void Hold() {
    absl::MutexLock lock(&mutex_);
    released_ = to().NewEvent();
  }
  // Starts counting.
  void Release() {
    absl::MutexLock lock(&mutex_);
    std::exchange(released_, nullptr)->Set();
    waits_ = waits_without_rest_ = 0;
  }
  int waits() const {
    absl::MutexLock lock(&mutex_);
    return waits_;
  }
  // The waits that returned because the event was set.
  int waits_without_rest() const {
    absl::MutexLock lock(&mutex_);
    return waits_without_rest_;
  }
  // Called after each wait.
  std::function<void()> after_wait = [] {};

  void Schedule(Pool pool, Closure closure) override {
    to().Schedule(pool, [closure = std::move(closure)]() mutable {
      is_loop_ = true;
      closure();
      is_loop_ = false;
    });
  }
  std::unique_ptr<Event> NewEvent() override {
    return std::make_unique<CountedEvent>(*this, to().NewEvent());
  }

 private:
  class CountedEvent : public Event {
   public:
    CountedEvent(ParkedThread& thread, std::unique_ptr<Event> real)
        : thread_(thread), real_(std::move(real)) {}
    void Set() override { real_->Set(); }
    bool IsSet() const override { return real_->IsSet(); }
    bool WaitUntil(absl::Time deadline) override {
      const bool set = real_->WaitUntil(deadline);
      if (is_loop_) thread_.Count(set);
      return set;
    }

   private:
    ParkedThread& thread_;
    const std::unique_ptr<Event> real_;
  };

  void Count(bool set) {
    std::shared_ptr<Event> released;
    {
      absl::MutexLock lock(&mutex_);
      released = released_;
      waits_ += released == nullptr;
      waits_without_rest_ += set && released == nullptr;
    }
    if (released != nullptr) return released->Wait();
    after_wait();
  }

  static thread_local bool is_loop_;
  mutable absl::Mutex mutex_;
  // Set by Release; null unless the thread is held.
  std::shared_ptr<Event> released_ ABSL_GUARDED_BY(mutex_);
  int waits_ ABSL_GUARDED_BY(mutex_) = 0;
  int waits_without_rest_ ABSL_GUARDED_BY(mutex_) = 0;
};
thread_local bool ParkedThread::is_loop_ = false;

// The first leader leaves work behind, so that the loop's thread should come
// back; before that thread wakes up, a second leader has taken over the work.
TEST_F(ZmqLeadTest, ParkedThreadRestsWhileTheNextLeaderReads) {
  ParkedThread thread(*scheduler_);
  ZmqLoop loop(thread, /*busy_poll=*/absl::ZeroDuration());
  thread.after_wait = [&] { loop.WakeLeader(); };
  ASSERT_OK(loop.Start());
  thread.Hold();
  // The loop's thread may begin later than this.
  while (!loop.Lead([&] {
    loop.Wake(/*id=*/1);  // on this thread: work for the next round
    return true;
  })) {
    std::this_thread::yield();
  }
  bool is_first = true;
  ASSERT_TRUE(loop.Lead([&] {
    if (std::exchange(is_first, false)) thread.Release();
    return thread.waits() >= 3;
  }));
  // One may have been in progress when the second leader began.
  EXPECT_LE(thread.waits_without_rest(), 1);
}

}  // namespace
}  // namespace weft::bus
