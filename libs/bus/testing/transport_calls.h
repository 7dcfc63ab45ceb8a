// Conformance tests of a Transport: calls and one-way messages. Part of
// transport_conformance.h.
#ifndef WEFT_LIBS_BUS_TESTING_TRANSPORT_CALLS_H_
#define WEFT_LIBS_BUS_TESTING_TRANSPORT_CALLS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/testing/transport_ends.h"
#include "libs/bus/testing/transport_fixture.h"
#include "libs/bus/transport.h"

namespace weft::bus {

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

TEST_P(TransportConformanceTest, ErrorIsTransferredUnchanged) {
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

// Each part of the error may be larger than a control message.
TEST_P(TransportConformanceTest, LargeErrorKeepsItsBeginningAndEnd) {
  TransportOptions options;
  options.max_control_bytes = 256 << 10;
  const std::string filler(300'000, 'x');
  handler_.fail_with = absl::NotFoundError(
      absl::StrCat("no node 'a': ", filler, " raise the limit"));
  handler_.fail_with.SetPayload(kErrorNodePayload, absl::Cord(filler));
  handler_.fail_with.SetPayload(kErrorTaskPayload, absl::Cord(filler));
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  const absl::StatusOr<Message> reply = Call(NewMessage(kFail, "")).Wait();
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kNotFound, "no node 'a': x"));
  EXPECT_THAT(reply, StatusIs(absl::StatusCode::kNotFound, "raise the limit"));
  EXPECT_TRUE(reply.status().GetPayload(kErrorNodePayload).has_value());
}

TEST_P(TransportConformanceTest, DroppedCallFails) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  EXPECT_THAT(Call(NewMessage(kDrop, "")).Wait(),
              StatusIs(absl::StatusCode::kInternal, "without an answer"));
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

TEST_P(TransportConformanceTest, RequestDoesNotOvertakeAnEarlierMessage) {
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

TEST_P(TransportConformanceTest, TooLargeControlMessageIsRefused) {
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

TEST_P(TransportConformanceTest, UnansweredRequestsCountForTheirPeer) {
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

// The pool is busy with one message. The following ones exceed the quota, and
// after a while not even their bodies can wait.
TEST_P(TransportConformanceTest, OneWayMessagesBeyondTheQuotaAreRefused) {
  constexpr size_t kMessages = 40;
  TransportOptions options;
  options.max_held_bytes_per_peer = 100'000;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  ASSERT_OK(channel_->Send(NewMessage(kBlockNote, "")));
  for (size_t i = 0; i < kMessages; ++i) {
    const std::string body(60'000, i + 1 < kMessages ? 'x' : 'z');
    EXPECT_OK(channel_->Send(NewMessage(kSlowNote, body, {"attachment"})));
  }
  EXPECT_TRUE(handler_.WaitUntil([&] {
    return !handler_.disconnects.empty() ||
           (!handler_.notes.empty() &&
            handler_.notes.back().message.body.view()[0] == 'z');
  }));
  handler_.unblock->Set();
  EXPECT_EQ(events_.disconnected.size(), 0);
  ASSERT_TRUE(handler_.WaitUntil([&] {
    return !handler_.disconnects.empty() || handler_.notes.size() > kMessages;
  }));
  ASSERT_EQ(handler_.disconnects.size(), 0);
  size_t num_refused = 0;
  for (const RecordingHandler::Note& note : handler_.notes) {
    if (note.received.ok()) continue;
    ++num_refused;
    EXPECT_THAT(note.received, StatusIs(absl::StatusCode::kResourceExhausted,
                                        "max_held_bytes_per_peer"));
    EXPECT_TRUE(note.message.attachments.empty());
    EXPECT_EQ(note.message.body.size(), 60'000);
  }
  EXPECT_EQ(num_refused, kMessages - 1);
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

TEST_P(TransportConformanceTest, RequestsThatEndWorkHaveReservedQuota) {
  TransportOptions options;
  options.max_requests_per_peer = 2;
  options.max_held_bytes_per_peer = 10'000;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  const std::string large(5000, 'x');
  std::vector<Answer> held;
  for (int i = 0; i < 2; ++i) {
    held.push_back(Call(NewMessage(kHold, large)));
    held.push_back(Call(NewMessage(kEndHold, large)));
  }
  // Two for each of the others, plus the reserve.
  for (int i = 2; i < 2 * 2 + kReservedRequests; ++i) {
    held.push_back(Call(NewMessage(kEndHold, "")));
  }
  for (const uint8_t method : {kHold, kEndHold}) {
    EXPECT_THAT(Call(NewMessage(method, "one more")).Wait(),
                StatusIs(absl::StatusCode::kResourceExhausted));
  }
  ASSERT_TRUE(
      handler_.WaitUntil([&] { return handler_.held.size() == held.size(); }));
  for (auto& call : handler_.TakeHeld()) {
    call.call->Reply(std::move(call.request));
  }
  for (const Answer& answer : held) EXPECT_OK(answer.Wait());
  EXPECT_OK(Call(NewMessage(kEcho, large)).Wait());
}

TEST_P(TransportConformanceTest, ClientHasALowerRequestLimitThanATask) {
  TransportOptions options;
  options.max_requests_per_peer = 3;
  options.max_requests_per_client = 2;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  const auto task = client_->transport->Dial(
      endpoint_->address(), {"cluster", "/job:worker/task:0", 13, 78}, "",
      &events_);
  ASSERT_TRUE(events_.WaitForConnects(2));
  const auto call_from = [this](Channel& channel) {
    Answer answer(scheduler_);
    channel.Call(NewMessage(kHold, ""), {}, answer.callback());
    return answer;
  };
  std::vector<Answer> held;
  for (int i = 0; i < 2; ++i) held.push_back(call_from(*channel_));
  for (int i = 0; i < 3; ++i) held.push_back(call_from(*task));
  EXPECT_THAT(call_from(*channel_).Wait(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "max_requests_per_client"));
  EXPECT_THAT(
      call_from(*task).Wait(),
      StatusIs(absl::StatusCode::kResourceExhausted, "max_requests_per_peer"));
  ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.held.size() == 5; }));
  for (auto& call : handler_.TakeHeld()) {
    call.call->Reply(std::move(call.request));
  }
  for (const Answer& answer : held) EXPECT_OK(answer.Wait());
}

TEST_P(TransportConformanceTest, ConnectionsOfAClientShareItsQuota) {
  TransportOptions options;
  options.max_requests_per_client = 2;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  const auto second = client_->transport->Dial(
      endpoint_->address(), client_identity_, "/job:ps/task:0", &events_);
  Identity other = client_identity_;
  ++other.incarnation;
  const auto stranger = client_->transport->Dial(endpoint_->address(), other,
                                                 "/job:ps/task:0", &events_);
  ASSERT_TRUE(events_.WaitForConnects(3));
  const auto call_from = [this](Channel& channel, uint8_t method) {
    Answer answer(scheduler_);
    channel.Call(NewMessage(method, ""), {}, answer.callback());
    return answer;
  };
  const Answer first = call_from(*channel_, kHold);
  const Answer last = call_from(*second, kHold);
  ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.held.size() == 2; }));
  EXPECT_THAT(call_from(*channel_, kEcho).Wait(),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       "max_requests_per_client"));
  EXPECT_OK(call_from(*stranger, kEcho).Wait());
  for (auto& call : handler_.TakeHeld()) {
    call.call->Reply(std::move(call.request));
  }
  EXPECT_OK(first.Wait());
  EXPECT_OK(last.Wait());
  EXPECT_OK(call_from(*second, kEcho).Wait());
}

