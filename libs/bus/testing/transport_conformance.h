// What a Transport over any Wire owes its users; the test of each Wire
// instantiates this suite with a factory of harnesses.
#ifndef WEFT_LIBS_BUS_TESTING_TRANSPORT_CONFORMANCE_H_
#define WEFT_LIBS_BUS_TESTING_TRANSPORT_CONFORMANCE_H_

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/envelope.h"
#include "libs/bus/greeting.h"
#include "libs/bus/testing/recording_end.h"
#include "libs/bus/testing/transport_ends.h"
#include "libs/bus/transport.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// Processes that can reach each other.
class TransportHarness {
 public:
  virtual ~TransportHarness() = default;
  virtual Scheduler& scheduler() = 0;
  // The wire of another process; the harness keeps it.
  virtual Wire& NewWire(const std::string& name) = 0;
  // Where any process can listen, with port 0.
  virtual Address host() = 0;
  // Of the largest attachment.
  virtual size_t large_bytes() const { return 100'000'000; }
};

using TransportHarnessFactory =
    std::function<std::unique_ptr<TransportHarness>()>;

class TransportConformanceTest
    : public ::testing::TestWithParam<TransportHarnessFactory> {
 protected:
  // One process: a transport of its own over a wire of its own.
  struct Process {
    Process(Scheduler& scheduler, uint64_t memory_limit)
        : memory(scheduler, memory_limit) {}
    CountedMemory memory;
    std::unique_ptr<Random> random;
    RecordingLogger logger;
    std::unique_ptr<Transport> transport;
  };

  TransportConformanceTest()
      : harness_(GetParam()()),
        scheduler_(harness_->scheduler()),
        handler_(scheduler_),
        events_(scheduler_) {}

  std::unique_ptr<Process> NewProcess(const std::string& name,
                                      const TransportOptions& options = {},
                                      uint64_t memory_limit = ~uint64_t{0}) {
    auto process = std::make_unique<Process>(scheduler_, memory_limit);
    process->random = NewSeededRandom(++num_processes_);
    TransportParts parts;
    parts.wire = &harness_->NewWire(name);
    parts.scheduler = &scheduler_;
    parts.random = process->random.get();
    parts.memory = &process->memory;
    parts.logger = &process->logger;
    process->transport = NewTransport(parts, options);
    return process;
  }

  // A server at `endpoint_` and a client whose channel is `channel_`.
  void Connect(const TransportOptions& options = {},
               uint64_t memory_limit = ~uint64_t{0}) {
    server_ = NewProcess("server", options, memory_limit);
    client_ = NewProcess("client", options, memory_limit);
    Listen();
    channel_ = client_->transport->Dial(endpoint_->address(), client_identity_,
                                        "/job:ps/task:0", &events_);
    ASSERT_TRUE(events_.WaitForConnects(1)) << "never connected";
  }
  void Listen() {
    auto endpoint = server_->transport->Listen(harness_->host(),
                                               server_identity_, handler_);
    ASSERT_OK(endpoint);
    endpoint_ = *std::move(endpoint);
  }

  Answer Call(Message request, const CallOptions& options = {}) {
    Answer answer(scheduler_);
    last_call_ = channel_->Call(std::move(request), options, answer.callback());
    return answer;
  }
  static std::string TextOf(const absl::StatusOr<Message>& message) {
    if (!message.ok()) return message.status().ToString();
    return std::string(message->body.view());
  }
  absl::Time Now() const { return scheduler_.clock().Now(); }

  // Nothing is left of anything in either process.
  void ExpectNothingLeft() {
    channel_.reset();
    endpoint_.reset();
    handler_.TakeHeld();
    handler_.notes.clear();
    EXPECT_TRUE(server_->memory.WaitUntilFree());
    EXPECT_TRUE(client_->memory.WaitUntilFree());
  }

  const std::unique_ptr<TransportHarness> harness_;
  Scheduler& scheduler_;
  RecordingHandler handler_;
  RecordingChannelEvents events_;
  Identity server_identity_ = {"cluster", "/job:ps/task:0", 11, 77};
  Identity client_identity_ = {"", "", 12, 78};
  uint64_t num_processes_ = 0;
  std::unique_ptr<Process> server_, client_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Channel> channel_;
  Channel::CallId last_call_ = 0;
};

TEST_P(TransportConformanceTest, ARequestIsAnswered) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  for (const uint8_t method : {kEcho, kSlowEcho}) {
    const Answer answer = Call(NewMessage(method, "hi", {"small", "", "one"}));
    const absl::StatusOr<Message> reply = answer.Wait();
    ASSERT_OK(reply);
    EXPECT_EQ(reply->method, method);
    EXPECT_EQ(reply->body.view(), "hi");
    ASSERT_EQ(reply->attachments.size(), 3);
    EXPECT_EQ(reply->attachments[0].view(), "small");
    EXPECT_EQ(reply->attachments[1].size(), 0);
    EXPECT_EQ(reply->attachments[2].view(), "one");
    EXPECT_EQ(answer.times(), 1);
  }
}

