// ServedFriendTest has a listener that echoes, with one well-behaved connection
// to it, the friend. For tests of misbehaving peers: the friend is served
// before and after.
#ifndef WEFT_LIBS_BUS_TESTING_SERVED_FRIEND_H_
#define WEFT_LIBS_BUS_TESTING_SERVED_FRIEND_H_

#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/testing/recording_end.h"
#include "libs/bus/zmq/zmq_wire.h"

namespace weft::bus {

class ServedFriendTest : public ::testing::Test {
 protected:
  explicit ServedFriendTest(const ZmqWireOptions& options,
                            const ThreadSchedulerOptions& threads = {})
      : scheduler_(NewThreadScheduler(clock_, threads)),
        wire_(NewZmqWire(*scheduler_, options)) {}

  void SetUp() override {
    auto listener =
        wire_->Listen({"127.0.0.1", 0}, ChannelKind::kControl, accepted_);
    ASSERT_OK(listener);
    listener_ = *std::move(listener);
    friend_id_ =
        wire_->Dial(listener_->address(), ChannelKind::kControl, friend_);
    ExpectFriendIsServed("before");
  }
  void TearDown() override {
    ExpectFriendIsServed("after");
    EXPECT_FALSE(friend_.entries().back().kind ==
                 RecordingEnd::Entry::Kind::kClose);
    wire_->Close(friend_id_);
  }
  void ExpectFriendIsServed(const std::string& text) {
    const size_t before = friend_.messages().size();
    ASSERT_OK(wire_->Send(friend_id_, Text(text)));
    EXPECT_TRUE(friend_.WaitForMessages(before + 1));
  }

  SystemClock clock_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Wire> wire_;
  RecordingEnd friend_{*scheduler_};
  RecordingEnd accepted_{
      *scheduler_, [this](const RecordingEnd::Entry& entry) {
        if (entry.kind != RecordingEnd::Entry::Kind::kMessage) return;
        wire_->Send(entry.connection, entry.frames).IgnoreError();
      }};
  std::unique_ptr<WireListener> listener_;
  ConnectionId friend_id_ = 0;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_SERVED_FRIEND_H_
