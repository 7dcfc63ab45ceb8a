// Tests that a capture of the first messages between two tasks is printed
// readably, and that a corrupt capture is harmless.
#include "tools/wire/print_capture.h"

#include <algorithm>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/capture.h"
#include "libs/bus/capturing_wire.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/bus/transport.h"
#include "libs/protocol/codec/receive_memory.h"
#include "libs/protocol/worker/worker_client.h"

namespace weft::tools {
namespace {

using testing::HasSubstr;

// A handler that rejects all requests.
class Refusal : public bus::Handler {
 public:
  bool IsFast(uint8_t /*method*/) const override { return true; }
  absl::Status OnConnect(const bus::Peer& /*peer*/) override {
    return absl::OkStatus();
  }
  void OnDisconnect(const bus::Peer& /*peer*/,
                    const absl::Status& /*why*/) override {}
  void OnRequest(std::shared_ptr<bus::IncomingCall> call,
                 bus::Message /*request*/) override {
    call->Fail(absl::AbortedError("session 7 is unknown"));
  }
  void OnOneWay(const bus::Peer& /*peer*/, bus::Message /*message*/,
                const absl::Status& /*received*/) override {}
};

// Returns the capture of the messages that a task receives from a master. The
// master runs a step and pushes a tensor.
std::string SampleCapture() {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  const auto random = NewSeededRandom(1);
  bus::MemoryNetwork network(scheduler);
  const auto client_wire = bus::NewMemoryWire(network, "client");
  const auto server_wire = bus::NewMemoryWire(network, "server");
  std::string file;
  bus::CapturingWire capturing(
      *server_wire, clock,
      [&](absl::string_view bytes) { absl::StrAppend(&file, bytes); });
  protocol::AllocatorReceiveMemory memory(HeapAllocator());
  const auto client =
      bus::NewTransport({client_wire.get(), &scheduler, random.get(), &memory});
  const auto server =
      bus::NewTransport({&capturing, &scheduler, random.get(), &memory});
  Refusal refusal;
  const bus::Address address{"server", 7000};
  const auto endpoint = server->Listen(
      address, {.task = "/job:ps/replica:0/task:0", .incarnation = 22},
      refusal);
  EXPECT_OK(endpoint);
  protocol::WorkerClient worker(*client, {.address = address,
                                          .self = {.incarnation = 11},
                                          .task = "/job:ps/replica:0/task:0",
                                          .allocator = &HeapAllocator()});
  scheduler.RunUntilIdle();
  Tensor feeds[] = {Tensor::Scalar(1.5f)};
  const int indices[] = {0};
  protocol::PartitionStep step;
  step.session = {11, 7};
  step.step = 31;
  step.feeds = feeds;
  step.feed_indices = indices;
  worker.Run(step, [](const absl::Status&) {});
  worker.Deliver({protocol::Push{
      {11, 7}, 31, 2, 0, 0, false, Tensor(DT_FLOAT, TensorShape({1 << 18}))}});
  scheduler.RunUntilIdle();
  return file;
}

TEST(PrintCaptureTest, MessagesAreReadable) {
  ASSERT_OK_AND_ASSIGN(const std::string text, PrintCapture(SampleCapture()));
  SCOPED_TRACE(text);
  EXPECT_THAT(text, HasSubstr("received on connection"));
  EXPECT_THAT(text, HasSubstr("  Request RunPartition: Envelope {"));
  EXPECT_THAT(text, HasSubstr("body_type: Hello, body: {"));
  EXPECT_THAT(text, HasSubstr("body_type: HelloReply, body: {"));
  EXPECT_THAT(text, HasSubstr("body_type: RunPartition, body: "
                              "{master_incarnation: 11, session: 7"));
  EXPECT_THAT(text, HasSubstr("step: 31"));
  EXPECT_THAT(text, HasSubstr("bytes: [0, 0, 192, 63]"));
  EXPECT_THAT(text, HasSubstr("text: \"session 7 is unknown\""));
  EXPECT_THAT(text, HasSubstr("body_type: Pushes"));
  EXPECT_THAT(text, HasSubstr("ChunkHeader {stream: "));
  EXPECT_THAT(text, HasSubstr("chunk of 1048576 bytes"));
}

TEST(PrintCaptureTest, CorruptionDoesNotCrash) {
  const std::string file = SampleCapture();
  const size_t end = std::min<size_t>(file.size(), 2000);
  for (size_t i = 0; i < end; ++i) {
    std::string flipped = file;
    flipped[i] = static_cast<char>(flipped[i] ^ 0xff);
    (void)PrintCapture(flipped);
  }
}

TEST(PrintCaptureTest, UnknownBytesAreMarked) {
  std::string file(bus::CaptureHeader());
  file += bus::EncodeCapture(absl::UnixEpoch(), 1, bus::ChannelKind::kControl,
                             true, {bus::Blob::FromString("hello?")}, 99);
  file += bus::EncodeCapture(absl::UnixEpoch(), 1, bus::ChannelKind::kControl,
                             true, {bus::Blob::FromString("hello?")}, 2);
  file += bus::EncodeCapture(absl::UnixEpoch(), 1, bus::ChannelKind::kBulk,
                             false, {bus::Blob::FromString("hello?")}, 99);
  ASSERT_OK_AND_ASSIGN(const std::string text, PrintCapture(file));
  EXPECT_EQ(text,
            "00:00:00.000000 received on connection 1, control\n"
            "  Envelope: 6 bytes that are none\n"
            "00:00:00.000000 received on connection 1, control\n"
            "  Envelope: 6 bytes, of which only 2 were captured\n"
            "00:00:00.000000 sent on connection 1, bulk\n"
            "  no ChunkHeader\n");
}

}  // namespace
}  // namespace weft::tools
