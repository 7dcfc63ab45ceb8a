// WireConformanceTest checks the contract of every Wire; each implementation's
// test instantiates it with a factory of harnesses.
#ifndef WEFT_LIBS_BUS_TESTING_WIRE_CONFORMANCE_H_
#define WEFT_LIBS_BUS_TESTING_WIRE_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/testing/recording_end.h"
#include "libs/bus/wire.h"

namespace weft::bus {

// Two processes that can reach each other. Frames up to 64 MiB may pass.
class WireHarness {
 public:
  virtual ~WireHarness() = default;
  virtual Scheduler& scheduler() = 0;
  virtual Wire& server() = 0;
  virtual Wire& client() = 0;
  // The address where the server can listen, with port 0; the client reaches it
  // there.
  virtual Address host() = 0;
};

using WireHarnessFactory = std::function<std::unique_ptr<WireHarness>()>;

class WireConformanceTest
    : public ::testing::TestWithParam<WireHarnessFactory> {
 protected:
  using Kind = RecordingEnd::Entry::Kind;

  WireConformanceTest()
      : harness_(GetParam()()),
        scheduler_(harness_->scheduler()),
        server_(harness_->server()),
        client_(harness_->client()) {}

  std::unique_ptr<WireListener> Listen(
      WireEvents& events, ChannelKind channel_kind = ChannelKind::kControl) {
    auto listener = server_.Listen(harness_->host(), channel_kind, events);
    EXPECT_OK(listener);
    return listener.ok() ? *std::move(listener) : nullptr;
  }
  // Returns an end that lives until the wires are gone, because it may be
  // notified of a close until then.
  RecordingEnd& NewEnd(RecordingEnd::OnEntry on_entry = nullptr) {
    ends_.push_back(
        std::make_unique<RecordingEnd>(scheduler_, std::move(on_entry)));
    return *ends_.back();
  }
  static std::string Pattern(size_t size, char seed) {
    std::string bytes(size, seed);
    for (size_t i = 0; i < size; i += 997) bytes[i] = static_cast<char>(i);
    return bytes;
  }
  static std::vector<std::string> Numbers(int begin, int end) {
    std::vector<std::string> numbers;
    for (int i = begin; i < end; ++i) numbers.push_back(absl::StrCat(i));
    return numbers;
  }

  std::vector<std::unique_ptr<RecordingEnd>> ends_;
  const std::unique_ptr<WireHarness> harness_;
  Scheduler& scheduler_;
  Wire& server_;
  Wire& client_;
};

TEST_P(WireConformanceTest, BothEndsSeeOpenMessagesAndClose) {
  RecordingEnd &accepted = NewEnd(), &dialed = NewEnd();
  const auto listener = Listen(accepted);
  EXPECT_NE(listener->address().port, 0);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kControl, dialed);
  EXPECT_NE(id, 0u);
  ASSERT_TRUE(dialed.WaitForOpens(1));
  EXPECT_TRUE(accepted.entries().empty());  // no message was sent yet
  ASSERT_OK(client_.Send(id, Text("question")));
  ASSERT_TRUE(accepted.WaitForMessages(1));
  ASSERT_OK(server_.Send(accepted.entries()[0].connection, Text("answer")));
  ASSERT_TRUE(dialed.WaitForMessages(1));
  client_.Close(id);
  ASSERT_TRUE(accepted.WaitForCloses(1));
  const auto seen = accepted.entries();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].kind, Kind::kOpen);
  EXPECT_EQ(seen[1].frames[0].view(), "question");
  EXPECT_THAT(seen[2].why, StatusIs(absl::StatusCode::kUnavailable));
  for (const auto& entry : seen) {
    EXPECT_EQ(entry.connection, seen[0].connection);
  }
  EXPECT_EQ(dialed.texts(), std::vector<std::string>{"answer"});
  EXPECT_EQ(dialed.entries().size(), 2u);  // no OnClose: this end closed
}

TEST_P(WireConformanceTest, MessagesMayBeSentWhileDialing) {
  RecordingEnd &accepted = NewEnd(), &dialed = NewEnd();
  const auto listener = Listen(accepted);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kControl, dialed);
  for (const std::string& text : Numbers(0, 100)) {
    ASSERT_OK(client_.Send(id, Text(text)));
  }
  ASSERT_TRUE(accepted.WaitForMessages(100));
  EXPECT_EQ(accepted.texts(), Numbers(0, 100));
  client_.Close(id);
}

