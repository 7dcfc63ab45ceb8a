// Conformance tests of a Transport: the other end is dead although its
// connections are open. Part of transport_conformance.h.
#ifndef WEFT_LIBS_BUS_TESTING_TRANSPORT_HEARTBEATS_H_
#define WEFT_LIBS_BUS_TESTING_TRANSPORT_HEARTBEATS_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/scheduler/pool_progress.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/forwarding_scheduler.h"
#include "libs/bus/handshake.h"
#include "libs/bus/testing/recording_end.h"
#include "libs/bus/testing/transport_ends.h"
#include "libs/bus/testing/transport_fixture.h"
#include "libs/bus/testing/transport_hostile_peers.h"
#include "libs/bus/transport.h"

namespace weft::bus {

// The scheduler of a process whose pools start no more closures; or appear to,
// because they are busy with other work.
class StuckScheduler : public ForwardingScheduler, public PoolProgress {
 public:
  using ForwardingScheduler::ForwardingScheduler;

  void Stick(Pool pool) {
    absl::MutexLock lock(&mutex_);
    stuck_[pool];
  }
  void WorkThroughABacklog() {
    absl::MutexLock lock(&mutex_);
    has_backlog_ = true;
  }
  uint64_t num_begun() const override {
    absl::MutexLock lock(&mutex_);
    return has_backlog_ ? ++num_begun_ : num_begun_;
  }
  int64_t num_waiting(Pool pool) const override {
    absl::MutexLock lock(&mutex_);
    const auto stuck = stuck_.find(pool);
    return stuck == stuck_.end() ? 0
                                 : static_cast<int64_t>(stuck->second.size());
  }
  int num_threads(Pool) const override { return num_compute_threads(); }
  absl::Duration wake_time() const override { return absl::ZeroDuration(); }
  void Release() {
    std::map<Pool, std::vector<Closure>> stuck;
    {
      absl::MutexLock lock(&mutex_);
      stuck.swap(stuck_);
    }
    for (auto& [pool, closures] : stuck) {
      for (Closure& closure : closures) {
        to().Schedule(pool, std::move(closure));
      }
    }
  }

  void Schedule(Pool pool, Closure closure) override {
    {
      absl::MutexLock lock(&mutex_);
      const auto stuck = stuck_.find(pool);
      if (stuck != stuck_.end()) {
        stuck->second.push_back(std::move(closure));
        return;
      }
    }
    to().Schedule(pool, std::move(closure));
  }
  TimerId ScheduleAt(Pool pool, absl::Time when, Closure closure) override {
    return to().ScheduleAt(
        pool, when, [this, pool, closure = std::move(closure)]() mutable {
          Schedule(pool, std::move(closure));
        });
  }

 private:
  mutable absl::Mutex mutex_;
  bool has_backlog_ ABSL_GUARDED_BY(mutex_) = false;
  mutable uint64_t num_begun_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<Pool, std::vector<Closure>> stuck_ ABSL_GUARDED_BY(mutex_);
};

class TransportHeartbeatTest : public TransportConformanceTest {
 protected:
  static TransportOptions Watchful() {
    TransportOptions options;
    options.peer_timeout = absl::Seconds(2);
    options.max_busy = absl::Seconds(4);
    return options;
  }
  // The server's scheduler must be destroyed before the base class's members.
  void TearDown() override {
    stuck_.Release();
    channel_.reset();
    endpoint_.reset();
    client_.reset();
    server_.reset();
  }

