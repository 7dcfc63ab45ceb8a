// More than 2 GiB in one attachment over ZeroMQ: sizes are 64 bits everywhere.
// Manual: it needs 7 GB of memory.
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/testing/transport_ends.h"
#include "libs/bus/transport.h"
#include "libs/bus/zmq/zmq_wire.h"

namespace weft::bus {
namespace {

TEST(ZmqLargeTransferTest, MoreThanTwoGibibytesArrive) {
  const SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  const auto random = NewSystemRandom();
  const auto server_wire = NewZmqWire(*scheduler);
  const auto client_wire = NewZmqWire(*scheduler);
  CountedMemory memory(*scheduler);
  RecordingHandler handler(*scheduler);
  const auto server =
      NewTransport({server_wire.get(), scheduler.get(), random.get(), &memory});
  const auto client =
      NewTransport({client_wire.get(), scheduler.get(), random.get(), &memory});
  const auto endpoint =
      server->Listen({"127.0.0.1", 0}, {"", "/job:ps/task:0", 1, 0}, handler);
  ASSERT_OK(endpoint);
  RecordingChannelEvents events(*scheduler);
  const auto channel =
      client->Dial((*endpoint)->address(), {"", "", 2, 0}, "", &events);
  ASSERT_TRUE(events.WaitForConnects(1));

  const std::string bytes = Pattern((size_t{2} << 30) + 12'345, 1);
  Message note = NewMessage(kNote, "large", {bytes});
  const absl::Time begin = clock.Now();
  ASSERT_OK(channel->Send(std::move(note)));
  ASSERT_TRUE(handler.WaitUntil([&] { return !handler.notes.empty(); }));
  const double seconds = absl::ToDoubleSeconds(clock.Now() - begin);
  RecordProperty(
      "gigabytes_per_second",
      std::to_string(static_cast<double>(bytes.size()) / 1e9 / seconds));
  ASSERT_OK(handler.notes[0].received);
  EXPECT_TRUE(handler.notes[0].message.attachments[0].view() == bytes);
}

}  // namespace
}  // namespace weft::bus