TEST_P(WireConformanceTest, OrderIsKeptInBothDirections) {
  constexpr int kCount = 5000;
  RecordingEnd& dialed = NewEnd();
  RecordingEnd& accepted = NewEnd([this](const RecordingEnd::Entry& entry) {
    if (entry.kind != Kind::kMessage) return;
    EXPECT_OK(server_.Send(entry.connection, entry.frames));
  });
  const auto listener = Listen(accepted);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kControl, dialed);
  for (const std::string& text : Numbers(0, kCount)) {
    ASSERT_OK(client_.Send(id, Text(text)));
  }
  ASSERT_TRUE(dialed.WaitForMessages(kCount));
  EXPECT_EQ(accepted.texts(), Numbers(0, kCount));
  EXPECT_EQ(dialed.texts(), Numbers(0, kCount));
  client_.Close(id);
}

TEST_P(WireConformanceTest, FramesArriveAsTheyWereSent) {
  RecordingEnd &accepted = NewEnd(), &dialed = NewEnd();
  const auto listener = Listen(accepted);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kControl, dialed);
  const std::vector<std::vector<size_t>> messages = {{1},
                                                     {0},
                                                     {0, 0, 0},
                                                     {7, 0, 5},
                                                     {32, 33, 34},
                                                     {1000},
                                                     {8192},
                                                     {16384},
                                                     {65536, 1, 0},
                                                     {1023, 1024, 1025},
                                                     {1, 1, 1, 1, 1, 1, 1},
                                                     {1 << 20},
                                                     {3 << 20, 10, 1 << 20}};
  std::vector<std::vector<std::string>> sent;
  for (const auto& sizes : messages) {
    Frames frames;
    sent.emplace_back();
    for (const size_t size : sizes) {
      sent.back().push_back(Pattern(size, static_cast<char>(sent.size())));
      frames.push_back(Blob::FromString(sent.back().back()));
    }
    ASSERT_OK(client_.Send(id, std::move(frames)));
  }
  ASSERT_TRUE(accepted.WaitForMessages(messages.size()))
      << accepted.messages().size();
  const auto received = accepted.messages();
  for (size_t i = 0; i < messages.size(); ++i) {
    ASSERT_EQ(received[i].size(), sent[i].size()) << i;
    for (size_t j = 0; j < sent[i].size(); ++j) {
      EXPECT_TRUE(received[i][j].view() == sent[i][j]) << i << " " << j;
    }
  }
  client_.Close(id);
}

TEST_P(WireConformanceTest, LargeMessagesArrive) {
  RecordingEnd &accepted = NewEnd(), &dialed = NewEnd();
  const auto listener = Listen(accepted, ChannelKind::kBulk);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kBulk, dialed);
  const std::string bytes = Pattern(64 << 20, 'x');
  for (const size_t size : {size_t{1}, bytes.size() / 3, bytes.size()}) {
    ASSERT_OK(client_.Send(id, Text(bytes.substr(0, size))));
  }
  ASSERT_TRUE(accepted.WaitForMessages(3));
  EXPECT_TRUE(accepted.texts()[1] == bytes.substr(0, bytes.size() / 3));
  EXPECT_TRUE(accepted.texts()[2] == bytes);
  client_.Close(id);
}

TEST_P(WireConformanceTest, FramesAreReleased) {
  class Forgetful : public WireEvents {
   public:
    void OnOpen(ConnectionId) override {}
    void OnMessage(ConnectionId, Frames) override {}
    void OnClose(ConnectionId, const absl::Status&) override {}
  };
  Forgetful accepted, dialed;
  const auto listener = Listen(accepted);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kControl, dialed);
  for (const size_t size : {size_t{10}, size_t{100000}}) {
    const std::shared_ptr<Event> gone = scheduler_.NewEvent();
    std::shared_ptr<std::string> owner(new std::string(size, 'o'),
                                       [gone](const std::string* bytes) {
                                         delete bytes;
                                         gone->Set();
                                       });
    ASSERT_OK(client_.Send(id, {Blob(owner, owner->data(), size)}));
    owner.reset();
    EXPECT_TRUE(gone->WaitUntil(scheduler_.clock().Now() + kTimeout));
  }
  client_.Close(id);
}

