#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/bus/connection.h"
#include "libs/bus/envelope.h"
#include "libs/bus/handshake.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/bus/testing/recording_end.h"
#include "libs/bus/testing/transport_conformance.h"
#include "libs/bus/testing/transport_ends.h"

namespace weft::bus {
namespace {

class SimulatedHarness : public TransportHarness {
 public:
  explicit SimulatedHarness(uint64_t seed)
      : scheduler_(clock_, {.seed = seed, .on_deadlock = {}}) {}

  Scheduler& scheduler() override { return scheduler_; }
  Wire& NewWire(const std::string& name) override {
    wires_.push_back(NewMemoryWire(network_, name));
    return *wires_.back();
  }
  Address host() override { return {"memory", 0}; }
  size_t large_bytes() const override { return 10'000'000; }

 private:
  ManualClock clock_;
  SimulatedScheduler scheduler_;
  MemoryNetwork network_{scheduler_};
  std::vector<std::unique_ptr<Wire>> wires_;
};

class ThreadHarness : public TransportHarness {
 public:
  Scheduler& scheduler() override { return *scheduler_; }
  Wire& NewWire(const std::string& name) override {
    wires_.push_back(NewMemoryWire(network_, name));
    return *wires_.back();
  }
  Address host() override { return {"memory", 0}; }

 private:
  SystemClock clock_;
  std::unique_ptr<Scheduler> scheduler_ = NewThreadScheduler(clock_);
  MemoryNetwork network_{*scheduler_};
  std::vector<std::unique_ptr<Wire>> wires_;
};

TransportHarnessFactory Simulated(uint64_t seed) {
  return [seed] { return std::make_unique<SimulatedHarness>(seed); };
}

INSTANTIATE_TEST_SUITE_P(Seeds, TransportConformanceTest,
                         testing::Values(Simulated(1), Simulated(2),
                                         Simulated(3)));
INSTANTIATE_TEST_SUITE_P(Threads, TransportConformanceTest, testing::Values([] {
                           return std::make_unique<ThreadHarness>();
                         }));

INSTANTIATE_TEST_SUITE_P(Seeds, TransportHeartbeatTest,
                         testing::Values(Simulated(1), Simulated(2)));
INSTANTIATE_TEST_SUITE_P(Threads, TransportHeartbeatTest, testing::Values([] {
                           return std::make_unique<ThreadHarness>();
                         }));

// Wraps a wire, and runs a test's function before the next message.
class InterruptedWire : public Wire {
 public:
  explicit InterruptedWire(std::unique_ptr<Wire> wire)
      : wire_(std::move(wire)) {}

  absl::StatusOr<std::unique_ptr<WireListener>> Listen(
      const Address& address, ChannelKind channel_kind,
      WireEvents& events) override {
    return wire_->Listen(address, channel_kind, events);
  }
  ConnectionId Dial(const Address& address, ChannelKind channel_kind,
                    WireEvents& events) override {
    return wire_->Dial(address, channel_kind, events);
  }
  absl::Status Send(ConnectionId connection, Frames frames) override {
    const std::function<void()> interrupt = std::exchange(before_next, nullptr);
    if (interrupt) interrupt();
    return wire_->Send(connection, std::move(frames));
  }
  void Close(ConnectionId connection) override { wire_->Close(connection); }

  std::function<void()> before_next;

 private:
  const std::unique_ptr<Wire> wire_;
};

// A server and a client in a network in which a test cuts connections and
// counts messages.
class Pair {
 public:
  Pair(uint64_t seed, const TransportOptions& options)
      : scheduler_(clock_, {.seed = seed, .on_deadlock = {}}) {
    server_ = NewTransport(
        {&server_wire, &scheduler_, random_.get(), &server_memory}, options);
    client_ = NewTransport(
        {client_wire_.get(), &scheduler_, random_.get(), &client_memory},
        options);
  }

  std::unique_ptr<Channel> Dial(const Address& address,
                                ChannelEvents& events_of_it,
                                const std::string& task = "") {
    return client_->Dial(address, {"", task, 2, 0}, "", &events_of_it);
  }

  void Start() {
    endpoint =
        *server_->Listen({"memory", 0}, {"", "/job:ps/task:0", 1, 0}, handler);
    channel = client_->Dial(endpoint->address(), {"", "", 2, 0}, "", &events);
  }

 private:
  ManualClock clock_;
  SimulatedScheduler scheduler_;

 public:
  MemoryNetwork network{scheduler_};

