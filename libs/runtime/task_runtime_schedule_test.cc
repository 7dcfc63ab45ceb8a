// Tests concurrent events of a TaskRuntime, with simulated interruptions at its
// locks.
//
// Session test: a master creates its sessions again while its lease ends. If
// the runtime has confirmed a session, the session must exist in both tables.
//
// Hold test: variables are held while graphs that write them are registered and
// a master reconnects. None of these graphs may begin a step that the holder
// does not know, and none may wait for a hold after the task has stopped.
//
// libs/base/testing/seeds.h describes how to run other seeds.
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/seeds.h"
#include "libs/device/local_devices.h"
#include "libs/fs/memory_file_system.h"
#include "libs/kernels/standard/standard_kernels.h"
#include "libs/runtime/task_runtime.h"
#include "libs/runtime/testing/partition_with_variable.h"
#include "libs/tensor/buffer.h"

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

  // The master reconnects while its sessions end.
  void Run() {
    EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
    MakeSessions();
    runtime_->PeerLost(kWorker, kMaster, absl::UnavailableError("gone"));
    scheduler_.ScheduleAt(clock_.Now() + kLease, [this] {
      EXPECT_OK(runtime_->PeerConnected(kWorker, kMaster));
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
          {kMaster, static_cast<uint64_t>(id)}, {.isolated = false},
          absl::InfiniteFuture(),
          [](const absl::Status& made) { EXPECT_OK(made); });
    }
  }

  // Returns the number of sessions that the table of steps knows: it keeps
  // values only for steps of known sessions.
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

