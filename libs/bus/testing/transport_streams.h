// Conformance tests of a Transport: large attachments. Part of
// transport_conformance.h.
#ifndef WEFT_LIBS_BUS_TESTING_TRANSPORT_STREAMS_H_
#define WEFT_LIBS_BUS_TESTING_TRANSPORT_STREAMS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/testing/transport_ends.h"
#include "libs/bus/testing/transport_fixture.h"
#include "libs/bus/transport.h"

namespace weft::bus {

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

TEST_P(TransportConformanceTest, VeryLargeAttachmentArrives) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  const std::string bytes = Pattern(harness_->large_bytes(), 1);
  const absl::StatusOr<Message> reply =
      Call(NewMessage(kEcho, "", {bytes})).Wait();
  ASSERT_OK(reply);
  EXPECT_TRUE(reply->attachments[0].view() == bytes);
}

TEST_P(TransportConformanceTest, ManySmallAttachmentsExceedAMessage) {
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

// More than the limits of frames and streams, of all sizes, including empty
// ones.
TEST_P(TransportConformanceTest, ThousandsOfAttachmentsArrive) {
  TransportOptions options;
  options.max_control_bytes = 1 << 20;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  std::vector<std::string> attachments;
  for (uint32_t i = 0; i < 20'000; ++i) {
    const size_t size = i % 100 == 0 ? 70'000 : i % 7 == 0 ? 0 : 1000 + i % 77;
    attachments.push_back(Pattern(size, i));
  }
  {
    const Answer answer = Call(NewMessage(kEcho, "", attachments));
    const absl::StatusOr<Message> reply = answer.Wait();
    ASSERT_OK(reply);
    ASSERT_EQ(reply->attachments.size(), attachments.size());
    for (size_t i = 0; i < attachments.size(); ++i) {
      EXPECT_TRUE(reply->attachments[i].view() == attachments[i]) << i;
    }
  }
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, StreamsAreServedRoundRobin) {
  TransportOptions options;
  options.credit_bytes = 4 << 20;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  // Nothing is received before everything is in flight and all envelopes have
  // arrived: they use the other channel, and a call after them is answered.
  const HeldBuffers held = HoldReceiveBuffers();
  EXPECT_OK(channel_->Send(NewMessage(kNote, "large", {Pattern(24 << 20, 1)})));
  for (int i = 0; i < 20; ++i) {
    EXPECT_OK(channel_->Send(
        NewMessage(kNote, absl::StrCat(i), {Pattern(100'000 + i, i)})));
  }
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
  held.land->Set();
  ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.notes.size() >= 21; }));
  // Each of the others needs one chunk; the large one needs 24, of which four
  // fit into the first window.
  const auto large = std::find_if(
      handler_.notes.begin(), handler_.notes.end(),
      [](const auto& note) { return note.message.body.view() == "large"; });
  EXPECT_EQ(large - handler_.notes.begin(), 20);
  for (const auto& note : handler_.notes) {
    const Blob& bytes = note.message.attachments[0];
    EXPECT_TRUE(bytes.view() ==
                (bytes.size() > 1'000'000
                     ? Pattern(bytes.size(), 1)
                     : Pattern(bytes.size(), bytes.size() - 100'000)));
  }
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, RequestBeyondQuotaFailsWithoutOthers) {
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
      EXPECT_OK(note.received);
    } else {
      EXPECT_THAT(note.received,
                  StatusIs(absl::StatusCode::kResourceExhausted));
      EXPECT_TRUE(note.message.attachments.empty());
    }
  }
  EXPECT_EQ(events_.disconnected.size(), 0);
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, ReplyFailsWithoutMemory) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  // A second client with little memory.
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

TEST_P(TransportConformanceTest, CancellationOvertakesBulk) {
  server_ = NewProcess("server");
  client_ = NewProcess("client");
  const HeldBuffers buffers = HoldReceiveBuffers();
  ASSERT_NO_FATAL_FAILURE(ListenAndDial());
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
    EXPECT_TRUE(cancelled->WaitUntil(Now() + kTestTimeout));
  }
  EXPECT_EQ(large.times(), 0);
  // The large call itself can be cancelled as well, half way.
  channel_->Cancel(large_call);
  EXPECT_THAT(large.Wait(), StatusIs(absl::StatusCode::kCancelled));
  buffers.land->Set();
  // Messages of others are not delayed by it.
  EXPECT_OK(Call(NewMessage(kEcho, "", {Pattern(20 << 20, 1)})).Wait());
  EXPECT_EQ(large.times(), 1);
  EXPECT_EQ(held.times(), 1);
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, StreamsOfAnAbortedStepAreNotSent) {
  server_ = NewProcess("server");
  client_ = NewProcess("client");
  const HeldBuffers held = HoldReceiveBuffers();
  ASSERT_NO_FATAL_FAILURE(ListenAndDial());
  for (const uint64_t step : {1, 2}) {
    Message push =
        NewMessage(kNote, absl::StrCat(step), {Pattern(40 << 20, 1)});
    push.step = {.master_incarnation = 11, .step = step};
    ASSERT_OK(channel_->Send(std::move(push)));
  }
  channel_->AbandonStep({.master_incarnation = 11, .step = 1});
  held.land->Set();
  ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.notes.size() == 2; }));
  for (const RecordingHandler::Note& note : handler_.notes) {
    if (note.message.body.view() == "1") {
      EXPECT_THAT(note.received, StatusIs(absl::StatusCode::kCancelled));
      EXPECT_TRUE(IsDerived(note.received));
      EXPECT_TRUE(note.message.attachments.empty());
    } else {
      EXPECT_OK(note.received);
      ASSERT_EQ(note.message.attachments.size(), 1u);
      EXPECT_TRUE(note.message.attachments[0].view() == Pattern(40 << 20, 1));
    }
  }
  EXPECT_EQ(events_.disconnected.size(), 0);
  ExpectNothingLeft();
}

