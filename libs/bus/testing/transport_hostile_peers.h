// Conformance tests of a Transport: the other end misbehaves. Part of
// transport_conformance.h.
#ifndef WEFT_LIBS_BUS_TESTING_TRANSPORT_HOSTILE_PEERS_H_
#define WEFT_LIBS_BUS_TESTING_TRANSPORT_HOSTILE_PEERS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/async/limited_log.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/envelope.h"
#include "libs/bus/handshake.h"
#include "libs/bus/testing/recording_end.h"
#include "libs/bus/testing/transport_ends.h"
#include "libs/bus/testing/transport_fixture.h"
#include "libs/bus/transport.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// A peer that sends arbitrary messages over the wire.
class WirePeer {
 public:
  WirePeer(Wire& wire, const Address& address, Scheduler& scheduler,
           ChannelKind channel_kind = ChannelKind::kControl)
      : wire_(wire),
        end(scheduler),
        connection(wire.Dial(address, channel_kind, end)) {}
  ~WirePeer() { wire_.Close(connection); }

  void Say(Frames frames) {
    // The connection may be closed already.
    (void)wire_.Send(connection, std::move(frames));
  }
  // Returns true if the hello was accepted.
  bool SendHello(HelloReply* reply) {
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

// Neither channel is read: no credit is ever returned.
TEST_P(TransportConformanceTest, UnsentBytesForAPeerAreLimited) {
  TransportOptions options;
  options.credit_bytes = 100'000;
  options.medium_bytes = 0;
  options.max_unsent_bytes_per_peer = 1 << 20;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  Wire& wire = harness_->NewWire("raw");
  constexpr size_t kCalls = 10;
  constexpr size_t kFit = 3;
  constexpr size_t kReplyBytes = 300'000;
  WirePeer peer(wire, endpoint_->address(), scheduler_);
  HelloReply welcome;
  ASSERT_TRUE(peer.SendHello(&welcome));
  WirePeer bulk(wire, {endpoint_->address().host, welcome.bulk_port},
                scheduler_, ChannelKind::kBulk);
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
  // All answers arrive, because the control channel is not part of the limit.
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

TEST_P(TransportConformanceTest, BadMessageDisconnectsOnlyItsSender) {
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
        ASSERT_TRUE(peer.SendHello(&welcome));
      }
      peer.Say(bad[i]);
      EXPECT_TRUE(peer.end.WaitForCloses(1)) << i << greeted;
    }
  }
  EXPECT_OK(Call(NewMessage(kEcho, "")).Wait());
  EXPECT_EQ(events_.disconnected.size(), 0);
  channel_.reset();
  endpoint_.reset();  // writes the pending lines
  EXPECT_GE(server_->logger.lines().size(), size_t{LineLimit::kMaxLines});
}

TEST_P(TransportConformanceTest, BadChunkDisconnectsOnlyItsSender) {
  TransportOptions options;
  options.credit_bytes = 100'000;
  ASSERT_NO_FATAL_FAILURE(Connect(options));
  Wire& wire = harness_->NewWire("raw");
  const auto bytes = [](size_t size) {
    return Blob::FromString(std::string(size, 'x'));
  };
  // The messages of each row are sent in order; the last one is the violation.
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
    ASSERT_TRUE(control.SendHello(&welcome));
    WirePeer bulk(wire, {endpoint_->address().host, welcome.bulk_port},
                  scheduler_, ChannelKind::kBulk);
    bulk.Say({EncodeChunkHeader({0, welcome.bulk_token, 0})});
    for (const Frames& frames : bad[i]) bulk.Say(frames);
    EXPECT_TRUE(bulk.end.WaitForCloses(1)) << i;
    // The two channels are one connection.
    EXPECT_TRUE(control.end.WaitForCloses(1)) << i;
  }
  EXPECT_OK(Call(NewMessage(kEcho, "", {Pattern(200'000, 1)})).Wait());
  ExpectNothingLeft();
}

TEST_P(TransportConformanceTest, BulkConnectionWithoutControlIsClosed) {
  ASSERT_NO_FATAL_FAILURE(Connect());
  Wire& wire = harness_->NewWire("raw");
  WirePeer control(wire, endpoint_->address(), scheduler_);
  HelloReply welcome;
  ASSERT_TRUE(control.SendHello(&welcome));
  WirePeer bulk(wire, {endpoint_->address().host, welcome.bulk_port},
                scheduler_, ChannelKind::kBulk);
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
  // The timeout for leaving is the one for sending HELLO.
  EXPECT_TRUE(peer.end.WaitForCloses(1));
}

TEST_P(TransportConformanceTest, UnansweredHelloTimesOut) {
  TransportOptions options;
  options.hello_timeout = absl::Milliseconds(100);
  client_ = NewProcess("client", options);
  Wire& wire = harness_->NewWire("silent");
  RecordingEnd end(scheduler_);
  const auto listener =
      wire.Listen(harness_->host(), ChannelKind::kControl, end);
  ASSERT_OK(listener);
  channel_ = client_->transport->Dial((*listener)->address(), client_identity_,
                                      "", &events_);
  ASSERT_TRUE(events_.WaitForDisconnects(2));
  EXPECT_THAT(events_.first_disconnect(),
              StatusIs(absl::StatusCode::kUnavailable, "does not answer"));
  channel_.reset();
}

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_TRANSPORT_HOSTILE_PEERS_H_
