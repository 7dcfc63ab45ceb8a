// Sessions that their master makes again while its lease ends, interrupted at
// the locks of a TaskRuntime: what it was told that it has, it has, in both
// tables.
//
// libs/base/testing/seeds.h says how to run others.
#include <memory>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/seeds.h"
#include "libs/fs/memory_file_system.h"
#include "libs/runtime/task_runtime.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 300;
constexpr int kSessions = 8;
constexpr uint64_t kMaster = 7;
constexpr char kWorker[] = "/job:worker/replica:0/task:0";
constexpr absl::Duration kLease = absl::Minutes(1);

class TaskRuntimeSchedule {
 public:
  explicit TaskRuntimeSchedule(uint64_t seed)
      : scheduler_(clock_, {.seed = seed}) {}

  // The master is back at the moment at which its sessions end.
  void Run() {
    runtime_->PeerConnected(kWorker, kMaster);
    MakeSessions();
    runtime_->PeerLost(kWorker, kMaster, absl::UnavailableError("gone"));
    scheduler_.ScheduleAt(clock_.Now() + kLease, [this] {
      runtime_->PeerConnected(kWorker, kMaster);
      MakeSessions();
    });
    scheduler_.set_yields({.one_in = 4, .focus_one_in = 2});
    scheduler_.AdvanceBy(2 * kLease);
    scheduler_.set_yields({});
    EXPECT_EQ(runtime_->num_sessions(), kSessions) << "it was told of all";
    EXPECT_EQ(NumKnownToSteps(), kSessions);
  }

 private:
  void MakeSessions() {
    for (int id = 1; id <= kSessions; ++id) {
      runtime_->CreateWorkerSession(
          {kMaster, static_cast<uint64_t>(id)}, /*isolated=*/false,
          absl::InfiniteFuture(),
          [](const absl::Status& made) { EXPECT_OK(made); });
    }
  }

  // Only for steps of those is a value kept.
  int NumKnownToSteps() {
    std::vector<protocol::Push> pushes;
    for (int id = 1; id <= kSessions; ++id) {
      const uint64_t number = id;
      pushes.push_back(
          {.session = {kMaster, number}, .step = number, .is_dead = true});
    }
    runtime_->Deliver(std::move(pushes));
    return runtime_->steps().waiting;
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_;
  KernelRegistry kernels_;
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  MemoryFileSystem file_system_;
  const std::shared_ptr<TaskRuntime> runtime_ = std::make_shared<TaskRuntime>(
      std::vector<std::unique_ptr<Device>>(),
      TaskRuntimeOptions{.kernels = &kernels_,
                         .scheduler = &scheduler_,
                         .random = random_.get(),
                         .file_system = &file_system_,
                         .incarnation = 1,
                         .master_lease = kLease});
};

TEST(TaskRuntimeScheduleTest, SessionsThatAreMadeWhileTheirLeaseEndsLive) {
  const uint64_t count = NumSeeds(kSeeds);
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    TaskRuntimeSchedule schedule(seed);
    schedule.Run();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace weft
