#include "libs/bus/memory/memory_wire.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft::bus {
namespace {

// Records the events of one end.
class Diary : public WireEvents {
 public:
  void OnOpen(ConnectionId connection) override {
    last = connection;
    lines.push_back("open");
  }
  void OnMessage(ConnectionId, Frames frames) override {
    lines.push_back(std::string(frames[0].view()));
  }
  void OnClose(ConnectionId, const absl::Status&) override {
    lines.push_back("close");
  }

  ConnectionId last = 0;
  std::vector<std::string> lines;
};

Frames Text(const std::string& text) { return {Blob::FromString(text)}; }

using Lines = std::vector<std::string>;

class MemoryWireTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    listener_ = *ps_->Listen({"ps", 0}, ChannelKind::kControl, ps_diary_);
    dialed_ = worker_->Dial(listener_->address(), ChannelKind::kControl,
                            worker_diary_);
    scheduler_.RunUntilIdle();
  }
  void Say(const std::string& text) {
    EXPECT_OK(worker_->Send(dialed_, Text(text)));
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{
      clock_, {.seed = static_cast<uint64_t>(GetParam()), .on_deadlock = {}}};
  MemoryNetwork network_{scheduler_};
  Diary ps_diary_, worker_diary_;
  std::unique_ptr<Wire> ps_ = NewMemoryWire(network_, "ps");
  std::unique_ptr<Wire> worker_ = NewMemoryWire(network_, "worker");
  std::unique_ptr<WireListener> listener_;
  ConnectionId dialed_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Seeds, MemoryWireTest, testing::Range(1, 6));

TEST_P(MemoryWireTest, MessagesOfOneConnectionKeepTheirOrder) {
  EXPECT_EQ(worker_diary_.lines, Lines({"open"}));
  EXPECT_EQ(ps_diary_.lines, Lines({}));  // nothing was sent yet
  for (int i = 0; i < 3; ++i) Say(absl::StrCat(i));
  scheduler_.RunUntilIdle();
  EXPECT_EQ(ps_diary_.lines, Lines({"open", "0", "1", "2"}));
  EXPECT_OK(ps_->Send(ps_diary_.last, Text("back")));
  scheduler_.RunUntilIdle();
  EXPECT_EQ(worker_diary_.lines, Lines({"open", "back"}));
}

TEST_P(MemoryWireTest, DialWithoutListenerIsRefused) {
  Diary diary;
  worker_->Dial({"ps", 1}, ChannelKind::kControl, diary);
  scheduler_.RunUntilIdle();
  EXPECT_EQ(diary.lines, Lines({"close"}));
}

TEST_P(MemoryWireTest, CloseIsDeliveredAfterSentMessages) {
  Say("a");
  worker_->Close(dialed_);
  EXPECT_THAT(worker_->Send(dialed_, Text("b")),
              StatusIs(absl::StatusCode::kUnavailable));
  scheduler_.RunUntilIdle();
  EXPECT_EQ(ps_diary_.lines, Lines({"open", "a", "close"}));
  EXPECT_EQ(worker_diary_.lines, Lines({"open"}));
}

TEST_P(MemoryWireTest, ClosingTheListenerClosesItsConnections) {
  Say("a");
  scheduler_.RunUntilIdle();
  listener_.reset();
  scheduler_.RunUntilIdle();
  EXPECT_EQ(ps_diary_.lines, Lines({"open", "a"}));
  EXPECT_EQ(worker_diary_.lines, Lines({"open", "close"}));
}

// Reads its messages only when the test allows it.
class SlowReader : public Diary {
 public:
  explicit SlowReader(Scheduler& scheduler) : go_on(scheduler.NewEvent()) {}
  void OnMessage(ConnectionId connection, Frames frames) override {
    go_on->Wait();
    Diary::OnMessage(connection, std::move(frames));
  }

  const std::unique_ptr<Event> go_on;
};

TEST_P(MemoryWireTest, ClosingListenerAcceptsNoConnections) {
  SlowReader reader(scheduler_);
  listener_ = *ps_->Listen({"ps", 0}, ChannelKind::kControl, reader);
  const Address address = listener_->address();
  dialed_ = worker_->Dial(address, ChannelKind::kControl, worker_diary_);
  Say("a");
  scheduler_.RunUntilIdle();
  scheduler_.Schedule(Pool::kCompute, [&] {
    listener_.reset();
    reader.lines.push_back("gone");
  });
  scheduler_.RunUntilIdle();
  Diary late;
  const ConnectionId second =
      worker_->Dial(address, ChannelKind::kControl, late);
  EXPECT_OK(worker_->Send(second, Text("b")));
  // The blocked reader and the closing of the listener may now continue at the
  // same time.
  reader.go_on->Set();
  scheduler_.RunUntilIdle();
  EXPECT_EQ(late.lines, Lines({"close"}));
  EXPECT_EQ(reader.lines, Lines({"open", "a", "gone"}));
}

