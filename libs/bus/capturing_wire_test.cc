// Tests that what is sent through a CapturingWire arrives, and can be read
// again from the capture.
#include "libs/bus/capturing_wire.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/capture.h"
#include "libs/bus/memory/memory_wire.h"

namespace weft::bus {
namespace {

// Answers each message with itself.
class Echo : public WireEvents {
 public:
  void OnOpen(ConnectionId connection) override {
    opened.push_back(connection);
  }
  void OnMessage(ConnectionId connection, Frames frames) override {
    ++num_messages;
    if (wire == nullptr) return;
    EXPECT_OK(wire->Send(connection, std::move(frames)));
  }
  void OnClose(ConnectionId /*connection*/,
               const absl::Status& /*why*/) override {
    ++num_closed;
  }
  Wire* wire = nullptr;
  std::vector<ConnectionId> opened;
  int num_messages = 0;
  int num_closed = 0;
};

class CapturingWireTest : public testing::Test {
 protected:
  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  MemoryNetwork network_{scheduler_};
  std::unique_ptr<Wire> client_ = NewMemoryWire(network_, "client");
  std::unique_ptr<Wire> server_ = NewMemoryWire(network_, "server");
  std::string file_;
  CapturingWire wire_{
      *server_,
      clock_,
      [this](absl::string_view bytes) { absl::StrAppend(&file_, bytes); },
      {.max_frame_bytes = 8}};
};

TEST_F(CapturingWireTest, MessagesOfBothDirectionsAreRecorded) {
  Echo server;
  Echo client;
  server.wire = &wire_;
  const Address address{"host", 7000};
  {
    ASSERT_OK_AND_ASSIGN(const auto listener,
                         wire_.Listen(address, ChannelKind::kBulk, server));
    const ConnectionId dialed =
        client_->Dial(address, ChannelKind::kBulk, client);
    ASSERT_OK(client_->Send(dialed, {Blob::FromString("one"), Blob(),
                                     Blob::FromString("more than 8 bytes")}));
    scheduler_.RunUntilIdle();
    EXPECT_EQ(client.num_messages, 1);
    client_->Close(dialed);
    scheduler_.RunUntilIdle();
    EXPECT_EQ(server.num_closed, 1);
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<CapturedMessage> messages,
                       ReadCapture(file_));
  ASSERT_EQ(messages.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(messages[i].received, i == 0);
    EXPECT_EQ(messages[i].connection, server.opened[0]);
    EXPECT_EQ(messages[i].channel_kind, ChannelKind::kBulk);
    EXPECT_EQ(messages[i].time, clock_.Now());
    ASSERT_EQ(messages[i].frames.size(), 3u);
    EXPECT_EQ(messages[i].frames[0].bytes, "one");
    EXPECT_EQ(messages[i].frames[1].size, 0u);
    EXPECT_EQ(messages[i].frames[2].size, 17u);
    EXPECT_EQ(messages[i].frames[2].bytes, "more tha");
  }
}

TEST_F(CapturingWireTest, DamagedCaptureFileIsReported) {
  EXPECT_THAT(ReadCapture(""), StatusIs(kInvalid, "WEFTCAP1"));
  EXPECT_THAT(ReadCapture("something else"), StatusIs(kInvalid));
  std::string file(CaptureHeader());
  EXPECT_OK(ReadCapture(file));
  const size_t begin = file.size();
  file += EncodeCapture(clock_.Now(), 7, ChannelKind::kControl, true,
                        {Blob::FromString("one"), Blob::FromString("two")}, 99);
  EXPECT_OK(ReadCapture(file));
  for (size_t size = begin + 1; size < file.size(); ++size) {
    EXPECT_THAT(ReadCapture(absl::string_view(file).substr(0, size)),
                StatusIs(kInvalid, "ends within"));
  }
}

}  // namespace
}  // namespace weft::bus