TEST_P(TransportConformanceTest, BothEndsKnowEachOther) {
  client_identity_ = {"cluster", "/job:worker/task:3", 12, 78};
  ASSERT_NO_FATAL_FAILURE(Connect());
  ASSERT_TRUE(channel_->peer().has_value());
  EXPECT_EQ(channel_->peer()->task, "/job:ps/task:0");
  EXPECT_EQ(channel_->peer()->incarnation, 11);
  EXPECT_EQ(channel_->peer()->cluster_uuid, "cluster");
  ASSERT_EQ(handler_.connects.size(), 1);
  const Identity& identity = handler_.connects[0].identity;
  EXPECT_EQ(identity.task, "/job:worker/task:3");
  EXPECT_EQ(identity.incarnation, 12);
  EXPECT_EQ(identity.op_fingerprint, 78);
}

TEST_P(TransportConformanceTest, AnErrorCrossesAsItIs) {
  handler_.fail_with = MarkDerived(absl::AbortedError("step 3 was aborted"));
  handler_.fail_with.SetPayload(kErrorNodePayload, absl::Cord("layer/MatMul"));
  handler_.fail_with.SetPayload(kErrorTaskPayload,
                                absl::Cord("/job:ps/task:0"));
  ASSERT_NO_FATAL_FAILURE(Connect());
  const absl::StatusOr<Message> reply = Call(NewMessage(kFail, "")).Wait();
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kAborted, "step 3"));
  EXPECT_TRUE(IsDerived(reply.status()));
  EXPECT_EQ(reply.status().GetPayload(kErrorNodePayload), "layer/MatMul");
  EXPECT_EQ(reply.status().GetPayload(kErrorTaskPayload), "/job:ps/task:0");
}

TEST_P(TransportConformanceTest, ACallThatIsLetGoOfFails) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  EXPECT_THAT(Call(NewMessage(kLetGo, "")).Wait(),
              StatusIs(absl::StatusCode::kInternal, "unanswered"));
}

TEST_P(TransportConformanceTest, OneWayMessagesKeepTheirOrder) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  constexpr int kMessages = 200;
  for (int i = 0; i < kMessages; ++i) {
    const uint8_t method = i % 3 == 0 ? kSlowNote : kNote;
    EXPECT_OK(channel_->Send(NewMessage(method, absl::StrCat(i))));
  }
  ASSERT_TRUE(handler_.WaitUntil(
      [&] { return handler_.notes.size() >= size_t{kMessages}; }));
  ASSERT_EQ(handler_.notes.size(), size_t{kMessages});
  for (int i = 0; i < kMessages; ++i) {
    EXPECT_EQ(handler_.notes[i].message.body.view(), absl::StrCat(i));
  }
}

TEST_P(TransportConformanceTest, ARequestDoesNotOvertakeAMessageBeforeIt) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  for (const uint8_t method : {kEcho, kSlowEcho}) {
    {
      absl::MutexLock lock(&handler_.mutex);
      handler_.notes.clear();
    }
    for (int i = 0; i < 20; ++i) {
      EXPECT_OK(channel_->Send(NewMessage(kSlowNote, "before")));
    }
    EXPECT_OK(Call(NewMessage(method, "after")).Wait());
    absl::MutexLock lock(&handler_.mutex);
    EXPECT_EQ(handler_.notes.size(), 20);
  }
}

TEST_P(TransportConformanceTest, LargeAttachmentsStreamBothWays) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  constexpr size_t kMiB = 1 << 20;
  const std::vector<size_t> sizes = {65535,        65536, 65537,
                                     kMiB - 1,     kMiB,  kMiB + 1,
                                     5 * kMiB + 3, 10,    3 * kMiB};
  std::vector<std::string> attachments;
  for (const size_t size : sizes) {
    attachments.push_back(Pattern(size, static_cast<uint32_t>(size)));
  }
  {
    const Answer answer = Call(NewMessage(kSlowEcho, "large", attachments));
    const absl::StatusOr<Message> reply = answer.Wait();
    ASSERT_OK(reply);
    ASSERT_EQ(reply->attachments.size(), sizes.size());
    for (size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(reply->attachments[i].view() == attachments[i]) << i;
    }
  }
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, AVeryLargeAttachmentArrives) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  const std::string bytes = Pattern(harness_->large_bytes(), 1);
  const absl::StatusOr<Message> reply =
      Call(NewMessage(kEcho, "", {bytes})).Wait();
  ASSERT_OK(reply);
  EXPECT_TRUE(reply->attachments[0].view() == bytes);
}