// The receiver drops the received part without a notification by the sender.
TEST_P(TransportConformanceTest, StreamsOfAnAbortedStepAreNotKept) {
  TransportOptions options;
  options.credit_bytes = 1 << 20;
  server_ = NewProcess("server", options);
  client_ = NewProcess("client", options);
  // The first chunk is received, and the second only when the test allows it.
  const HeldBuffers held = HoldReceiveBuffers();
  ASSERT_NO_FATAL_FAILURE(ListenAndDial());
  Message push = NewMessage(kNote, "", {Pattern(8 << 20, 1)});
  push.step = {.master_incarnation = 11, .step = 1};
  ASSERT_OK(channel_->Send(std::move(push)));
  ASSERT_TRUE(held.reserved->WaitUntil(Now() + kTestTimeout));
  // The message has arrived on the control channel before the request is
  // answered.
  ASSERT_OK(Call(NewMessage(kEcho, "")).Wait());
  endpoint_->AbandonStep({.master_incarnation = 11, .step = 1});
  held.land->Set();
  EXPECT_TRUE(server_->memory.WaitUntilFree());
  // Others continue, and the dropped message is never delivered.
  EXPECT_OK(channel_->Send(NewMessage(kNote, "next", {Pattern(9 << 20, 1)})));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.notes.empty(); }));
  EXPECT_EQ(handler_.notes[0].message.body.view(), "next");
  EXPECT_OK(handler_.notes[0].received);
  ExpectNothingLeft();
}

// Aborting steps must not cost a search of each connection.
TEST_P(TransportConformanceTest, AbandonStepSearchesOnlyWhereStepsStream) {
  server_ = NewProcess("server");
  client_ = NewProcess("client");
  const HeldBuffers held = HoldReceiveBuffers();
  ASSERT_NO_FATAL_FAILURE(ListenAndDial());
  RecordingChannelEvents other_events(scheduler_);
  std::unique_ptr<Channel> other = client_->transport->Dial(
      endpoint_->address(), client_identity_, "", &other_events);
  ASSERT_TRUE(other_events.WaitForConnects(1));
  const StepTag aborted = {.master_incarnation = 11, .step = 2};
  const Counter& searched = server_->traffic.connections_searched;
  endpoint_->AbandonStep(aborted);
  EXPECT_EQ(searched.value(), 0u);
  Message push = NewMessage(kNote, "", {Pattern(8 << 20, 1)});
  push.step = {.master_incarnation = 11, .step = 1};
  ASSERT_OK(channel_->Send(std::move(push)));
  ASSERT_TRUE(held.reserved->WaitUntil(Now() + kTestTimeout));
  // The message has arrived on the control channel before the request is
  // answered.
  ASSERT_OK(Call(NewMessage(kEcho, "")).Wait());
  endpoint_->AbandonStep(aborted);
  EXPECT_EQ(searched.value(), 1u);
  held.land->Set();
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.notes.empty(); }));
  EXPECT_OK(handler_.notes[0].received);
  endpoint_->AbandonStep(aborted);
  EXPECT_EQ(searched.value(), 1u);
  other.reset();
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, CancelledReplyIsFreed) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  for (int i = 0; i < 10; ++i) {
    const Answer answer = Call(NewMessage(kEcho, "", {Pattern(3'000'000, 1)}));
    channel_->Cancel(last_call_);
    // The reply may have been faster than the cancellation.
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

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_TRANSPORT_STREAMS_H_