TEST_P(MemoryWireTest, HookCutsAtAMessage) {
  for (const Fate fate : {Fate::kCutHere, Fate::kCutAfter}) {
    network_.set_hook([fate](const MessageInfo& info) {
      EXPECT_EQ(info.from + ">" + info.to, "worker>ps");
      return HookResult{info.sequence == 1 ? fate : Fate::kDeliver};
    });
    for (const char* text : {"a", "b", "c"}) Say(text);
    scheduler_.RunUntilIdle();
    EXPECT_EQ(worker_diary_.lines, Lines({"open", "close"}));
    EXPECT_EQ(ps_diary_.lines, fate == Fate::kCutHere
                                   ? Lines({"open", "a", "close"})
                                   : Lines({"open", "a", "b", "close"}));
    worker_diary_.lines.clear();
    ps_diary_.lines.clear();
    dialed_ = worker_->Dial(listener_->address(), ChannelKind::kControl,
                            worker_diary_);
    scheduler_.RunUntilIdle();
  }
}

TEST_P(MemoryWireTest, HookDelaysFromTheTimeOfSending) {
  network_.set_hook([](const MessageInfo& info) {
    return HookResult{.delay = absl::Seconds(info.sequence == 0 ? 2 : 1)};
  });
  Say("a");
  Say("b");
  scheduler_.AdvanceBy(absl::Milliseconds(1900));
  EXPECT_EQ(ps_diary_.lines, Lines({}));
  scheduler_.AdvanceBy(absl::Milliseconds(100));
  EXPECT_EQ(ps_diary_.lines, Lines({"open", "a", "b"}));
}

TEST_P(MemoryWireTest, ACutDoesNotWaitForADelay) {
  network_.set_hook(
      [](const MessageInfo&) { return HookResult{.delay = absl::Hours(1)}; });
  Say("a");
  scheduler_.RunUntilIdle();
  network_.Cut("ps", "worker");
  scheduler_.RunUntilIdle();
  EXPECT_EQ(worker_diary_.lines, Lines({"open", "close"}));
  EXPECT_EQ(ps_diary_.lines, Lines({}));
}

TEST_P(MemoryWireTest, APartitionIsSilentUntilItHeals) {
  network_.Partition("ps", "worker");
  Say("a");
  Diary late;
  worker_->Dial(listener_->address(), ChannelKind::kControl, late);
  scheduler_.AdvanceBy(absl::Hours(1));
  EXPECT_EQ(ps_diary_.lines, Lines({}));
  EXPECT_EQ(late.lines, Lines({}));
  network_.Heal("worker", "ps");
  scheduler_.RunUntilIdle();
  EXPECT_EQ(ps_diary_.lines, Lines({"open", "a"}));
  EXPECT_EQ(late.lines, Lines({"open"}));
}

TEST_P(MemoryWireTest, KilledProcessNeitherSendsNorReceives) {
  Say("a");
  scheduler_.RunUntilIdle();
  network_.Kill("ps");
  EXPECT_THAT(ps_->Send(ps_diary_.last, Text("b")),
              StatusIs(absl::StatusCode::kUnavailable));
  Diary late;
  worker_->Dial(listener_->address(), ChannelKind::kControl, late);
  scheduler_.RunUntilIdle();
  EXPECT_EQ(ps_diary_.lines, Lines({"open", "a"}));
  EXPECT_EQ(worker_diary_.lines, Lines({"open", "close"}));
  EXPECT_EQ(late.lines, Lines({"close"}));

  // The process may be restarted, at the same address and under the same name.
  const std::unique_ptr<Wire> again = NewMemoryWire(network_, "ps");
  const auto listener =
      again->Listen(listener_->address(), ChannelKind::kControl, ps_diary_);
  EXPECT_OK(listener);
  Diary anew;
  worker_->Dial((*listener)->address(), ChannelKind::kControl, anew);
  scheduler_.RunUntilIdle();
  EXPECT_EQ(anew.lines, Lines({"open"}));
}

}  // namespace
}  // namespace weft::bus
