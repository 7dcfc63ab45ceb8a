#include "libs/runtime/task_runtime.h"

#include <memory>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/device/local_devices.h"
#include "libs/fs/memory_file_system.h"
#include "libs/tensor/buffer.h"

namespace weft {
namespace {

constexpr char kTask[] = "/job:ps/replica:0/task:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:0";
constexpr uint64_t kOwn = 1;
constexpr uint64_t kMaster = 7;

class Thing : public Resource {
 public:
  static constexpr absl::string_view kTypeName = "Thing";
  absl::string_view type_name() const override { return kTypeName; }
  std::string DebugString() const override { return "a thing"; }
};

// A task with one device, whose peers come and go as a test says.
class TaskRuntimeTest : public testing::Test {
 protected:
  absl::Status CreateWorkerSession(uint64_t master, uint64_t session) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->CreateWorkerSession(
        {master, session}, /*isolated=*/true, absl::InfiniteFuture(),
        [&](absl::Status status) { result = status; });
    return result;
  }
  absl::Status DeleteWorkerSession(uint64_t master, uint64_t session) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->DeleteWorkerSession(
        {master, session}, absl::InfiniteFuture(),
        [&](absl::Status status) { result = status; });
    return result;
  }
  absl::Status Register(uint64_t session, uint64_t registration) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->Register(
        {.session = {kMaster, session}, .registration = registration},
        absl::InfiniteFuture(), [&](absl::Status status) { result = status; });
    return result;
  }
  absl::Status Clear(absl::Time deadline,
                     const std::shared_ptr<Cancellation>& client) {
    absl::Status result = absl::UnknownError("did not answer");
    runtime_->ClearContainers({}, deadline, client,
                              [&](absl::Status status) { result = status; });
    return result;
  }
  void Lose(uint64_t master) {
    runtime_->PeerLost(kWorker, master, absl::UnavailableError("gone"));
  }
  void HalfALeasePasses() { scheduler_.AdvanceBy(absl::Seconds(31)); }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  KernelRegistry kernels_;
  std::unique_ptr<Random> random_ = NewSeededRandom(1);
  MemoryFileSystem file_system_;
  std::shared_ptr<TaskRuntime> runtime_ = std::make_shared<TaskRuntime>(
      NewLocalDevices(kTask, {}, HeapAllocator(), *random_),
      TaskRuntimeOptions{.kernels = &kernels_,
                         .scheduler = &scheduler_,
                         .random = random_.get(),
                         .file_system = &file_system_,
                         .task = kTask,
                         .incarnation = kOwn,
                         .master_lease = absl::Minutes(1)});
};

TEST_F(TaskRuntimeTest, SessionsOutliveALossByALease) {
  runtime_->PeerConnected(kWorker, kMaster);
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  Lose(kMaster);
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 1);
  // It comes back, and goes again: its time begins anew.
  runtime_->PeerConnected(kWorker, kMaster);
  Lose(kMaster);
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 1);
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

// Two threads serve the requests, or they came over two connections.
TEST_F(TaskRuntimeTest, ASessionThatWasDeletedBeforeItIsMadeIsNotMade) {
  ASSERT_OK(DeleteWorkerSession(kOwn, 1));
  EXPECT_THAT(
      CreateWorkerSession(kOwn, 1),
      StatusIs(absl::StatusCode::kAborted, "Session 1 has been deleted"));
  EXPECT_EQ(runtime_->num_sessions(), 0);
  EXPECT_OK(CreateWorkerSession(kOwn, 2));
}

// Its master may have asked for it twice.
TEST_F(TaskRuntimeTest, ASessionThatWasDeletedIsNotMadeAgain) {
  ASSERT_OK(CreateWorkerSession(kOwn, 1));
  ASSERT_OK(DeleteWorkerSession(kOwn, 1));
  EXPECT_THAT(CreateWorkerSession(kOwn, 1),
              StatusIs(absl::StatusCode::kAborted));
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

TEST_F(TaskRuntimeTest, WhatWasReleasedBeforeItIsRegisteredIsNotRegistered) {
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  runtime_->Deregister({kMaster, 1}, 5);
  EXPECT_THAT(Register(1, 5),
              StatusIs(absl::StatusCode::kAborted,
                       "Registration 5 of session 1 has been released"));
  EXPECT_EQ(runtime_->num_registrations(), 0);
  EXPECT_OK(Register(1, 6));
  EXPECT_EQ(runtime_->num_registrations(), 1);
}

// Compiled, this one would be refused for its device.
TEST_F(TaskRuntimeTest, WhatWasReleasedIsNotCompiledFirst) {
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  runtime_->Deregister({kMaster, 1}, 5);
  absl::Status result = absl::UnknownError("did not answer");
  runtime_->Register({.session = {kMaster, 1},
                      .registration = 5,
                      .partitions = {{.device = "/job:nobody/cpu:0"}}},
                     absl::InfiniteFuture(),
                     [&](absl::Status status) { result = status; });
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kAborted, "been released"));
  EXPECT_TRUE(IsDerived(result));
}

