// Conformance tests of a Transport: connections that open, end and are refused.
// Part of transport_conformance.h.
#ifndef WEFT_LIBS_BUS_TESTING_TRANSPORT_CONNECTIONS_H_
#define WEFT_LIBS_BUS_TESTING_TRANSPORT_CONNECTIONS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/handshake.h"
#include "libs/bus/testing/transport_ends.h"
#include "libs/bus/testing/transport_fixture.h"
#include "libs/bus/transport.h"

namespace weft::bus {

TEST_P(TransportConformanceTest, ServerShutdownIsReportedAndFailsCalls) {
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
  // A late answer is harmless.
  for (auto& late : handler_.TakeHeld())
    late.call->Reply(NewMessage(kEcho, ""));
  EXPECT_EQ(held.times(), 1);
}

TEST_P(TransportConformanceTest, ClientDisconnectIsReportedAndCancelsCalls) {
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

TEST_P(TransportConformanceTest, ChannelRedialsAndRepeatsTheHello) {
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

TEST_P(TransportConformanceTest, CallMayWaitForAConnection) {
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

TEST_P(TransportConformanceTest, DestroyedChannelFailsItsCalls) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  std::vector<Answer> answers;
  for (size_t i = 0; i < 20; ++i) {
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

TEST_P(TransportConformanceTest, DrainingEndpointRefusesNewRequests) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  const Answer held = Call(NewMessage(kHold, "1"));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  endpoint_->Drain();
  EXPECT_THAT(Call(NewMessage(kEcho, "")).Wait(),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  // Requests that end work are served until the end.
  EXPECT_THAT(Call(NewMessage(kFail, "")).Wait(),
              StatusIs(absl::StatusCode::kNotFound, "no such thing"));
  RecordingChannelEvents events(scheduler_);
  const auto late = client_->transport->Dial(endpoint_->address(),
                                             client_identity_, "", &events);
  ASSERT_TRUE(events.WaitForDisconnects(1));
  EXPECT_THAT(events.first_disconnect(),
              StatusIs(absl::StatusCode::kUnavailable, "shutting down"));
  Identity needed = client_identity_;
  needed.task = RecordingHandler::kAcceptedWhileDraining;
  RecordingChannelEvents needed_events(scheduler_);
  const auto accepted = client_->transport->Dial(endpoint_->address(), needed,
                                                 "", &needed_events);
  EXPECT_TRUE(needed_events.WaitForConnects(1));
  for (auto& each : handler_.TakeHeld()) {
    each.call->Reply(NewMessage(kEcho, "done"));
  }
  EXPECT_EQ(TextOf(held.Wait()), "done");
}

TEST_P(TransportConformanceTest, ExcessConnectionIsRefused) {
  TransportOptions options;
  options.max_connections = 2;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  RecordingChannelEvents second_events(scheduler_);
  auto second = client_->transport->Dial(endpoint_->address(), client_identity_,
                                         "", &second_events);
  ASSERT_TRUE(second_events.WaitForConnects(1));
  RecordingChannelEvents third_events(scheduler_);
  const auto third = client_->transport->Dial(
      endpoint_->address(), client_identity_, "", &third_events);
  ASSERT_TRUE(third_events.WaitForDisconnects(1));
  EXPECT_THAT(
      third_events.first_disconnect(),
      StatusIs(absl::StatusCode::kResourceExhausted, "max_connections"));
  EXPECT_EQ(handler_.connects.size(), 2u);
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
  // The third client keeps trying, and is accepted when another connection has
  // closed.
  second.reset();
  EXPECT_TRUE(third_events.WaitForConnects(1));
}

TEST_P(TransportConformanceTest, HelloForAnotherTaskIsRefused) {
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
      // A protocol violation: the connection is closed silently.
      ASSERT_TRUE(events.WaitForDisconnects(1));
      continue;
    }
    EXPECT_THAT(waits.Wait(),
                StatusIs(absl::StatusCode::kFailedPrecondition, each.text));
    ASSERT_TRUE(events.WaitForDisconnects(1));
    EXPECT_THAT(events.first_disconnect(),
                StatusIs(absl::StatusCode::kFailedPrecondition, each.text));
    // The call does not wait for another attempt.
    Answer late(scheduler_);
    channel->Call(NewMessage(kEcho, ""), {.wait_for_connection = true},
                  late.callback());
    EXPECT_FALSE(late.Wait().ok());
  }
  EXPECT_EQ(handler_.connects.size(), 1);
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
}

TEST_P(TransportConformanceTest, HandlerMayRefuseAPeer) {
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

// Another process may use the address of an ended task for a while.
TEST_P(TransportConformanceTest, RefusedPeerRedials) {
  handler_.refuse_with = absl::FailedPreconditionError("of another cluster");
  handler_.num_refused = 2;
  TransportOptions options;
  options.refused_redial = absl::Milliseconds(100);
  server_ = NewProcess("server");
  client_ = NewProcess("client", options);
  Listen();
  channel_ = client_->transport->Dial(endpoint_->address(), client_identity_,
                                      "", &events_);
  ASSERT_TRUE(events_.WaitForDisconnects(2));
  ASSERT_TRUE(events_.WaitForConnects(1));
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
}

// A client that was connected to the right task must wait for it, as for one
// that has died, and must not report a wrong address.
TEST_P(TransportConformanceTest, OtherProcessAtAKnownAddressIsALoss) {
  TransportOptions options;
  options.refused_redial = absl::Milliseconds(100);
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  const Address address = endpoint_->address();
  const auto listen_as = [&](const std::string& task) {
    endpoint_.reset();
    Identity identity = server_identity_;
    identity.task = task;
    auto endpoint = server_->transport->Listen(address, identity, handler_);
    ASSERT_OK(endpoint);
    endpoint_ = *std::move(endpoint);
  };
  listen_as("/job:other/task:0");
  constexpr char kText[] = "is not here; this is /job:other/task:0";
  EXPECT_THAT(events_.WaitForDisconnectThatSays(kText),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(Call(NewMessage(kEcho, "")).Wait(),
              StatusIs(absl::StatusCode::kUnavailable, kText));
  EXPECT_THAT(channel_->Send(NewMessage(kNote, "")),
              StatusIs(absl::StatusCode::kUnavailable, kText));
  const Answer waits =
      Call(NewMessage(kEcho, "patient"), {.wait_for_connection = true});
  listen_as("/job:ps/task:0");
  EXPECT_EQ(TextOf(waits.Wait()), "patient");
  EXPECT_EQ(handler_.connects.size(), 2);
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

// The end of a client's channel does not mean that its process has ended.
TEST_P(TransportConformanceTest, EndingTaskNotifiesTheTasksItDialed) {
  constexpr char kTask[] = "/job:worker/task:0";
  ASSERT_NO_FATAL_FAILURE(Connect());
  auto task = client_->transport->Dial(
      endpoint_->address(), {"cluster", kTask, 13, 78}, "", &events_);
  ASSERT_TRUE(events_.WaitForConnects(2));
  task.reset();
  ASSERT_TRUE(
      handler_.WaitUntil([&] { return handler_.disconnects.size() == 1; }));
  EXPECT_EQ(handler_.disconnects[0].why, TaskHasEnded(kTask));
  channel_.reset();
  ASSERT_TRUE(
      handler_.WaitUntil([&] { return handler_.disconnects.size() == 2; }));
  EXPECT_NE(handler_.disconnects[1].why, TaskHasEnded(""));
}

// Nothing serializes the reading threads of the two channels, but the end of
// the connection is reported after the callbacks of both.
TEST_P(TransportConformanceTest, BulkCallbackRunsBesideThoseOfControl) {
  const std::shared_ptr<Event> begun = scheduler_.NewEvent();
  handler_.on_block = [begun] { begun->Set(); };
  ASSERT_NO_FATAL_FAILURE(Connect());
  const Answer blocked = Call(NewMessage(kBlock, "", {Pattern(1'000'000, 1)}));
  ASSERT_TRUE(begun->WaitUntil(Now() + kTestTimeout));
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
  const Answer held = Call(NewMessage(kHold, ""));
  ASSERT_TRUE(handler_.WaitUntil([&] { return !handler_.held.empty(); }));
  const std::shared_ptr<IncomingCall> call = handler_.TakeHeld()[0].call;
  const std::shared_ptr<Event> cancelled = scheduler_.NewEvent();
  const bool is_registered =
      call->cancellation().Register(
          [cancelled](const absl::Status&) { cancelled->Set(); }) != 0;
  ASSERT_TRUE(is_registered);
  channel_.reset();
  // The control channel's end was noticed.
  EXPECT_TRUE(cancelled->WaitUntil(Now() + kTestTimeout));
  EXPECT_TRUE(handler_.WaitUntil([&] { return handler_.disconnects.empty(); }));
  handler_.unblock->Set();
  ASSERT_TRUE(
      handler_.WaitUntil([&] { return handler_.disconnects.size() == 1; }));
  EXPECT_THAT(blocked.Wait(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(held.Wait(), StatusIs(absl::StatusCode::kCancelled));
}

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_TRANSPORT_CONNECTIONS_H_