TEST(TaskRuntimeScheduleTest, SessionCreatedAtLeaseEndSurvives) {
  const uint64_t count = NumSeeds(kSeeds);
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    TaskRuntimeSchedule schedule(seed);
    schedule.Run();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

constexpr char kTask[] = "/job:ps/replica:0/task:0";
constexpr char kOtherWorker[] = "/job:worker/replica:0/task:1";
constexpr uint64_t kOther = 8;    // incarnation and session
constexpr uint64_t kWriters = 4;  // writers that are registered meanwhile
constexpr uint64_t kOthersGraph = 100;

class HoldSchedule {
 public:
  explicit HoldSchedule(uint64_t seed)
      : random_(NewSeededRandom(seed)), scheduler_(clock_, {.seed = seed}) {
    RegisterStandardKernels(kernels_);
    runtime_ = std::make_shared<TaskRuntime>(
        NewLocalDevices(kTask, {}, HeapAllocator(), *random_),
        TaskRuntimeOptions{.kernels = &kernels_,
                           .scheduler = &scheduler_,
                           .random = random_.get(),
                           .file_system = &file_system_,
                           .task = kTask,
                           .incarnation = 1});
    Connect(kWorker, kMaster);
    Register(kMaster, 0, "ReadVariableOp");
    Connect(kOtherWorker, kOther);
    Register(kOther, kOthersGraph, "AssignVariableOp");
    runtime_->PeerLost(kOtherWorker, kOther, absl::UnavailableError("cut"));
    may_run_.erase(kOthersGraph);
  }

  void Run() {
    scheduler_.set_yields({.one_in = 2, .focus_one_in = 2});
    for (uint64_t i = 1; i <= kWriters; ++i) {
      Start([this, i] { Register(kMaster, i, "AssignVariableOp"); });
    }
    Start([this] {
      EXPECT_OK(runtime_->PeerConnected(kOtherWorker, kOther));
      may_run_.insert(kOthersGraph);
    });
    Start([this] { Hold(); });
    scheduler_.AdvanceBy(absl::Seconds(5));
    scheduler_.set_yields({});
    EXPECT_EQ(may_run_.size(), kWriters + 1 + 1) << "nobody waits any more";
  }
  bool has_held() const { return has_held_; }

  // Runs while the task stops. All calls are answered before the hold's lease
  // ends.
  void RunUntilStopped() {
    scheduler_.set_yields({.one_in = 2, .focus_one_in = 2});
    for (uint64_t i = 1; i <= kWriters; ++i) {
      Start([this, i] {
        Register(kMaster, i, "AssignVariableOp",
                 [this](const absl::Status&) { ++num_answered_; });
      });
    }
    Start([this] { (void)Tell(Action::kHoldVariables); });
    Start([this] { runtime_->Stop(absl::UnavailableError("it stops")); });
    scheduler_.AdvanceBy(absl::Seconds(5));
    scheduler_.set_yields({});
    EXPECT_EQ(num_answered_, kWriters);
  }

 private:
  using Action = protocol::StepHold::Action;
  using Writers = std::vector<protocol::VariableWriter>;

  void Start(std::function<void()> work) {
    scheduler_.Schedule(Pool::kBlocking, [this, work = std::move(work)] {
      const auto pause = absl::Milliseconds(random_->Next() % 3);
      scheduler_.NewEvent()->WaitUntil(clock_.Now() + pause);
      work();
    });
  }
  void Connect(const char* task, uint64_t master) {
    EXPECT_OK(runtime_->PeerConnected(task, master));
    runtime_->CreateWorkerSession(
        {master, master}, {.isolated = false}, absl::InfiniteFuture(),
        [](const absl::Status& made) { EXPECT_OK(made); });
  }
  void Register(uint64_t master, uint64_t registration, const char* op) {
    Register(master, registration, op,
             [this, registration](const absl::Status& registered) {
               EXPECT_OK(registered);
               may_run_.insert(registration);
             });
  }
  void Register(uint64_t master, uint64_t registration, const char* op,
                std::function<void(const absl::Status&)> done) {
    runtime_->Register({.session = {master, master},
                        .registration = registration,
                        .partitions = PartitionWithVariable(kTask, op)},
                       absl::InfiniteFuture(),
                       [done = std::move(done)](const auto& registered) {
                         done(registered.status());
                       });
  }
  absl::StatusOr<Writers> Tell(Action action) {
    absl::StatusOr<Writers> result = absl::UnknownError("did not answer");
    runtime_->HoldSteps({.action = action,
                         .holder = {kMaster, 30},
                         .session = kMaster,
                         .registration = 0,
                         .max_wait = absl::Seconds(2),
                         .lease = absl::Minutes(1)},
                        absl::InfiniteFuture(),
                        [&](auto answer) { result = std::move(answer); });
    return result;
  }

  // Holds the variables, and checks the writers that may begin steps before the
  // hold ends: each must have been named, or must have ended the hold.
  void Hold() {
    const absl::StatusOr<Writers> named = Tell(Action::kHoldVariables);
    scheduler_.NewEvent()->WaitUntil(clock_.Now() + absl::Milliseconds(1));
    std::set<uint64_t> unnamed = may_run_;
    unnamed.erase(0);  // it only reads
    if (!Tell(Action::kReleaseVariables).ok() || !named.ok()) return;
    for (const protocol::VariableWriter& writer : *named) {
      unnamed.erase(writer.registration);
    }
    EXPECT_THAT(unnamed, testing::IsEmpty());
    has_held_ = true;
  }

  ManualClock clock_;
  const std::unique_ptr<Random> random_;
  SimulatedScheduler scheduler_;
  KernelRegistry kernels_;
  MemoryFileSystem file_system_;
  std::shared_ptr<TaskRuntime> runtime_;
  std::set<uint64_t> may_run_ = {};  // registrations that may begin steps
  bool has_held_ = false;
  uint64_t num_answered_ = 0;
};

TEST(TaskRuntimeScheduleTest, WriterOfHeldVariableIsNamedOrWaits) {
  const uint64_t count = NumSeeds(kSeeds);
  uint64_t num_held = 0;
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    HoldSchedule schedule(seed);
    schedule.Run();
    ASSERT_FALSE(testing::Test::HasFailure());
    num_held += schedule.has_held();
  }
  if (count < kSeeds) return;
  EXPECT_GT(num_held, count / 4);
}

TEST(TaskRuntimeScheduleTest, HoldsEndWithTheTask) {
  const uint64_t count = NumSeeds(kSeeds);
  for (uint64_t seed = FirstSeed(); seed < FirstSeed() + count; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    HoldSchedule(seed).RunUntilStopped();
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

}  // namespace
}  // namespace weft