TEST_P(WireConformanceTest, ManyConnectionsExchangeMessages) {
  constexpr int kPeers = 100;
  RecordingEnd& dialed = NewEnd();
  RecordingEnd& accepted = NewEnd([this](const RecordingEnd::Entry& entry) {
    if (entry.kind != Kind::kMessage) return;
    EXPECT_OK(server_.Send(entry.connection, entry.frames));
  });
  const auto listener = Listen(accepted);
  std::vector<ConnectionId> ids;
  for (int i = 0; i < kPeers; ++i) {
    ids.push_back(
        client_.Dial(listener->address(), ChannelKind::kControl, dialed));
    ASSERT_OK(client_.Send(ids.back(), Text(absl::StrCat(ids.back()))));
  }
  ASSERT_TRUE(dialed.WaitForMessages(kPeers));
  for (const auto& entry : dialed.entries()) {  // each received its own message
    if (entry.kind == Kind::kMessage) {
      EXPECT_EQ(entry.frames[0].view(), absl::StrCat(entry.connection));
    }
  }
  for (const ConnectionId id : ids) client_.Close(id);
  ASSERT_TRUE(accepted.WaitForCloses(kPeers));
  EXPECT_EQ(accepted.entries().size(), 3u * kPeers);
}

TEST_P(WireConformanceTest, ConnectionsOpenAndCloseRepeatedly) {
  constexpr int kRounds = 100;
  RecordingEnd &accepted = NewEnd(), &dialed = NewEnd();
  const auto listener = Listen(accepted);
  for (int i = 0; i < kRounds; ++i) {
    const ConnectionId id =
        client_.Dial(listener->address(), ChannelKind::kControl, dialed);
    ASSERT_OK(client_.Send(id, Text(absl::StrCat(i))));
    ASSERT_TRUE(accepted.WaitForMessages(i + 1));
    client_.Close(id);
  }
  ASSERT_TRUE(accepted.WaitForCloses(kRounds));
  EXPECT_EQ(accepted.texts(), Numbers(0, kRounds));
}

TEST_P(WireConformanceTest, BothChannelsWorkConcurrently) {
  constexpr int kCount = 200;
  RecordingEnd &control = NewEnd(), &bulk = NewEnd(), &dialed = NewEnd();
  const auto control_listener = Listen(control);
  const auto bulk_listener = Listen(bulk, ChannelKind::kBulk);
  const ConnectionId control_id =
      client_.Dial(control_listener->address(), ChannelKind::kControl, dialed);
  const ConnectionId bulk_id =
      client_.Dial(bulk_listener->address(), ChannelKind::kBulk, dialed);
  const std::string chunk = Pattern(100000, 'c');
  for (int i = 0; i < kCount; ++i) {
    ASSERT_OK(client_.Send(control_id, Text(absl::StrCat(i))));
    ASSERT_OK(client_.Send(bulk_id, Text(chunk)));
  }
  ASSERT_TRUE(control.WaitForMessages(kCount));
  ASSERT_TRUE(bulk.WaitForMessages(kCount));
  EXPECT_EQ(control.texts(), Numbers(0, kCount));
  for (const std::string& text : bulk.texts()) EXPECT_TRUE(text == chunk);
  client_.Close(control_id);
  client_.Close(bulk_id);
}

TEST_P(WireConformanceTest, AcceptingEndMayClose) {
  RecordingEnd &accepted = NewEnd(), &dialed = NewEnd();
  const auto listener = Listen(accepted);
  std::vector<ConnectionId> ids;
  for (int i = 0; i < 2; ++i) {
    ids.push_back(
        client_.Dial(listener->address(), ChannelKind::kControl, dialed));
    ASSERT_OK(client_.Send(ids.back(), Text("hello")));
    ASSERT_TRUE(accepted.WaitForMessages(i + 1));
  }
  const ConnectionId first = accepted.entries()[0].connection;
  const ConnectionId second = accepted.entries()[2].connection;
  server_.Close(first);
  EXPECT_THAT(server_.Send(first, Text("late")),
              StatusIs(absl::StatusCode::kUnavailable));
  ASSERT_TRUE(dialed.WaitForCloses(1));
  for (const auto& entry : dialed.entries()) {
    if (entry.kind != Kind::kClose) continue;
    EXPECT_EQ(entry.connection, ids[0]);
  }
  EXPECT_THAT(client_.Send(ids[0], Text("late")),
              StatusIs(absl::StatusCode::kUnavailable));
  // The other one is alive.
  ASSERT_OK(server_.Send(second, Text("still here")));
  ASSERT_TRUE(dialed.WaitForMessages(1));
  for (const auto& entry : accepted.entries()) {
    EXPECT_NE(entry.kind, Kind::kClose);  // this end closed
  }
  client_.Close(ids[1]);
}