 private:
  std::unique_ptr<Random> random_ = NewSeededRandom(1);

 public:
  InterruptedWire server_wire{NewMemoryWire(network, "server")};

 private:
  std::unique_ptr<Wire> client_wire_ = NewMemoryWire(network, "client");

 public:
  SimulatedScheduler& scheduler() { return scheduler_; }
  CountedMemory server_memory{scheduler_}, client_memory{scheduler_};
  RecordingHandler handler{scheduler_};
  RecordingChannelEvents events{scheduler_};

 private:
  std::unique_ptr<Transport> server_, client_;

 public:
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<Channel> channel;
};

// Makes calls of all kinds. Each call ends, once, whatever happens to the
// connection.
void Converse(Pair& pair) {
  const CallOptions waits = {
      .deadline = pair.scheduler().clock().Now() + absl::Hours(1),
      .wait_for_connection = true};
  std::vector<Answer> answers;
  const auto call = [&](Message message) {
    answers.emplace_back(pair.scheduler());
    return pair.channel->Call(std::move(message), waits,
                              answers.back().callback());
  };
  call(NewMessage(kEcho, "small"));
  call(NewMessage(kSlowEcho, "large", {Pattern(150'000, 1), "small"}));
  const Channel::CallId cancelled =
      call(NewMessage(kEcho, "cancelled", {Pattern(150'000, 2)}));
  (void)pair.channel->Send(NewMessage(kNote, "note", {Pattern(90'000, 3)}));
  answers[0].Wait().IgnoreError();
  (void)pair.channel->Send(NewMessage(kSlowNote, "note"));
  pair.channel->Cancel(cancelled);
  call(NewMessage(kSlowEcho, "last", {Pattern(90'000, 4)}));
  for (const Answer& answer : answers) {
    const absl::StatusOr<Message> result = answer.Wait();
    if (!result.ok()) {
      EXPECT_TRUE(absl::IsUnavailable(result.status()) ||
                  absl::IsCancelled(result.status()))
          << result.status();
    }
  }
  for (const Answer& answer : answers) EXPECT_EQ(answer.times(), 1);
}

// Returns the number of messages that arrived, when message `cut_at` was the
// last of its connection.
int ConverseWithCut(uint64_t seed, int cut_at, Fate fate) {
  TransportOptions options;
  options.credit_bytes = 100'000;
  options.chunk_bytes = 30'000;
  options.medium_bytes = 100'000;
  options.medium_window = 100'000;
  Pair pair(seed, options);
  int num_messages = 0;
  pair.network.set_hook([&](const MessageInfo&) {
    return HookResult{num_messages++ == cut_at ? fate : Fate::kDeliver};
  });
  pair.Start();
  Converse(pair);
  // The channel stays open: it dials again. The cut may still hit one of these.
  int num_failed = 0;
  for (int i = 0; i < 2; ++i) {
    Answer again(pair.scheduler());
    pair.channel->Call(NewMessage(kEcho, "again", {Pattern(90'000, 5)}),
                       {.wait_for_connection = true}, again.callback());
    const absl::StatusOr<Message> result = again.Wait();
    if (!result.ok()) {
      EXPECT_THAT(result, StatusIs(absl::StatusCode::kUnavailable));
      ++num_failed;
    }
  }
  EXPECT_LE(num_failed, 1);
  const int total = num_messages;
  pair.channel.reset();
  pair.scheduler().RunUntilIdle();
  EXPECT_EQ(pair.handler.connects.size(), pair.handler.disconnects.size());
  pair.endpoint.reset();
  pair.handler.notes.clear();
  EXPECT_EQ(pair.server_memory.reserved(), 0);
  EXPECT_EQ(pair.client_memory.reserved(), 0);
  return total;
}

// The cancellation comes when the call is answered and its reply in flight.
TEST(CancelledCallTest, CancelledCallDropsTheReplyBeingSent) {
  Pair pair(1, {});
  pair.Start();
  Answer answer(pair.scheduler());
  const Channel::CallId held = pair.channel->Call(
      NewMessage(kHold, ""), {.wait_for_connection = true}, answer.callback());
  ASSERT_TRUE(
      pair.handler.WaitUntil([&] { return !pair.handler.held.empty(); }));
  const std::shared_ptr<IncomingCall> call = pair.handler.TakeHeld()[0].call;
  Message reply = NewMessage(kEcho, "", {Pattern(1'000'000, 1)});
  const std::weak_ptr<const void> sent = reply.attachments[0].owner();
  pair.server_wire.before_next = [&] {
    pair.channel->Cancel(held);
    pair.scheduler().RunUntilIdle();
  };
  call->Reply(std::move(reply));
  // Dropped values are freed on another thread.
  pair.scheduler().RunUntilIdle();
  EXPECT_TRUE(sent.expired());
  EXPECT_THAT(answer.Wait(), StatusIs(absl::StatusCode::kCancelled));
}

TEST(CutTest, CutAtAnyMessageEndsEveryCall) {
  for (const uint64_t seed : {1, 2, 3}) {
    const int uncut = ConverseWithCut(seed, -1, Fate::kDeliver);
    ASSERT_GT(uncut, 20);
    for (const Fate fate : {Fate::kCutHere, Fate::kCutAfter}) {
      for (int i = 0; i < uncut; ++i) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << " message " << i);
        ConverseWithCut(seed, i, fate);
      }
    }
  }
}

// The two channels have a reading thread each, and an ending task closes both.
// Here the thread of the control channel is slower.
class SlowControlTest : public ::testing::Test {
 protected:
  SlowControlTest() {
    pair_.network.set_hook([this](const MessageInfo& message) {
      const bool waits =
          is_slow_ && message.channel_kind == ChannelKind::kControl;
      return HookResult{.delay = waits ? kTimeToReadControl / 4
                                       : absl::ZeroDuration()};
    });
    pair_.Start();
  }
  // Opens the bulk channel.
  void Exchange(Channel& channel) {
    Answer answer(pair_.scheduler());
    channel.Call(NewMessage(kEcho, "", {Pattern(1'000'000, 1)}),
                 {.wait_for_connection = true}, answer.callback());
    ASSERT_OK(answer.Wait());
  }
  // The message that was just sent waits; so do all later ones.
  void LetTheLastMessageWait() {
    is_slow_ = true;
    pair_.scheduler().RunUntilIdle();
  }

  bool is_slow_ = false;
  Pair pair_{1, {}};
};

TEST_F(SlowControlTest, LastReplyAndGoodbyeOfAnEndpointArrive) {
  ASSERT_NO_FATAL_FAILURE(Exchange(*pair_.channel));
  Answer last(pair_.scheduler());
  pair_.channel->Call(NewMessage(kHold, "last"), {}, last.callback());
  ASSERT_TRUE(
      pair_.handler.WaitUntil([&] { return !pair_.handler.held.empty(); }));
  RecordingHandler::Held held = std::move(pair_.handler.TakeHeld()[0]);
  pair_.scheduler().RunUntilIdle();
  held.call->Reply(std::move(held.request));
  LetTheLastMessageWait();
  ASSERT_EQ(last.times(), 0);
  pair_.endpoint.reset();
  EXPECT_OK(last.Wait());
  ASSERT_TRUE(pair_.events.WaitForDisconnects(1));
  EXPECT_EQ(pair_.events.first_disconnect(), TaskHasEnded("/job:ps/task:0"));
}

TEST_F(SlowControlTest, LastMessageAndGoodbyeOfATaskArrive) {
  constexpr char kTask[] = "/job:worker/task:0";
  RecordingChannelEvents events(pair_.scheduler());
  auto channel = pair_.Dial(pair_.endpoint->address(), events, kTask);
  ASSERT_NO_FATAL_FAILURE(Exchange(*channel));
  pair_.scheduler().RunUntilIdle();
  EXPECT_OK(channel->Send(NewMessage(kNote, "last")));
  LetTheLastMessageWait();
  ASSERT_EQ(pair_.handler.notes.size(), 0);
  channel.reset();
  ASSERT_TRUE(pair_.handler.WaitUntil(
      [&] { return pair_.handler.disconnects.size() == 1; }));
  EXPECT_EQ(pair_.handler.disconnects[0].why, TaskHasEnded(kTask));
  EXPECT_EQ(pair_.handler.notes.size(), 1);
}

TEST(CutTest, LossOfTheBulkChannelAloneEndsTheConnection) {
  Pair pair(1, {});
  int num_bulk = 0;
  pair.network.set_hook([&](const MessageInfo& message) {
    // The first one says whose bulk channel it is.
    const bool cuts =
        message.channel_kind == ChannelKind::kBulk && ++num_bulk == 2;
    return HookResult{cuts ? Fate::kCutHere : Fate::kDeliver};
  });
  pair.Start();
  ASSERT_TRUE(pair.events.WaitForConnects(1));
  const absl::Time begin = pair.scheduler().clock().Now();
  Answer held(pair.scheduler()), large(pair.scheduler());
  pair.channel->Call(NewMessage(kHold, ""), {}, held.callback());
  pair.channel->Call(NewMessage(kEcho, "", {Pattern(1'000'000, 1)}), {},
                     large.callback());
  EXPECT_THAT(large.Wait(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(held.Wait(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(num_bulk, 2);
  const absl::Duration taken = pair.scheduler().clock().Now() - begin;
  EXPECT_GE(taken, kTimeToReadControl);
  EXPECT_LT(taken, 2 * kTimeToReadControl);
  ASSERT_TRUE(pair.handler.WaitUntil(
      [&] { return pair.handler.disconnects.size() == 1; }));
  ASSERT_TRUE(pair.events.WaitForConnects(2));
}

// Small messages wait only for the window, and a peer that does not read
// receives at most one window.
TEST(MediumTest, AttachmentsAreInlinedUpToTheWindow) {
  TransportOptions options;
  options.medium_bytes = 100'000;
  options.medium_window = 250'000;
  Pair pair(1, options);
  std::vector<size_t> along, streamed;
  pair.network.set_hook([&](const MessageInfo& message) {
    const size_t size = message.frames->back().size();
    if (size > 50'000) {
      (message.channel_kind == ChannelKind::kBulk ? streamed : along)
          .push_back(size);
    }
    return HookResult{};
  });
  pair.Start();
  ASSERT_TRUE(pair.events.WaitForConnects(1));
  const auto send = [&](size_t size) {
    EXPECT_OK(pair.channel->Send(NewMessage(kNote, "", {Pattern(size, 1)})));
  };
  for (int i = 0; i < 5; ++i) send(100'000);
  ASSERT_TRUE(
      pair.handler.WaitUntil([&] { return pair.handler.notes.size() == 5; }));
  EXPECT_EQ(along, std::vector<size_t>(2, 100'000));
  EXPECT_EQ(streamed, std::vector<size_t>(3, 100'000));
  // Sent attachments free the window, and larger attachments are never inlined.
  pair.handler.notes.clear();
  send(100'001);
  send(100'000);
  ASSERT_TRUE(
      pair.handler.WaitUntil([&] { return pair.handler.notes.size() == 2; }));
  EXPECT_EQ(along.size(), 3);
  EXPECT_EQ(streamed.back(), 100'001);
  for (const auto& note : pair.handler.notes) {
    const Blob& bytes = note.message.attachments[0];
    EXPECT_TRUE(bytes.view() == Pattern(bytes.size(), 1));
  }
}

TEST(CutTest, ChannelDisconnectsFromADeadPeer) {
  Pair pair(1, {});
  pair.Start();
  ASSERT_TRUE(pair.events.WaitForConnects(1));
  Answer held(pair.scheduler());
  pair.channel->Call(NewMessage(kHold, ""), {}, held.callback());
  pair.scheduler().RunUntilIdle();
  pair.network.Kill("server");
  EXPECT_THAT(held.Wait(), StatusIs(absl::StatusCode::kUnavailable, "died"));
  pair.scheduler().AdvanceBy(absl::Seconds(10));
  EXPECT_FALSE(pair.channel->peer().has_value());
  // The pause between attempts is at most the maximum backoff, and never zero.
  EXPECT_GE(pair.events.disconnected.size(), 6);
  EXPECT_LE(pair.events.disconnected.size(), 20);
}

TEST(CutTest, DeadlinesEndCallsInASilentNetwork) {
  Pair pair(1, {});
  pair.Start();
  ASSERT_TRUE(pair.events.WaitForConnects(1));
  pair.network.Partition("server", "client");
  Answer lost(pair.scheduler());
  pair.channel->Call(
      NewMessage(kEcho, ""),
      {.deadline = pair.scheduler().clock().Now() + absl::Seconds(1)},
      lost.callback());
  EXPECT_THAT(lost.Wait(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  pair.network.Heal("server", "client");
  Answer found(pair.scheduler());
  pair.channel->Call(NewMessage(kEcho, ""), {}, found.callback());
  EXPECT_OK(found.Wait());
  EXPECT_EQ(lost.times(), 1);
}

// A wire that runs a test's function before a message is sent, and before a
// connection is closed.
class MeddlingWire : public Wire {
 public:
  explicit MeddlingWire(std::unique_ptr<Wire> wire) : wire_(std::move(wire)) {}

  absl::StatusOr<std::unique_ptr<WireListener>> Listen(
      const Address& address, ChannelKind channel_kind,
      WireEvents& events) override {
    return wire_->Listen(address, channel_kind, events);
  }
  ConnectionId Dial(const Address& address, ChannelKind channel_kind,
                    WireEvents& events) override {
    return wire_->Dial(address, channel_kind, events);
  }
  absl::Status Send(ConnectionId connection, Frames frames) override {
    before_send(frames);
    return wire_->Send(connection, std::move(frames));
  }
  void Close(ConnectionId connection) override {
    before_close();
    wire_->Close(connection);
  }

  // Must be set before dialing.
  std::function<void(const Frames&)> before_send;
  std::function<void()> before_close;

 private:
  const std::unique_ptr<Wire> wire_;
};

// The control channel's thread sends the calls that waited for the connection.
// Meanwhile another call is made, which requires this connection, and the bulk
// channel loses it permanently.
TEST(CutTest, CallDuringFlushFailsWithTheConnection) {
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  MemoryNetwork network(*scheduler);
  const auto server_wire = NewMemoryWire(network, "server");
  MeddlingWire wire(NewMemoryWire(network, "client"));
  const std::unique_ptr<Random> random = NewSeededRandom(3);
  CountedMemory memory(*scheduler);
  RecordingHandler handler(*scheduler);
  const auto server =
      NewTransport({server_wire.get(), scheduler.get(), random.get(), &memory});
  const auto client =
      NewTransport({&wire, scheduler.get(), random.get(), &memory});
  const auto endpoint =
      *server->Listen({"memory", 0}, {"", "/job:ps/task:0", 1, 0}, handler);
  const auto dialed = scheduler->NewEvent();
  const auto bulk_is_up = scheduler->NewEvent();
  const auto lost = scheduler->NewEvent();
  std::unique_ptr<Channel> channel;
  Answer waited(*scheduler), impatient(*scheduler);
  wire.before_close = [&] { lost->Set(); };
  wire.before_send = [&](const Frames& frames) {
    if (DecodeChunk(frames).ok()) return bulk_is_up->Set();
    const auto message = DecodeControlMessage(frames);
    if (!message.ok() || message->body.view() != "second") return;
    dialed->Wait();
    bulk_is_up->Wait();
    channel->Call(NewMessage(kEcho, "now"), {}, impatient.callback());
    network.Partition("client", "server");
    network.Cut("client", "server");
    lost->Wait();
  };
  network.Partition("client", "server");
  channel = client->Dial(endpoint->address(), {"", "", 3, 0}, "", nullptr);
  for (Message& message :
       std::vector{NewMessage(kNote, "first", {Pattern(600'000, 1)}),
                   NewMessage(kEcho, "second")}) {
    channel->Call(std::move(message), {.wait_for_connection = true},
                  waited.callback());
  }
  dialed->Set();
  network.Heal("client", "server");
  EXPECT_THAT(impatient.Wait(), StatusIs(absl::StatusCode::kUnavailable));
  channel.reset();
  network.Heal("client", "server");
}

// The peer is told, whether the request or the cancellation comes first.
TEST(CutTest, CallCancelledDuringFlushIsNotServed) {
  SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  MemoryNetwork network(*scheduler);
  const auto server_wire = NewMemoryWire(network, "server");
  MeddlingWire wire(NewMemoryWire(network, "client"));
  const std::unique_ptr<Random> random = NewSeededRandom(3);
  CountedMemory memory(*scheduler);
  RecordingHandler handler(*scheduler);
  const auto server =
      NewTransport({server_wire.get(), scheduler.get(), random.get(), &memory});
  const auto client =
      NewTransport({&wire, scheduler.get(), random.get(), &memory});
  const auto endpoint =
      *server->Listen({"memory", 0}, {"", "/job:ps/task:0", 1, 0}, handler);
  std::unique_ptr<Channel> channel;
  Channel::CallId call = 0;
  Answer cancelled(*scheduler), last(*scheduler);
  wire.before_close = [] {};
  wire.before_send = [&](const Frames& frames) {
    const auto message = DecodeControlMessage(frames);
    if (message.ok() && message->body.view() == "held") channel->Cancel(call);
  };
  network.Partition("client", "server");
  channel = client->Dial(endpoint->address(), {"", "", 3, 0}, "", nullptr);
  const CallOptions waits = {.wait_for_connection = true};
  call = channel->Call(NewMessage(kHold, "held"), waits, cancelled.callback());
  channel->Call(NewMessage(kEcho, "last"), waits, last.callback());
  network.Heal("client", "server");
  EXPECT_OK(last.Wait());
  EXPECT_THAT(cancelled.Wait(), StatusIs(absl::StatusCode::kCancelled));
  for (const RecordingHandler::Held& held : handler.TakeHeld()) {
    EXPECT_TRUE(held.call->cancellation().IsCancelled());
  }
  channel.reset();
}

TEST(HelloTest, HelloToAnUnresponsiveServerTimesOut) {
  TransportOptions options;
  options.hello_timeout = absl::Seconds(5);
  Pair pair(1, options);
  const auto wire = NewMemoryWire(pair.network, "mute");
  RecordingEnd end(pair.scheduler());
  const auto listener = wire->Listen({"memory", 0}, ChannelKind::kControl, end);
  ASSERT_OK(listener);
  const absl::Time begin = pair.scheduler().clock().Now();
  RecordingChannelEvents events(pair.scheduler());
  const auto channel = pair.Dial((*listener)->address(), events);
  ASSERT_TRUE(events.WaitForDisconnects(1));
  EXPECT_GE(pair.scheduler().clock().Now() - begin, absl::Seconds(5));
  EXPECT_LE(pair.scheduler().clock().Now() - begin, absl::Seconds(6));
}

// One question and one answer, at an interval of a fifth of the timeout.
TEST(HeartbeatTest, IdleConnectionOnlySendsHeartbeats) {
  TransportOptions options;
  options.peer_timeout = absl::Seconds(10);
  Pair pair(1, options);
  int num_messages = 0;
  pair.network.set_hook([&](const MessageInfo&) {
    ++num_messages;
    return HookResult{};
  });
  pair.Start();
  ASSERT_TRUE(pair.events.WaitForConnects(1));
  num_messages = 0;
  pair.scheduler().AdvanceBy(absl::Seconds(100));
  EXPECT_GE(num_messages, 80);
  EXPECT_LE(num_messages, 110);
  EXPECT_EQ(pair.events.disconnected.size(), 0u);
  EXPECT_EQ(pair.handler.disconnects.size(), 0u);
}

TEST(HeartbeatTest, SilentNetworkDisconnectsBothEnds) {
  TransportOptions options;
  options.peer_timeout = absl::Seconds(10);
  Pair pair(1, options);
  pair.Start();
  ASSERT_TRUE(pair.events.WaitForConnects(1));
  pair.scheduler().AdvanceBy(absl::Seconds(33));
  pair.network.Partition("server", "client");
  pair.scheduler().AdvanceBy(absl::Seconds(5));
  EXPECT_EQ(pair.events.disconnected.size(), 0u);
  pair.scheduler().AdvanceBy(absl::Seconds(18));
  EXPECT_GE(pair.events.disconnected.size(), 1u);
  EXPECT_EQ(pair.handler.disconnects.size(), 1u);
}

TEST(CreditTest, BytesInFlightStayWithinTheWindow) {
  TransportOptions options;
  options.credit_bytes = 1 << 20;
  options.chunk_bytes = 100'000;
  Pair pair(1, options);
  // Credit is slow, so the sender reaches the limit repeatedly.
  uint64_t landed = 0, most = 0, returned = 0;
  pair.network.set_hook([&](const MessageInfo& info) {
    const Frames& frames = *info.frames;
    if (info.channel_kind == ChannelKind::kBulk && frames.size() == 2) {
      landed += frames[1].size();
      most = std::max(most, landed - returned);
      return HookResult{};
    }
    const auto message = DecodeControlMessage(frames);
    if (message.ok() && message->envelope.method == kCreditMethod) {
      returned += *DecodeCredit(message->body);
      return HookResult{.delay = absl::Milliseconds(10)};
    }
    return HookResult{};
  });
  pair.Start();
  ASSERT_TRUE(pair.events.WaitForConnects(1));
  const absl::Time begin = pair.scheduler().clock().Now();
  for (int i = 0; i < 5; ++i) {
    EXPECT_OK(pair.channel->Send(NewMessage(kNote, "", {Pattern(3 << 20, i)})));
  }
  ASSERT_TRUE(
      pair.handler.WaitUntil([&] { return pair.handler.notes.size() == 5; }));
  EXPECT_EQ(landed, 5 * (3 << 20));
  EXPECT_LE(most, options.credit_bytes);
  EXPECT_GE(most, options.credit_bytes / 2);
  // Fifteen windows, each of which waited for credit.
  EXPECT_GE(pair.scheduler().clock().Now() - begin, absl::Milliseconds(100));
}

}  // namespace
}  // namespace weft::bus