TEST_P(TransportConformanceTest, ManySmallAttachmentsAreLargeTogether) {
  TransportOptions options;
  options.max_control_bytes = 256 << 10;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  const std::vector<std::string> attachments(30, Pattern(60'000, 3));
  const absl::StatusOr<Message> reply =
      Call(NewMessage(kEcho, "", attachments)).Wait();
  ASSERT_OK(reply);
  ASSERT_EQ(reply->attachments.size(), attachments.size());
  for (const Blob& blob : reply->attachments) {
    EXPECT_TRUE(blob.view() == attachments[0]);
  }
}

TEST_P(TransportConformanceTest, StreamsTakeTurns) {
  TransportOptions options;
  options.credit_bytes = 4 << 20;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  // Nothing lands before all is on its way.
  const std::shared_ptr<Event> land = scheduler_.NewEvent();
  server_->memory.before_reserve = [&] {
    land->WaitUntil(Now() + kTestPatience);
  };
  EXPECT_OK(channel_->Send(NewMessage(kNote, "large", {Pattern(24 << 20, 1)})));
  for (int i = 0; i < 20; ++i) {
    EXPECT_OK(channel_->Send(
        NewMessage(kNote, absl::StrCat(i), {Pattern(100'000 + i, i)})));
  }
  land->Set();
  ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.notes.size() >= 21; }));
  // Each of the others needs one turn; the large one needs 24, of which four
  // fit into the first window. The last of the others may still wait for its
  // envelope, which comes by another lane.
  const auto large = std::find_if(
      handler_.notes.begin(), handler_.notes.end(),
      [](const auto& note) { return note.message.body.view() == "large"; });
  EXPECT_GE(large - handler_.notes.begin(), 10);
  for (const auto& note : handler_.notes) {
    const Blob& bytes = note.message.attachments[0];
    EXPECT_TRUE(bytes.view() ==
                (bytes.size() > 1'000'000
                     ? Pattern(bytes.size(), 1)
                     : Pattern(bytes.size(), bytes.size() - 100'000)));
  }
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, AMessageTooLargeForTheControlLaneIsRefused) {
  TransportOptions options;
  options.max_control_bytes = 100'000;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  const std::string large(200'000, 'x');
  EXPECT_THAT(Call(NewMessage(kEcho, large)).Wait(),
              StatusIs(absl::StatusCode::kInvalidArgument, "attachments"));
  EXPECT_THAT(channel_->Send(NewMessage(kNote, large)),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_OK(Call(NewMessage(kEcho, "small")).Wait());
}

TEST_P(TransportConformanceTest, WithoutRoomTheRequestFailsAndTheRestGoesOn) {
  TransportOptions options;
  options.max_held_bytes_per_peer = 1 << 20;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(
        Call(NewMessage(kEcho, "", {Pattern(70'000, 1), Pattern(20 << 20, 1)}))
            .Wait(),
        StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_OK(Call(NewMessage(kEcho, "", {Pattern(500'000, 1)})).Wait());
  }
  EXPECT_OK(channel_->Send(NewMessage(kNote, "large", {Pattern(2 << 20, 1)})));
  EXPECT_OK(channel_->Send(NewMessage(kNote, "small", {Pattern(90'000, 1)})));
  ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.notes.size() >= 2; }));
  for (const auto& note : handler_.notes) {
    if (note.message.body.view() == "small") {
      EXPECT_OK(note.landed);
    } else {
      EXPECT_THAT(note.landed, StatusIs(absl::StatusCode::kResourceExhausted));
      EXPECT_TRUE(note.message.attachments.empty());
    }
  }
  EXPECT_EQ(events_.disconnected.size(), 0);
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, WithoutMemoryTheReplyFails) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  // A second client, which has little.
  const std::unique_ptr<Process> poor = NewProcess("poor", {}, 1 << 20);
  channel_ = poor->transport->Dial(endpoint_->address(), client_identity_, "",
                                   &events_);
  ASSERT_TRUE(events_.WaitForConnects(2));
  EXPECT_THAT(Call(NewMessage(kEcho, "", {Pattern(3 << 20, 1)})).Wait(),
              StatusIs(absl::StatusCode::kResourceExhausted, "full"));
  EXPECT_OK(Call(NewMessage(kEcho, "", {Pattern(900'000, 1)})).Wait());
  channel_.reset();
  EXPECT_TRUE(poor->memory.WaitUntilFree());
}

TEST_P(TransportConformanceTest, WhatWaitsForAnAnswerCountsForItsPeer) {
  TransportOptions options;
  options.max_held_bytes_per_peer = 1 << 20;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  const auto is_too_much =
      StatusIs(absl::StatusCode::kResourceExhausted, "/job:ps/task:0");
  for (int i = 0; i < 2; ++i) {
    const Answer first = Call(NewMessage(kHold, "", {Pattern(400'000, 1)}));
    const Answer second = Call(NewMessage(kHold, std::string(400'000, 'x')));
    ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.held.size() == 2; }));
    const uint64_t reserved = server_->memory.reserved();
    const auto streamed =
        Call(NewMessage(kEcho, "", {Pattern(400'000, 1)})).Wait();
    EXPECT_THAT(streamed, is_too_much);
    EXPECT_THAT(streamed, StatusIs(absl::StatusCode::kResourceExhausted,
                                   "max_held_bytes_per_peer"));
    EXPECT_THAT(Call(NewMessage(kEcho, std::string(400'000, 'x'))).Wait(),
                is_too_much);
    EXPECT_EQ(server_->memory.reserved(), reserved);
    EXPECT_OK(Call(NewMessage(kEcho, std::string(100'000, 'x'))).Wait());
    for (auto& held : handler_.TakeHeld()) {
      held.call->Reply(NewMessage(kEcho, ""));
    }
    EXPECT_OK(first.Wait());
    EXPECT_OK(second.Wait());
  }
  EXPECT_EQ(events_.disconnected.size(), 0);
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, TooManyRequestsAreRefused) {
  TransportOptions options;
  options.max_requests_per_peer = 2;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  const Answer first = Call(NewMessage(kHold, "1"));
  const Answer second = Call(NewMessage(kHold, "2"));
  EXPECT_THAT(Call(NewMessage(kHold, "3")).Wait(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  for (auto& held : handler_.TakeHeld()) {
    held.call->Reply(std::move(held.request));
  }
  EXPECT_OK(first.Wait());
  EXPECT_OK(second.Wait());
  EXPECT_OK(Call(NewMessage(kEcho, "4")).Wait());
}

TEST_P(TransportConformanceTest, TheServersEndIsReportedAndFailsCalls) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  const Answer held = Call(NewMessage(kHold, "1"));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  endpoint_.reset();
  EXPECT_TRUE(handler_.held[0].call->cancellation().IsCancelled());
  EXPECT_EQ(handler_.disconnects.size(), 1);
  EXPECT_THAT(held.Wait(), StatusIs(absl::StatusCode::kUnavailable));
  ASSERT_TRUE(events_.WaitForDisconnects(1));
  EXPECT_THAT(Call(NewMessage(kEcho, "")).Wait(),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(channel_->Send(NewMessage(kNote, "")),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_FALSE(channel_->peer().has_value());
  // An answer that comes too late does no harm.
  for (auto& late : handler_.TakeHeld())
    late.call->Reply(NewMessage(kEcho, ""));
  EXPECT_EQ(held.times(), 1);
}

TEST_P(TransportConformanceTest, TheClientsEndIsReportedAndCancelsCalls) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  const Answer held = Call(NewMessage(kHold, "1"));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  const std::shared_ptr<IncomingCall> call = handler_.TakeHeld()[0].call;
  channel_.reset();
  EXPECT_EQ(held.times(), 1);
  EXPECT_THAT(held.Wait(), StatusIs(absl::StatusCode::kCancelled));
  ASSERT_TRUE(
      handler_.WaitUntil([&] { return !handler_.disconnects.empty(); }));
  EXPECT_TRUE(call->cancellation().IsCancelled());
  EXPECT_EQ(handler_.disconnects[0].peer, handler_.connects[0].id);
  call->Reply(NewMessage(kEcho, ""));
}

TEST_P(TransportConformanceTest, AChannelDialsAgainAndSaysHelloAnew) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  const Address address = endpoint_->address();
  for (size_t i = 1; i <= 2; ++i) {
    endpoint_.reset();
    ASSERT_TRUE(events_.WaitForDisconnects(i));
    server_identity_.incarnation = 100 + i;
    auto again =
        server_->transport->Listen(address, server_identity_, handler_);
    ASSERT_OK(again);
    endpoint_ = *std::move(again);
    EXPECT_OK(Call(NewMessage(kEcho, "x", {Pattern(1 << 20, 1)}),
                   {.wait_for_connection = true})
                  .Wait());
    ASSERT_TRUE(events_.WaitForConnects(i + 1));
    EXPECT_EQ(channel_->peer()->incarnation, 100 + i);
  }
  ASSERT_EQ(handler_.connects.size(), 3);
  EXPECT_NE(handler_.connects[0].id, 0);
}

TEST_P(TransportConformanceTest, ACallMayWaitForAConnection) {
  server_ = NewProcess("server");
  client_ = NewProcess("client");
  Listen();
  const Address address = endpoint_->address();
  endpoint_.reset();
  channel_ = client_->transport->Dial(address, client_identity_, "", &events_);
  const Answer waits =
      Call(NewMessage(kEcho, "early"), {.wait_for_connection = true});
  const Answer in_vain = Call(NewMessage(kEcho, "early"),
                              {.deadline = Now() + absl::Milliseconds(20),
                               .wait_for_connection = true});
  EXPECT_THAT(in_vain.Wait(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  ASSERT_TRUE(events_.WaitForDisconnects(1));
  EXPECT_THAT(events_.first_disconnect(),
              StatusIs(absl::StatusCode::kUnavailable));
  auto again = server_->transport->Listen(address, server_identity_, handler_);
  ASSERT_OK(again);
  endpoint_ = *std::move(again);
  EXPECT_EQ(TextOf(waits.Wait()), "early");
}

TEST_P(TransportConformanceTest, ADeadlineEndsACallAtBothEnds) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  const absl::Time deadline = Now() + absl::Milliseconds(300);
  const Answer held = Call(NewMessage(kHold, "1"), {.deadline = deadline});
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  const std::shared_ptr<IncomingCall> call = handler_.TakeHeld()[0].call;
  EXPECT_LE(call->deadline(), deadline + absl::Minutes(1));
  EXPECT_THAT(held.Wait(), StatusIs(absl::StatusCode::kDeadlineExceeded));
  EXPECT_GE(Now(), deadline);
  std::shared_ptr<Event> cancelled = scheduler_.NewEvent();
  if (call->cancellation().Register(
          [cancelled](const absl::Status&) { cancelled->Set(); }) != 0) {
    EXPECT_TRUE(cancelled->WaitUntil(Now() + kTestPatience));
  }
  EXPECT_OK(
      Call(NewMessage(kEcho, "2"), {.deadline = Now() + kTestPatience}).Wait());
}

TEST_P(TransportConformanceTest, CancellationOvertakesBulk) {
  server_ = NewProcess("server");
  client_ = NewProcess("client");
  // Nothing lands before the test says so.
  const std::shared_ptr<Event> land = scheduler_.NewEvent();
  server_->memory.before_reserve = [&] {
    land->WaitUntil(Now() + kTestPatience);
  };
  Listen();
  channel_ = client_->transport->Dial(endpoint_->address(), client_identity_,
                                      "", &events_);
  ASSERT_TRUE(events_.WaitForConnects(1));
  const Answer large = Call(NewMessage(kEcho, "large", {Pattern(40 << 20, 1)}));
  const Channel::CallId large_call = last_call_;
  const Answer held = Call(NewMessage(kHold, "1"));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  const std::shared_ptr<IncomingCall> call = handler_.TakeHeld()[0].call;
  channel_->Cancel(last_call_);
  EXPECT_THAT(held.Wait(), StatusIs(absl::StatusCode::kCancelled));
  std::shared_ptr<Event> cancelled = scheduler_.NewEvent();
  if (call->cancellation().Register(
          [cancelled](const absl::Status&) { cancelled->Set(); }) != 0) {
    EXPECT_TRUE(cancelled->WaitUntil(Now() + kTestPatience));
  }
  EXPECT_EQ(large.times(), 0);
  // The large one itself can be cancelled as well, half way.
  channel_->Cancel(large_call);
  EXPECT_THAT(large.Wait(), StatusIs(absl::StatusCode::kCancelled));
  land->Set();
  // What others send is not in its way.
  EXPECT_OK(Call(NewMessage(kEcho, "", {Pattern(20 << 20, 1)})).Wait());
  EXPECT_EQ(large.times(), 1);
  EXPECT_EQ(held.times(), 1);
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, ACancelledReplyLeavesNothing) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  for (int i = 0; i < 10; ++i) {
    const Answer answer = Call(NewMessage(kEcho, "", {Pattern(3'000'000, 1)}));
    channel_->Cancel(last_call_);
    // It may have been faster than the cancellation.
    const absl::StatusOr<Message> result = answer.Wait();
    if (!result.ok()) {
      EXPECT_THAT(result, StatusIs(absl::StatusCode::kCancelled));
    }
    EXPECT_EQ(answer.times(), 1);
  }
  EXPECT_OK(Call(NewMessage(kEcho, "", {Pattern(20 << 20, 1)})).Wait());
  EXPECT_EQ(events_.disconnected.size(), 0);
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, ADestroyedChannelEndsItsCalls) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  std::vector<Answer> answers;
  for (int i = 0; i < 20; ++i) {
    answers.push_back(Call(NewMessage(i % 2 == 0 ? kHold : kSlowEcho, "",
                                      {Pattern(50'000 * i, i)})));
  }
  channel_.reset();
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.times(), 1);
    const auto result = answer.Wait();
    if (!result.ok()) {
      EXPECT_THAT(result, StatusIs(absl::StatusCode::kCancelled));
    }
  }
  answers.clear();
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, ADrainingEndpointRefusesWhatIsNew) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  const Answer held = Call(NewMessage(kHold, "1"));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  endpoint_->Drain();
  EXPECT_THAT(Call(NewMessage(kEcho, "")).Wait(),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  RecordingChannelEvents events(scheduler_);
  const auto late = client_->transport->Dial(endpoint_->address(),
                                             client_identity_, "", &events);
  ASSERT_TRUE(events.WaitForDisconnects(1));
  EXPECT_THAT(events.first_disconnect(),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  for (auto& each : handler_.TakeHeld()) {
    each.call->Reply(NewMessage(kEcho, "done"));
  }
  EXPECT_EQ(TextOf(held.Wait()), "done");
}

TEST_P(TransportConformanceTest, AHelloForSomebodyElseIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  struct Case {
    Identity self;
    std::string destination;
    std::string text;
  };
  for (const Case& each :
       std::vector<Case>{{{"other cluster", "", 5, 0}, "", "another cluster"},
                         {{"", "", 5, 0}, "/job:ps/task:1", "is not here"},
                         {{"", "", 0, 0}, "", "incarnation"}}) {
    RecordingChannelEvents events(scheduler_);
    const auto channel = client_->transport->Dial(
        endpoint_->address(), each.self, each.destination, &events);
    Answer waits(scheduler_);
    channel->Call(NewMessage(kEcho, ""), {.wait_for_connection = true},
                  waits.callback());
    if (each.self.incarnation == 0) {
      // A broken rule: the connection is closed without a word.
      ASSERT_TRUE(events.WaitForDisconnects(1));
      continue;
    }
    EXPECT_THAT(waits.Wait(),
                StatusIs(absl::StatusCode::kFailedPrecondition, each.text));
    ASSERT_TRUE(events.WaitForDisconnects(1));
    EXPECT_THAT(events.first_disconnect(),
                StatusIs(absl::StatusCode::kFailedPrecondition, each.text));
    // It does not try again.
    Answer late(scheduler_);
    channel->Call(NewMessage(kEcho, ""), {.wait_for_connection = true},
                  late.callback());
    EXPECT_FALSE(late.Wait().ok());
  }
  EXPECT_EQ(handler_.connects.size(), 1);
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
}

TEST_P(TransportConformanceTest, TheHandlerMayRefuseAPeer) {
  handler_.refuse_with = absl::PermissionDeniedError("not on the list");
  server_ = NewProcess("server");
  client_ = NewProcess("client");
  Listen();
  channel_ = client_->transport->Dial(endpoint_->address(), client_identity_,
                                      "", &events_);
  ASSERT_TRUE(events_.WaitForDisconnects(1));
  EXPECT_THAT(events_.first_disconnect(),
              StatusIs(absl::StatusCode::kPermissionDenied, "on the list"));
  ExpectNothingLeft();
  EXPECT_EQ(handler_.disconnects.size(), 0);
}

TEST_P(TransportConformanceTest, AHundredPeersAreServed) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  constexpr int kProcesses = 4;
  constexpr int kPeers = 100;
  std::vector<std::unique_ptr<Process>> processes;
  for (int i = 0; i < kProcesses; ++i) {
    processes.push_back(NewProcess(absl::StrCat("client", i)));
  }
  std::vector<std::unique_ptr<Channel>> channels;
  std::vector<Answer> answers;
  for (int i = 0; i < kPeers; ++i) {
    channels.push_back(processes[i % kProcesses]->transport->Dial(
        endpoint_->address(), client_identity_, "", nullptr));
    for (const uint8_t method : {kEcho, kSlowEcho}) {
      answers.emplace_back(scheduler_);
      channels.back()->Call(
          NewMessage(method, absl::StrCat(i),
                     {Pattern(i % 10 == 0 ? 200'000 : 10, i)}),
          {.wait_for_connection = true}, answers.back().callback());
    }
  }
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(TextOf(answers[i].Wait()), absl::StrCat(i / 2));
  }
  channels.clear();
  ASSERT_TRUE(handler_.WaitUntil(
      [&] { return handler_.disconnects.size() >= size_t{kPeers}; }));
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
}

// A peer that says what it likes, over the bare wire.
class WirePeer {
 public:
  WirePeer(Wire& wire, const Address& address, Scheduler& scheduler,
           Lane lane = Lane::kControl)
      : wire_(wire),
        end(scheduler),
        connection(wire.Dial(address, lane, end)) {}
  ~WirePeer() { wire_.Close(connection); }

  void Say(Frames frames) {
    // It may be closed already.
    (void)wire_.Send(connection, std::move(frames));
  }
  // True when the answer was welcome.
  bool SayHello(HelloReply* reply) {
    Hello hello;
    hello.self.incarnation = 5;
    Say(Request(kHelloMethod, 1, EncodeHello(hello)));
    if (!end.WaitForMessages(1)) return false;
    const auto answer = DecodeControlMessage(end.messages()[0]);
    if (!answer.ok()) return false;
    const auto decoded = DecodeHelloReply(answer->body);
    if (!decoded.ok()) return false;
    *reply = *decoded;
    return true;
  }
  static Frames Request(uint8_t method, uint64_t call_id, Blob body) {
    Envelope envelope;
    envelope.kind = MessageKind::kRequest;
    envelope.method = method;
    envelope.call_id = call_id;
    return {EncodeEnvelope(envelope), std::move(body)};
  }

 private:
  Wire& wire_;

 public:
  RecordingEnd end;
  const ConnectionId connection;
};

// Neither lane is more than looked at: no credit ever comes back.
TEST_P(TransportConformanceTest, APeerThatDoesNotReadIsOwedALimitedAmount) {
  TransportOptions options;
  options.credit_bytes = 100'000;
  options.max_unsent_bytes_per_peer = 1 << 20;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  Wire& wire = harness_->NewWire("raw");
  constexpr size_t kCalls = 10;
  constexpr size_t kFit = 3;
  constexpr size_t kReplyBytes = 300'000;
  WirePeer peer(wire, endpoint_->address(), scheduler_);
  HelloReply welcome;
  ASSERT_TRUE(peer.SayHello(&welcome));
  WirePeer bulk(wire, {endpoint_->address().host, welcome.bulk_port},
                scheduler_, Lane::kBulk);
  bulk.Say({EncodeChunkHeader({0, welcome.bulk_token, 0})});
  for (size_t i = 0; i < kCalls; ++i) {
    peer.Say(WirePeer::Request(kHold, 2 + i, Blob()));
  }
  ASSERT_TRUE(
      handler_.WaitUntil([&] { return handler_.held.size() == kCalls; }));
  std::vector<std::weak_ptr<std::string>> owed;
  size_t refused = 0;
  for (auto& held : handler_.TakeHeld()) {
    auto bytes = std::make_shared<std::string>(kReplyBytes, 'x');
    owed.push_back(bytes);
    Message reply = NewMessage(kEcho, "");
    reply.attachments.push_back(Blob(bytes, bytes->data(), bytes->size()));
    const absl::Status sent = held.call->TryReply(std::move(reply));
    if (sent.ok()) continue;
    ++refused;
    EXPECT_THAT(sent, StatusIs(absl::StatusCode::kResourceExhausted,
                               "max_unsent_bytes_per_peer"));
    held.call->Fail(absl::ResourceExhaustedError("said better"));
  }
  EXPECT_EQ(refused, kCalls - kFit);
  const auto num_owed = [&] {
    return std::count_if(owed.begin(), owed.end(),
                         [](const auto& bytes) { return !bytes.expired(); });
  };
  EXPECT_EQ(num_owed(), kFit);
  // All answers come, for the control lane is no part of it.
  ASSERT_TRUE(peer.end.WaitForMessages(1 + kCalls));
  size_t errors = 0;
  for (const Frames& frames : peer.end.messages()) {
    const auto answer = DecodeControlMessage(frames);
    ASSERT_OK(answer);
    errors += answer->envelope.error.message() == "said better";
  }
  EXPECT_EQ(errors, kCalls - kFit);
  EXPECT_OK(Call(NewMessage(kEcho, "", {Pattern(500'000, 1)})).Wait());
  wire.Close(peer.connection);
  ASSERT_TRUE(
      handler_.WaitUntil([&] { return !handler_.disconnects.empty(); }));
  wire.Close(bulk.connection);
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, ABadMessageCostsItsSenderOnly) {
  TransportOptions options;
  options.max_control_bytes = 1 << 20;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  Wire& wire = harness_->NewWire("raw");
  const auto text = [](const std::string& bytes) {
    return Blob::FromString(bytes);
  };
  Envelope named;
  named.kind = MessageKind::kRequest;
  named.method = kEcho;
  named.call_id = 2;
  named.attachments.push_back({10, 0});
  Envelope reply = named;
  reply.kind = MessageKind::kReply;
  reply.attachments.clear();
  Envelope no_id = reply;
  no_id.kind = MessageKind::kRequest;
  no_id.call_id = 0;
  Envelope stolen;
  stolen.method = kCreditMethod;
  const std::vector<Frames> bad = {
      {text("")},
      {text("not a flatbuffer, but long enough to be looked at")},
      {EncodeEnvelope(named), text("body")},
      {EncodeEnvelope(named), text("body"), text("too short")},
      {EncodeEnvelope(named), text("body"), text("1234567890"), text("extra")},
      {EncodeEnvelope(reply), text("body")},
      {EncodeEnvelope(no_id), text("body")},
      {EncodeEnvelope(stolen), EncodeCredit(1)},
      {EncodeEnvelope(stolen), text("no credit at all")},
      WirePeer::Request(kHelloMethod, 3, EncodeHello({})),
      WirePeer::Request(kEcho, 3, text(std::string(2 << 20, 'x'))),
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    for (const bool greeted : {false, true}) {
      WirePeer peer(wire, endpoint_->address(), scheduler_);
      HelloReply welcome;
      if (greeted) {
        ASSERT_TRUE(peer.SayHello(&welcome));
      }
      peer.Say(bad[i]);
      EXPECT_TRUE(peer.end.WaitForCloses(1)) << i << greeted;
    }
  }
  EXPECT_GE(server_->logger.lines().size(), 2 * bad.size());
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
  EXPECT_EQ(events_.disconnected.size(), 0);
}

TEST_P(TransportConformanceTest, ABadChunkCostsItsSenderOnly) {
  TransportOptions options;
  options.credit_bytes = 100'000;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  Wire& wire = harness_->NewWire("raw");
  const auto bytes = [](size_t size) {
    return Blob::FromString(std::string(size, 'x'));
  };
  // Each row is said one after the other; the last is one too much.
  const std::vector<std::vector<Frames>> bad = {
      {{EncodeChunkHeader({0, 1, 0})}},
      {{bytes(24)}},
      {{bytes(3), bytes(3)}},
      {{EncodeChunkHeader({1, 5, 10}), bytes(5)}},
      {{EncodeChunkHeader({1, 0, 10}), bytes(11)}},
      {{EncodeChunkHeader({1, 0, 0}), bytes(1)}},
      {{EncodeChunkHeader({1, 0, 10}), bytes(5)},
       {EncodeChunkHeader({1, 6, 10}), bytes(4)}},
      {{EncodeChunkHeader({1, 0, 10}), bytes(5)},
       {EncodeChunkHeader({1, 5, 11}), bytes(4)}},
      {{EncodeChunkHeader({1, 0, 10}), bytes(10)},
       {EncodeChunkHeader({1, 10, 10}), bytes(1)}},
      {{EncodeChunkHeader({1, 0, ~uint64_t{0}}), bytes(1)}},
      {{EncodeChunkHeader({1, 0, 1'000'000}), bytes(100'001)}},
  };
  for (size_t i = 0; i < bad.size(); ++i) {
    WirePeer control(wire, endpoint_->address(), scheduler_);
    HelloReply welcome;
    ASSERT_TRUE(control.SayHello(&welcome));
    WirePeer bulk(wire, {endpoint_->address().host, welcome.bulk_port},
                  scheduler_, Lane::kBulk);
    bulk.Say({EncodeChunkHeader({0, welcome.bulk_token, 0})});
    for (const Frames& frames : bad[i]) bulk.Say(frames);
    EXPECT_TRUE(bulk.end.WaitForCloses(1)) << i;
    // The two lanes are one connection.
    EXPECT_TRUE(control.end.WaitForCloses(1)) << i;
  }
  EXPECT_OK(Call(NewMessage(kEcho, "", {Pattern(200'000, 1)})).Wait());
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, ABulkConnectionOfNobodyIsClosed) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  Wire& wire = harness_->NewWire("raw");
  WirePeer control(wire, endpoint_->address(), scheduler_);
  HelloReply welcome;
  ASSERT_TRUE(control.SayHello(&welcome));
  WirePeer bulk(wire, {endpoint_->address().host, welcome.bulk_port},
                scheduler_, Lane::kBulk);
  bulk.Say({EncodeChunkHeader({0, welcome.bulk_token + 1, 0})});
  EXPECT_TRUE(bulk.end.WaitForCloses(1));
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
}

TEST_P(TransportConformanceTest, AnotherVersionIsRefused) {
  TransportOptions options;
  options.hello_timeout = absl::Milliseconds(500);
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  WirePeer peer(harness_->NewWire("raw"), endpoint_->address(), scheduler_);
  Hello hello;
  hello.self.task = "/job:worker/replica:0/task:3";
  hello.self.incarnation = 5;
  hello.newest_version = kNewestVersion + 2;
  hello.oldest_version = kNewestVersion + 1;
  peer.Say(WirePeer::Request(kHelloMethod, 1, EncodeHello(hello)));
  ASSERT_TRUE(peer.end.WaitForMessages(1));
  const auto answer = DecodeControlMessage(peer.end.messages()[0]);
  ASSERT_OK(answer);
  EXPECT_THAT(
      answer->envelope.error,
      StatusIs(absl::StatusCode::kUnimplemented,
               absl::StrCat(" speaks ", kOldestVersion, " to ", kNewestVersion,
                            ", ", hello.self.task, " ", kNewestVersion + 1,
                            " to ", kNewestVersion + 2,
                            "; run the same release everywhere")));
  // It has as long to go away as it had for saying HELLO.
  EXPECT_TRUE(peer.end.WaitForCloses(1));
}

TEST_P(TransportConformanceTest, WhoDoesNotAnswerHelloIsGivenUp) {
  TransportOptions options;
  options.hello_timeout = absl::Milliseconds(100);
  client_ = NewProcess("client", options);
  Wire& wire = harness_->NewWire("silent");
  RecordingEnd end(scheduler_);
  const auto listener = wire.Listen(harness_->host(), Lane::kControl, end);
  ASSERT_OK(listener);
  channel_ = client_->transport->Dial((*listener)->address(), client_identity_,
                                      "", &events_);
  ASSERT_TRUE(events_.WaitForDisconnects(2));
  EXPECT_THAT(events_.first_disconnect(),
              StatusIs(absl::StatusCode::kUnavailable, "does not answer"));
  channel_.reset();
}

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_TRANSPORT_CONFORMANCE_H_