  StuckScheduler stuck_{scheduler_};
};

TEST_P(TransportHeartbeatTest, PeerWithAStuckReaderIsDisconnected) {
  ASSERT_NO_FATAL_FAILURE(Connect(Watchful()));
  const absl::Time begin = Now();
  const Answer answer = Call(NewMessage(kBlock, ""));
  EXPECT_THAT(answer.Wait(),
              StatusIs(absl::StatusCode::kUnavailable, "no heartbeat"));
  EXPECT_GE(Now() - begin, absl::Seconds(1));
  handler_.unblock->Set();
}

TEST_P(TransportHeartbeatTest, PeerWithStuckPoolsIsDisconnected) {
  server_scheduler_ = &stuck_;
  ASSERT_NO_FATAL_FAILURE(Connect(Watchful()));
  EXPECT_OK(Call(NewMessage(kSlowEcho, "")).Wait());
  stuck_.Stick(Pool::kCompute);
  stuck_.Stick(Pool::kControl);
  EXPECT_THAT(Call(NewMessage(kSlowEcho, "")).Wait(),
              StatusIs(absl::StatusCode::kUnavailable, "no heartbeat"));
  stuck_.Release();
}

// Kernels may keep all compute threads busy for long, but not forever.
TEST_P(TransportHeartbeatTest, PeerWithBusyComputeThreadsGetsMoreTime) {
  server_scheduler_ = &stuck_;
  ASSERT_NO_FATAL_FAILURE(Connect(Watchful()));
  stuck_.Stick(Pool::kCompute);
  const absl::Time begin = Now();
  EXPECT_THAT(Call(NewMessage(kSlowEcho, "")).Wait(),
              StatusIs(absl::StatusCode::kUnavailable,
                       "waited for its compute threads"));
  EXPECT_GE(Now() - begin, Watchful().max_busy);
  stuck_.Release();
}

// A one-way message waits for the compute pool, and later messages wait behind
// it, except for control requests.
TEST_P(TransportHeartbeatTest, ControlRequestsDoNotWaitForMessages) {
  server_scheduler_ = &stuck_;
  ASSERT_NO_FATAL_FAILURE(Connect());
  stuck_.Stick(Pool::kCompute);
  ASSERT_OK(channel_->Send(NewMessage(kSlowNote, "")));
  EXPECT_OK(Call(NewMessage(kControlEcho, "")).Wait());
  EXPECT_EQ(handler_.notes.size(), 0u);
  stuck_.Release();
}

// The handler does not know yet that the caller is gone.
TEST_P(TransportHeartbeatTest, ReplyToACancelledCallIsNotSent) {
  server_scheduler_ = &stuck_;
  ASSERT_NO_FATAL_FAILURE(Connect());
  Call(NewMessage(kHold, ""));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  stuck_.Stick(Pool::kControl);
  channel_->Cancel(last_call_);
  EXPECT_OK(Call(NewMessage(kEcho, "after it")).Wait());
  const std::shared_ptr<IncomingCall> call = handler_.TakeHeld()[0].call;
  EXPECT_FALSE(call->cancellation().IsCancelled());
  // More than may be in flight.
  Message reply = NewMessage(kEcho, "", {Pattern(20'000'000, 1)});
  const std::weak_ptr<const void> sent = reply.attachments[0].owner();
  call->Reply(std::move(reply));
  EXPECT_TRUE(sent.expired());
  stuck_.Release();
}

TEST_P(TransportHeartbeatTest, DisconnectWaitsForNoKernel) {
  server_scheduler_ = &stuck_;
  ASSERT_NO_FATAL_FAILURE(Connect());
  Call(NewMessage(kHold, ""));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  stuck_.Stick(Pool::kCompute);
  channel_.reset();
  ASSERT_TRUE(
      handler_.WaitUntil([&] { return !handler_.disconnects.empty(); }));
  EXPECT_TRUE(handler_.TakeHeld()[0].call->cancellation().IsCancelled());
  stuck_.Release();
}

// A queue of kernels may take longer than the timeout; and neither kernels nor
// graphs nor client functions hold a thread that heartbeats need.
TEST_P(TransportHeartbeatTest, BusyPoolsDoNotDelayHeartbeats) {
  server_scheduler_ = &stuck_;
  ASSERT_NO_FATAL_FAILURE(Connect(Watchful()));
  stuck_.WorkThroughABacklog();
  for (const Pool pool : {Pool::kCompute, Pool::kGraph, Pool::kBlocking}) {
    stuck_.Stick(pool);
  }
  CallOptions options;
  options.deadline = Now() + 2 * Watchful().max_busy;
  EXPECT_THAT(Call(NewMessage(kSlowEcho, ""), options).Wait(),
              StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_EQ(events_.disconnected.size(), 0u);
  stuck_.Release();
}

// Its threads may all wait for the object being closed.
TEST_P(TransportHeartbeatTest, ClosingDoesNotWaitForTheBlockingPool) {
  server_scheduler_ = &stuck_;
  ASSERT_NO_FATAL_FAILURE(Connect());
  stuck_.Stick(Pool::kBlocking);
  WirePeer peer(harness_->NewWire("raw"), endpoint_->address(), scheduler_);
  HelloReply welcome;
  ASSERT_TRUE(peer.SendHello(&welcome));
  Envelope envelope;
  envelope.method = kHeartbeatMethod;
  peer.Say({EncodeEnvelope(envelope), EncodeHeartbeat({.sequence = 1})});
  ASSERT_TRUE(peer.end.WaitForMessages(2));
  endpoint_.reset();
  server_.reset();
  EXPECT_TRUE(peer.end.WaitForCloses(1));
  stuck_.Release();
}

TEST_P(TransportHeartbeatTest, SilentClientIsDisconnected) {
  ASSERT_NO_FATAL_FAILURE(Connect(Watchful()));
  WirePeer peer(harness_->NewWire("raw"), endpoint_->address(), scheduler_);
  HelloReply welcome;
  ASSERT_TRUE(peer.SendHello(&welcome));
  ASSERT_TRUE(peer.end.WaitForCloses(1));
  ASSERT_TRUE(
      handler_.WaitUntil([&] { return !handler_.disconnects.empty(); }));
  EXPECT_THAT(handler_.disconnects[0].why,
              StatusIs(absl::StatusCode::kUnavailable, "no heartbeat"));
  // The other client has stayed connected.
  EXPECT_EQ(events_.disconnected.size(), 0u);
}

TEST_P(TransportHeartbeatTest, UnsolicitedHeartbeatReplyIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  WirePeer peer(harness_->NewWire("raw"), endpoint_->address(), scheduler_);
  HelloReply welcome;
  ASSERT_TRUE(peer.SendHello(&welcome));
  Envelope envelope;
  envelope.method = kHeartbeatMethod;
  peer.Say({EncodeEnvelope(envelope), EncodeHeartbeat({.sequence = 1})});
  ASSERT_TRUE(peer.end.WaitForMessages(2));
  const auto answer = DecodeControlMessage(peer.end.messages()[1]);
  ASSERT_OK(answer);
  const auto life = DecodeHeartbeat(answer->body);
  ASSERT_OK(life);
  EXPECT_EQ(life->answers, 1u);
  peer.Say({EncodeEnvelope(envelope), EncodeHeartbeat({.answers = 1})});
  EXPECT_TRUE(peer.end.WaitForCloses(1));
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
}

// One-way messages that wait for a pool count in the quota of the peer.
TEST_P(TransportHeartbeatTest, MessagesWaitingForAPoolAreBounded) {
  server_scheduler_ = &stuck_;
  TransportOptions options;
  options.max_held_bytes_per_peer = 1 << 20;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  stuck_.Stick(Pool::kCompute);
  WirePeer peer(harness_->NewWire("raw"), endpoint_->address(), scheduler_);
  HelloReply welcome;
  ASSERT_TRUE(peer.SendHello(&welcome));
  std::vector<std::weak_ptr<std::string>> said;
  Envelope envelope;
  envelope.method = kSlowNote;
  for (int i = 0; i < 40; ++i) {
    auto bytes = std::make_shared<std::string>(100'000, 'x');
    said.push_back(bytes);
    peer.Say(
        {EncodeEnvelope(envelope), Blob(bytes, bytes->data(), bytes->size())});
  }
  // The quota holds 10, and 10 more wait beyond it. The others do not wait.
  ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.notes.size() == 20; }));
  {
    absl::MutexLock lock(&handler_.mutex);
    for (const RecordingHandler::Note& note : handler_.notes) {
      EXPECT_THAT(note.received,
                  StatusIs(absl::StatusCode::kResourceExhausted));
    }
    handler_.notes.clear();
  }
  // The wire may briefly hold one more.
  EXPECT_LE(std::ranges::count_if(
                said, [](const auto& bytes) { return !bytes.expired(); }),
            21);
  stuck_.Release();
  ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.notes.size() == 20; }));
  // No peer violated the protocol.
  EXPECT_TRUE(server_->logger.lines().empty());
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
}

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_TRANSPORT_HEARTBEATS_H_
