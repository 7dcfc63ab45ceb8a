// How a task's ways to the others end while they are used.
#include "libs/server/cluster_directory.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/bus/memory/memory_wire.h"
#include "libs/runtime/process.h"

namespace weft {
namespace {

constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:0";

// Of the worker; runs `on_push_failed` while a push is on its way out.
class Events : public protocol::PeerEvents {
 public:
  void OnPeerConnected(const bus::Identity&) override {}
  void OnPeerLost(const std::string&, uint64_t, const absl::Status&) override {}
  void OnPushFailed(const protocol::Push&, const absl::Status&) override {
    on_push_failed();
  }
  void OnPushes(std::vector<protocol::Push>) override {}

  std::function<void()> on_push_failed = [] {};
};

class ClusterDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto created =
        ClusterDirectory::Create({.process = &process_,
                                  .cluster = {{"ps", {"localhost:1000"}},
                                              {"worker", {"localhost:1001"}}},
                                  .self = {.task = kWorker, .incarnation = 7},
                                  .events = &events_});
    ASSERT_OK(created);
    directory_ = *std::move(created);
  }

  // Lets others run for a second.
  void Pause() {
    scheduler_.NewEvent()->WaitUntil(clock_.Now() + absl::Seconds(1));
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  bus::MemoryNetwork network_{scheduler_};
  Process process_{nullptr, NewSeededRandom(1), scheduler_, [this](Scheduler&) {
                     return bus::NewMemoryWire(network_, "worker");
                   }};
  Events events_;
  std::unique_ptr<ClusterDirectory> directory_;
};

// The client of a task must not die under whoever calls it.
TEST_F(ClusterDirectoryTest, CloseWaitsForCallsOnTheirWayOut) {
  bool is_closed = false;
  bool was_closed_meanwhile = false;
  events_.on_push_failed = [&] {
    scheduler_.Schedule(Pool::kBlocking, [&] {
      directory_->Close();
      is_closed = true;
    });
    Pause();
    was_closed_meanwhile = is_closed;
  };
  // Nobody has talked to the ps yet, so the push fails at once.
  directory_->Find(kPs)->Deliver({{.session = {7, 1}, .step = 1}});
  EXPECT_FALSE(was_closed_meanwhile);
  Pause();
  EXPECT_TRUE(is_closed);
}

TEST_F(ClusterDirectoryTest, CallsAfterItsEndAreRefused) {
  directory_->Close();
  absl::Status status;
  directory_->Find(kPs)->GetStatus(
      absl::InfiniteFuture(),
      [&](const absl::StatusOr<std::vector<DeviceAttributes>>& answer) {
        status = answer.status();
      });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kUnavailable, "has stopped"));
}

}  // namespace
}  // namespace weft