TEST_F(TaskRuntimeTest, OfWhatWasDeletedTheLatestAreRemembered) {
  for (uint64_t id = 0; id <= TaskRuntime::kEndedRemembered; ++id) {
    ASSERT_OK(DeleteWorkerSession(kOwn, id));
    ASSERT_OK(DeleteWorkerSession(kOwn, id));  // told once more
  }
  EXPECT_OK(CreateWorkerSession(kOwn, 0));
  EXPECT_THAT(CreateWorkerSession(kOwn, 1),
              StatusIs(absl::StatusCode::kAborted));
}

TEST_F(TaskRuntimeTest, AResetThatWasGivenUpClearsNothing) {
  const auto client = std::make_shared<Cancellation>();
  ASSERT_OK(runtime_->resources(0).LookupOrCreate<Thing>(
      *client, "", "x", [] { return std::make_shared<Thing>(); }));
  EXPECT_THAT(Clear(clock_.Now(), client),
              StatusIs(absl::StatusCode::kDeadlineExceeded, kTask));
  EXPECT_EQ(runtime_->SharedResources().size(), 1u);
  const auto gone = std::make_shared<Cancellation>();
  gone->Cancel(absl::UnavailableError("the connection was lost"));
  EXPECT_THAT(Clear(absl::InfiniteFuture(), gone),
              StatusIs(absl::StatusCode::kUnavailable, "was lost"));
  EXPECT_EQ(runtime_->SharedResources().size(), 1u);
  EXPECT_OK(Clear(absl::InfiniteFuture(), client));
  EXPECT_TRUE(runtime_->SharedResources().empty());
}

TEST_F(TaskRuntimeTest, SessionsOfItsOwnMasterStay) {
  ASSERT_OK(CreateWorkerSession(kOwn, 1));
  scheduler_.AdvanceBy(absl::Hours(10));
  EXPECT_EQ(runtime_->num_sessions(), 1);
}

// What its master had sent before it was lost, or somebody made up.
TEST_F(TaskRuntimeTest, ASessionOfAMasterThatIsNotHereEndsByItself) {
  runtime_->PeerConnected(kWorker, kMaster);
  Lose(kMaster);
  HalfALeasePasses();
  HalfALeasePasses();
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  ASSERT_OK(CreateWorkerSession(kMaster, 2));
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 2);
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 0);
  EXPECT_EQ(runtime_->steps().masters, 0);
}

TEST_F(TaskRuntimeTest, ASessionLivesOnWhenItsMasterComesLate) {
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  runtime_->PeerConnected(kWorker, kMaster);
  scheduler_.AdvanceBy(absl::Hours(1));
  EXPECT_EQ(runtime_->num_sessions(), 1);
}

TEST_F(TaskRuntimeTest, SessionsOfAMasterThatHasRestartedEndSoon) {
  runtime_->PeerConnected(kWorker, kMaster);
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  // Only a claim, as long as the first is here, or may be back.
  runtime_->PeerConnected(kWorker, kMaster + 1);
  EXPECT_EQ(runtime_->num_sessions(), 1);
  Lose(kMaster);
  ASSERT_OK(CreateWorkerSession(kMaster + 1, 2));
  EXPECT_EQ(runtime_->num_sessions(), 2);
  scheduler_.AdvanceBy(absl::Seconds(6));
  EXPECT_EQ(runtime_->num_sessions(), 1);
  // The other one is the task now.
  runtime_->PeerConnected(kWorker, kMaster);
  Lose(kMaster + 1);
  EXPECT_EQ(runtime_->num_sessions(), 1);
}

TEST_F(TaskRuntimeTest, WhoClaimsATaskDoesNotGetItByACutConnection) {
  runtime_->PeerConnected(kWorker, kMaster);
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  for (int i = 0; i < 3; ++i) {
    runtime_->PeerConnected(kWorker, kMaster + 1);
    Lose(kMaster);
    scheduler_.AdvanceBy(absl::Seconds(1));
    runtime_->PeerConnected(kWorker, kMaster + 2);
    runtime_->PeerConnected(kWorker, kMaster);
    Lose(kMaster + 1);
    Lose(kMaster + 2);
    scheduler_.AdvanceBy(absl::Minutes(2));
    EXPECT_EQ(runtime_->num_sessions(), 1);
  }
}

TEST_F(TaskRuntimeTest, WhenNobodyClaimsATaskAnyMoreItsLeaseIsWhole) {
  runtime_->PeerConnected(kWorker, kMaster);
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  runtime_->PeerConnected(kWorker, kMaster + 1);
  Lose(kMaster);
  Lose(kMaster + 1);
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 1);
  HalfALeasePasses();
  HalfALeasePasses();
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

TEST_F(TaskRuntimeTest, SessionsOfAMasterThatComesBackAsAnotherEndAtOnce) {
  runtime_->PeerConnected(kWorker, kMaster);
  ASSERT_OK(CreateWorkerSession(kMaster, 1));
  runtime_->PeerLost(kWorker, kMaster, absl::UnavailableError("it has died"));
  EXPECT_EQ(runtime_->num_sessions(), 1);  // it may come back as itself
  runtime_->PeerConnected(kWorker, kMaster + 1);
  EXPECT_EQ(runtime_->num_sessions(), 0);
}

}  // namespace
}  // namespace weft
