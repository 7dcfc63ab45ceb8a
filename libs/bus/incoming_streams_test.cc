#include "libs/bus/incoming_streams.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft::bus {
namespace {

// Calls the test in the middle of Receive, while the thread of the other
// channel may be anywhere.
class MeddlingMemory : public ReceiveMemory {
 public:
  absl::StatusOr<Buffer> Reserve(uint64_t bytes) override {
    if (meddle) meddle();
    std::shared_ptr<char> memory(new char[bytes],
                                 std::default_delete<char[]>());
    char* data = memory.get();
    last = memory;
    return Buffer{std::move(memory), data};
  }

  std::function<void()> meddle;
  std::weak_ptr<char> last;
};

Chunk ChunkOf(uint64_t stream, uint64_t offset, uint64_t total,
              const std::string& bytes) {
  return {{stream, offset, total}, false, Blob::FromString(bytes)};
}

ControlMessage Naming(uint64_t call, uint64_t stream, uint64_t bytes) {
  ControlMessage message;
  message.envelope.kind = MessageKind::kRequest;
  message.envelope.method = 9;
  message.envelope.call_id = call;
  message.envelope.attachments.push_back({bytes, stream});
  message.body = Blob::FromString("body");
  return message;
}

class IncomingStreamsTest : public testing::Test {
 protected:
  MeddlingMemory memory_;
  IncomingStreams streams_{memory_, 1000, 100};
  IncomingStreams::Dropped dropped_;  // by Expect
};

TEST_F(IncomingStreamsTest, MessageWaitsForAChunkBeingReceived) {
  memory_.meddle = [this] {
    const auto complete = streams_.Expect(Naming(1, 7, 5), true, &dropped_);
    ASSERT_OK(complete);
    EXPECT_FALSE(complete->has_value());
  };
  const auto received = streams_.Receive(ChunkOf(7, 0, 5, "12345"));
  ASSERT_OK(received);
  ASSERT_TRUE(received->complete.has_value());
  EXPECT_EQ(received->complete->message.attachments[0].view(), "12345");
  // The message is a request, and counts until it is answered.
  EXPECT_EQ(received->complete->held, 9);
  EXPECT_EQ(streams_.held_bytes(), 9);
  streams_.Release(received->complete->held);
  EXPECT_EQ(streams_.held_bytes(), 0);
}

TEST_F(IncomingStreamsTest, AbandonDuringAChunkFreesItsMemory) {
  memory_.meddle = [this] {
    EXPECT_OK(streams_.Expect(Naming(1, 7, 5), true, &dropped_));
    streams_.Abandon(1);
  };
  auto received = streams_.Receive(ChunkOf(7, 0, 5, "12345"));
  ASSERT_OK(received);
  EXPECT_FALSE(received->complete.has_value());
  EXPECT_EQ(streams_.held_bytes(), 0);
  EXPECT_FALSE(memory_.last.expired());
  received->dropped.clear();
  EXPECT_TRUE(memory_.last.expired());
}

TEST_F(IncomingStreamsTest, MessageOfAbortedStepIsDropped) {
  const auto push = [](uint64_t step, uint64_t stream) {
    ControlMessage message = Naming(0, stream, 10);
    message.envelope.kind = MessageKind::kOneWay;
    message.envelope.step = {.master_incarnation = 11, .step = step};
    return message;
  };
  ASSERT_OK(streams_.Expect(push(1, 7), true, &dropped_));
  ASSERT_OK(streams_.Expect(push(2, 8), true, &dropped_));
  ASSERT_OK(streams_.Receive(ChunkOf(8, 0, 10, "12345")));
  ASSERT_OK(streams_.Receive(ChunkOf(7, 0, 10, "12345")));
  EXPECT_EQ(streams_.held_bytes(), 2 * (10 + 4));
  streams_.AbandonStep({.master_incarnation = 11, .step = 1});
  EXPECT_EQ(streams_.held_bytes(), 10 + 4);
  EXPECT_TRUE(memory_.last.expired());
  // Further data is discarded; the other step's stream continues.
  auto received = streams_.Receive(ChunkOf(7, 5, 10, "67890"));
  ASSERT_OK(received);
  EXPECT_FALSE(received->complete.has_value());
  received = streams_.Receive(ChunkOf(8, 5, 10, "67890"));
  ASSERT_OK(received);
  ASSERT_TRUE(received->complete.has_value());
  EXPECT_OK(received->complete->received);
  EXPECT_EQ(streams_.held_bytes(), 0);
}

// The caller chooses the thread that frees it.
TEST_F(IncomingStreamsTest, AbandonedMemoryIsReturnedToTheCaller) {
  ASSERT_OK(streams_.Expect(Naming(1, 7, 10), true, &dropped_));
  ASSERT_OK(streams_.Receive(ChunkOf(7, 0, 10, "12345")));
  auto dropped = streams_.Abandon(1);
  EXPECT_FALSE(memory_.last.expired());
  dropped.clear();
  EXPECT_TRUE(memory_.last.expired());
  ASSERT_OK(streams_.Receive(ChunkOf(8, 0, 10, "12345")));
  dropped = streams_.AbandonAll();
  EXPECT_EQ(streams_.held_bytes(), 0);
  EXPECT_FALSE(memory_.last.expired());
  dropped.clear();
  EXPECT_TRUE(memory_.last.expired());
}

// One of its streams has been received, another one exceeds the memory.
TEST_F(IncomingStreamsTest, MemoryOfRefusedMessageIsReturned) {
  ASSERT_OK(streams_.Receive(ChunkOf(7, 0, 10, "12345")));
  const std::weak_ptr<char> room = memory_.last;
  ASSERT_OK(streams_.Receive(ChunkOf(8, 0, 200, "12345")));
  ControlMessage message = Naming(1, 7, 10);
  message.envelope.attachments.push_back({200, 8});
  const auto complete = streams_.Expect(std::move(message), true, &dropped_);
  ASSERT_OK(complete);
  ASSERT_TRUE(complete->has_value());
  EXPECT_THAT((*complete)->received,
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_FALSE(room.expired());
  dropped_.clear();
  EXPECT_TRUE(room.expired());
}

TEST_F(IncomingStreamsTest, BodyOfUnwantedMessageIsReturned) {
  const auto body = std::make_shared<const std::string>("body");
  ControlMessage message = Naming(1, 7, 10);
  message.body = Blob(body, body->data(), body->size());
  ASSERT_OK(streams_.Expect(std::move(message), false, &dropped_));
  EXPECT_EQ(body.use_count(), 2);
  dropped_.clear();
  EXPECT_EQ(body.use_count(), 1);
}

TEST_F(IncomingStreamsTest, CloseDuringAChunkFreesItsMemory) {
  memory_.meddle = [this] { streams_.AbandonAll(); };
  auto received = streams_.Receive(ChunkOf(7, 0, 5, "12345"));
  ASSERT_OK(received);
  EXPECT_FALSE(received->complete.has_value());
  EXPECT_EQ(streams_.held_bytes(), 0);
  EXPECT_FALSE(memory_.last.expired());
  received->dropped.clear();
  EXPECT_TRUE(memory_.last.expired());
}

TEST_F(IncomingStreamsTest, StreamAbortedBeforeItsMessageFailsIt) {
  EXPECT_OK(streams_.Receive(ChunkOf(7, 0, 10, "12345")));
  EXPECT_OK(streams_.Receive({{7, 5, 10}, true, Blob()}));
  const auto complete = streams_.Expect(Naming(1, 7, 10), true, &dropped_);
  ASSERT_OK(complete);
  ASSERT_TRUE(complete->has_value());
  EXPECT_THAT((*complete)->received, StatusIs(absl::StatusCode::kCancelled));
  EXPECT_TRUE((*complete)->message.attachments.empty());
  EXPECT_EQ(streams_.held_bytes(), 0);
  EXPECT_TRUE(memory_.last.expired());
}

TEST_F(IncomingStreamsTest, StreamBeyondTheQuotaFailsItsMessage) {
  const auto waits = streams_.Expect(Naming(1, 7, 200), true, &dropped_);
  ASSERT_OK(waits);
  EXPECT_FALSE(waits->has_value());
  auto received = streams_.Receive(ChunkOf(7, 0, 200, std::string(100, 'x')));
  ASSERT_OK(received);
  ASSERT_TRUE(received->complete.has_value());
  EXPECT_THAT(received->complete->received,
              StatusIs(absl::StatusCode::kResourceExhausted));
  received = streams_.Receive(ChunkOf(7, 100, 200, std::string(100, 'x')));
  ASSERT_OK(received);
  EXPECT_FALSE(received->complete.has_value());
  EXPECT_EQ(streams_.held_bytes(), 0);
}

// A stream beyond the limit is refused on either channel, repeatedly, and
// leaves no state.
TEST_F(IncomingStreamsTest, ExcessStreamIsRefusedOnBothChannels) {
  constexpr uint64_t kOpen = 65536;
  for (uint64_t id = 1; id <= kOpen; ++id) {
    ASSERT_OK(streams_.Receive(ChunkOf(id, 0, 2, "1")));
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(streams_.Receive(ChunkOf(kOpen + 1, 0, 2, "1")),
                StatusIs(absl::StatusCode::kInvalidArgument, "too many"));
    EXPECT_THAT(streams_.Expect(Naming(1, kOpen + 1, 2), true, &dropped_),
                StatusIs(absl::StatusCode::kInvalidArgument, "too many"));
  }
  streams_.Abandon(1);
  ASSERT_OK(streams_.Receive(ChunkOf(1, 1, 2, "2")));
  EXPECT_OK(streams_.Expect(Naming(2, 1, 2), true, &dropped_));
  EXPECT_OK(streams_.Receive(ChunkOf(kOpen + 1, 0, 2, "1")));
}

}  // namespace
}  // namespace weft::bus