TEST_P(WireConformanceTest, DialWithoutListenerFails) {
  RecordingEnd &accepted = NewEnd(), &dialed = NewEnd();
  auto listener = Listen(accepted);
  const Address nobody = listener->address();
  listener.reset();
  const ConnectionId id = client_.Dial(nobody, ChannelKind::kControl, dialed);
  ASSERT_TRUE(dialed.WaitForCloses(1));
  ASSERT_EQ(dialed.entries().size(), 1u);
  EXPECT_EQ(dialed.entries()[0].connection, id);
  EXPECT_THAT(dialed.entries()[0].why,
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(client_.Send(id, Text("late")),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST_P(WireConformanceTest, PortInUseIsReported) {
  RecordingEnd& accepted = NewEnd();
  auto listener = Listen(accepted);
  const Address taken = listener->address();
  EXPECT_THAT(client_.Listen(taken, ChannelKind::kControl, accepted),
              StatusIs(absl::StatusCode::kAlreadyExists));
  listener.reset();
  EXPECT_OK(server_.Listen(taken, ChannelKind::kControl, accepted));
}

TEST_P(WireConformanceTest, ListenerClosesItsConnections) {
  RecordingEnd &accepted = NewEnd(), &dialed = NewEnd();
  auto listener = Listen(accepted);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kControl, dialed);
  ASSERT_OK(client_.Send(id, Text("hello")));
  ASSERT_TRUE(accepted.WaitForMessages(1));
  listener.reset();
  ASSERT_TRUE(dialed.WaitForCloses(1));
  EXPECT_THAT(server_.Send(accepted.entries()[0].connection, Text("late")),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(accepted.entries().size(), 2u);
}

TEST_P(WireConformanceTest, CloseInsideAnEventIsAllowed) {
  RecordingEnd& dialed = NewEnd();
  RecordingEnd& accepted = NewEnd([this](const RecordingEnd::Entry& entry) {
    server_.Close(entry.connection);
  });
  const auto listener = Listen(accepted);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kControl, dialed);
  for (int i = 0; i < 10; ++i) {
    // The connection may be closed before the last message.
    client_.Send(id, Text("hello")).IgnoreError();
  }
  ASSERT_TRUE(dialed.WaitForCloses(1));
  ASSERT_EQ(accepted.entries().size(), 1u);  // closed in its OnOpen
  client_.Close(id);
}

TEST_P(WireConformanceTest, DialedEndMayCloseInsideAnEvent) {
  RecordingEnd& accepted = NewEnd([this](const RecordingEnd::Entry& entry) {
    if (entry.kind != Kind::kMessage) return;
    for (int i = 0; i < 10; ++i) {
      server_.Send(entry.connection, Text("reply")).IgnoreError();
    }
  });
  RecordingEnd& dialed = NewEnd([this](const RecordingEnd::Entry& entry) {
    if (entry.kind == Kind::kMessage) client_.Close(entry.connection);
  });
  const auto listener = Listen(accepted);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kControl, dialed);
  ASSERT_OK(client_.Send(id, Text("hello")));
  ASSERT_TRUE(accepted.WaitForCloses(1));
  client_.Close(id);  // waits for the event that closed it
  EXPECT_EQ(dialed.entries().size(), 2u);
}

// If a close waited for the other channel's event, two channels that close each
// other's connections would wait forever.
TEST_P(WireConformanceTest, EventMayCloseAConnectionOfTheOtherChannel) {
  const std::shared_ptr<Event> bulk_runs = scheduler_.NewEvent();
  const std::shared_ptr<Event> closed = scheduler_.NewEvent();
  ConnectionId bulk_id = 0;
  const auto reply = [this](const RecordingEnd::Entry& entry) {
    if (entry.kind != Kind::kMessage) return;
    server_.Send(entry.connection, Text("reply")).IgnoreError();
  };
  RecordingEnd &control_accepted = NewEnd(reply),
               &bulk_accepted = NewEnd(reply);
  RecordingEnd& bulk = NewEnd([&, this](const RecordingEnd::Entry& entry) {
    if (entry.kind != Kind::kMessage) return;
    bulk_runs->Set();
    closed->WaitUntil(scheduler_.clock().Now() + kTimeout);
  });
  RecordingEnd& control = NewEnd([&, this](const RecordingEnd::Entry& entry) {
    if (entry.kind != Kind::kMessage) return;
    client_.Close(bulk_id);
    closed->Set();
  });
  const auto control_listener = Listen(control_accepted);
  const auto bulk_listener = Listen(bulk_accepted, ChannelKind::kBulk);
  bulk_id = client_.Dial(bulk_listener->address(), ChannelKind::kBulk, bulk);
  const ConnectionId control_id =
      client_.Dial(control_listener->address(), ChannelKind::kControl, control);
  const absl::Time deadline = scheduler_.clock().Now() + kTimeout / 2;
  ASSERT_OK(client_.Send(bulk_id, Text("hello")));
  ASSERT_TRUE(bulk_runs->WaitUntil(deadline));
  ASSERT_OK(client_.Send(control_id, Text("hello")));
  EXPECT_TRUE(closed->WaitUntil(deadline));
  client_.Close(bulk_id);  // waits for the event that runs
  client_.Close(control_id);
  EXPECT_EQ(bulk.entries().size(), 2u);
}

TEST_P(WireConformanceTest, RepeatedAndUnknownCloseIsIgnored) {
  RecordingEnd &accepted = NewEnd(), &dialed = NewEnd();
  const auto listener = Listen(accepted);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kControl, dialed);
  client_.Close(id);
  client_.Close(id);
  client_.Close(0);
  client_.Close(id + 1000);
  EXPECT_THAT(client_.Send(id, Text("late")),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(client_.Send(id + 1000, Text("late")),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_TRUE(dialed.entries().empty() ||
              dialed.entries()[0].kind == Kind::kOpen);
}

TEST_P(WireConformanceTest, NoEventsFollowClose) {
  RecordingEnd& accepted = NewEnd([this](const RecordingEnd::Entry& entry) {
    if (entry.kind != Kind::kMessage) return;
    for (int i = 0; i < 1000; ++i) {
      server_.Send(entry.connection, Text("flood")).IgnoreError();
    }
  });
  const auto listener = Listen(accepted);
  for (int round = 0; round < 10; ++round) {
    auto dialed = std::make_unique<RecordingEnd>(scheduler_);
    const ConnectionId id =
        client_.Dial(listener->address(), ChannelKind::kControl, *dialed);
    ASSERT_OK(client_.Send(id, Text("go")));
    ASSERT_TRUE(dialed->WaitForMessages(round * size_t{10}));
    client_.Close(id);
    dialed.reset();  // asan would find an event that is late
  }
}

TEST_P(WireConformanceTest, ListenerMayCloseDuringMessages) {
  for (int round = 0; round < 10; ++round) {
    RecordingEnd& dialed = NewEnd();
    auto accepted = std::make_unique<RecordingEnd>(scheduler_);
    auto listener = Listen(*accepted);
    const ConnectionId id =
        client_.Dial(listener->address(), ChannelKind::kControl, dialed);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_OK(client_.Send(id, Text("flood")));
    }
    ASSERT_TRUE(accepted->WaitForMessages(round * size_t{10}));
    listener.reset();
    accepted.reset();
    client_.Close(id);
  }
}

TEST_P(WireConformanceTest, MessagesSentBeforeCloseArrive) {
  RecordingEnd &accepted = NewEnd(), &dialed = NewEnd();
  const auto listener = Listen(accepted);
  const ConnectionId id =
      client_.Dial(listener->address(), ChannelKind::kControl, dialed);
  constexpr int kCount = 1000;
  for (const std::string& text : Numbers(0, kCount)) {
    ASSERT_OK(client_.Send(id, Text(text)));
  }
  ASSERT_TRUE(accepted.WaitForMessages(1));
  client_.Close(id);
  ASSERT_TRUE(accepted.WaitForCloses(1));
  // The first messages, in order, and then the end of the connection.
  const int count = static_cast<int>(accepted.texts().size());
  EXPECT_EQ(accepted.texts(), Numbers(0, count));
  EXPECT_EQ(accepted.entries().back().kind, Kind::kClose);
}

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_WIRE_CONFORMANCE_H_