TEST_P(TransportConformanceTest, ClientsShareHalfOfATasksQuota) {
  TransportOptions options;
  options.max_requests_per_peer = 6;
  options.max_requests_per_client = 2;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  Identity other = client_identity_;
  ++other.incarnation;
  const auto second = client_->transport->Dial(endpoint_->address(), other,
                                               "/job:ps/task:0", &events_);
  ASSERT_TRUE(events_.WaitForConnects(2));
  const auto call_from = [this](Channel& channel, uint8_t method) {
    Answer answer(scheduler_);
    channel.Call(NewMessage(method, ""), {}, answer.callback());
    return answer;
  };
  std::vector<Answer> held;
  for (int i = 0; i < 2; ++i) held.push_back(call_from(*channel_, kHold));
  ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.held.size() == 2; }));
  held.push_back(call_from(*second, kHold));
  ASSERT_TRUE(handler_.WaitUntil([&] { return handler_.held.size() == 3; }));
  EXPECT_THAT(
      call_from(*second, kEcho).Wait(),
      StatusIs(absl::StatusCode::kResourceExhausted, "of all its clients"));
  for (auto& call : handler_.TakeHeld()) {
    call.call->Reply(std::move(call.request));
  }
  for (const Answer& answer : held) EXPECT_OK(answer.Wait());
  EXPECT_OK(call_from(*second, kEcho).Wait());
}

TEST_P(TransportConformanceTest, OpenRequestCountsAfterItsAnswer) {
  TransportOptions options;
  options.max_requests_per_client = 1;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  const Answer held = Call(NewMessage(kHold, ""));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  std::shared_ptr<const void> open;
  for (auto& call : handler_.TakeHeld()) {
    open = call.call->KeepOpen();
    call.call->Reply(std::move(call.request));
  }
  EXPECT_OK(held.Wait());
  EXPECT_THAT(Call(NewMessage(kEcho, "")).Wait(),
              StatusIs(absl::StatusCode::kResourceExhausted));
  open.reset();
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
  // The quota may be released late.
  const Answer again = Call(NewMessage(kHold, ""));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  open = handler_.TakeHeld()[0].call->KeepOpen();
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, OwnerMayCloseItsConnection) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  const Answer held = Call(NewMessage(kHold, ""));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  const uint64_t connection = channel_->connection();
  channel_->EndConnection(connection, absl::InternalError("it does not abort"));
  EXPECT_THAT(held.Wait(),
              StatusIs(absl::StatusCode::kUnavailable, "it does not abort"));
  EXPECT_TRUE(
      handler_.WaitUntil([&] { return handler_.disconnects.size() == 1; }));
  EXPECT_TRUE(handler_.TakeHeld()[0].call->cancellation().IsCancelled());
  // The channel dials again.
  ASSERT_TRUE(events_.WaitForConnects(2));
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
  // A late result of the first connection ends no other.
  EXPECT_NE(channel_->connection(), connection);
  for (const uint64_t other : {connection, uint64_t{0}}) {
    channel_->EndConnection(other, absl::InternalError("it does not abort"));
    EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
  }
  EXPECT_EQ(events_.disconnected.size(), 1u);
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
    EXPECT_TRUE(cancelled->WaitUntil(Now() + kTestTimeout));
  }
  EXPECT_OK(
      Call(NewMessage(kEcho, "2"), {.deadline = Now() + kTestTimeout}).Wait());
}

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_TRANSPORT_CALLS_H_
