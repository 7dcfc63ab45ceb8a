#include "libs/runtime/step_table.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr uint64_t kMaster = 11;
constexpr uint64_t kSession = 22;
constexpr protocol::WorkerSession kWorkerSession{kMaster, kSession};
constexpr char kPs[] = "/job:ps/replica:0/task:0";
constexpr char kWorker[] = "/job:worker/replica:0/task:1";

class StepTableTest : public ::testing::Test {
 protected:
  StepTableTest() {
    table_.AddSession(kWorkerSession);
    peers_.all = {kPs};
    peers_.senders = {kPs};
    peers_.edges = {{5, "v:0"}, {6, "x:0"}};
    table_.PeerConnected(kPs);
  }

  static protocol::Push PushOf(uint64_t step, uint64_t edge,
                               int64_t floats = 1) {
    return {.session = kWorkerSession,
            .step = step,
            .edge = edge,
            .tensor = Tensor(DT_FLOAT, TensorShape({floats}))};
  }
  static protocol::PartitionStep Step(uint64_t step,
                                      uint64_t finished_below = 0) {
    protocol::PartitionStep request;
    request.session = kWorkerSession;
    request.step = step;
    request.steps_finished_below = finished_below;
    request.cancellation = std::make_shared<Cancellation>();
    return request;
  }
  static absl::Status Gone() { return absl::UnavailableError("gone"); }
  // Returns whether a value for this edge has arrived.
  static bool Has(StepExchange& exchange, uint64_t edge) {
    bool received = false;
    exchange.Receive({.edge = edge},
                     [&](const absl::Status& status, const Tensor&, bool) {
                       received = status.ok();
                     });
    exchange.Abort(absl::AbortedError("enough"));
    return received;
  }

  // Matches the complete error of a step that exceeds the quota.
  static auto IsRefused() {
    constexpr auto kCode = absl::StatusCode::kResourceExhausted;
    return testing::AllOf(
        StatusIs(kCode, "tensor x:0: /job:ps/task:7: no room"),
        StatusIs(kCode, "of the 3000 that"),
        StatusIs(kCode, "max_unclaimed_bytes_per_session"));
  }

  // Delivers a value for `step`, to check later when its memory is freed.
  Tensor DeliverTo(uint64_t step) {
    protocol::Push push = PushOf(step, 5);
    Tensor value = push.tensor;
    table_.Deliver(std::move(push));
    return value;
  }
  void ExpectFreedElsewhere(const Tensor& value) {
    EXPECT_FALSE(value.RefCountIsOne());
    EXPECT_EQ(table_.size().waiting, 0);
    scheduler_.RunUntilIdle();
    EXPECT_TRUE(value.RefCountIsOne());
  }

  ManualClock clock_;
  SimulatedScheduler scheduler_{clock_};
  StepTable table_{/*max_unclaimed_bytes_per_session=*/3000, scheduler_,
                   std::make_shared<Reclaimer>(scheduler_), "/job:ps/task:7"};
  StepPeers peers_;
};

TEST_F(StepTableTest, AValueWaitsForItsStep) {
  table_.Deliver(PushOf(1, 5));
  EXPECT_EQ(table_.size().waiting, 1);
  EXPECT_GE(table_.size().waiting_bytes, 4);
  ASSERT_OK_AND_ASSIGN(auto exchange, table_.Begin(Step(1), &peers_));
  EXPECT_GE(table_.size().waiting_bytes, 4);
  EXPECT_TRUE(Has(*exchange, 5));
  EXPECT_EQ(table_.size().waiting_bytes, 0);
}

TEST_F(StepTableTest, ValueForARunningStepIsDeliveredAtOnce) {
  ASSERT_OK_AND_ASSIGN(auto exchange, table_.Begin(Step(1), &peers_));
  table_.Deliver(PushOf(1, 5));
  EXPECT_TRUE(Has(*exchange, 5));
}

TEST_F(StepTableTest, ValuesOfUnknownSessionsAreDropped) {
  protocol::Push push = PushOf(1, 5);
  push.session.session = 99;
  table_.Deliver(std::move(push));
  EXPECT_EQ(table_.size().waiting, 0);
  protocol::PartitionStep step = Step(1, /*finished_below=*/1);
  step.session.session = 99;
  EXPECT_THAT(table_.Begin(step, &peers_).status(),
              StatusIs(absl::StatusCode::kAborted, "99"));
  EXPECT_EQ(table_.size().masters, 1);  // the master of the known session
}

TEST_F(StepTableTest, ValuesForFinishedStepsAreDropped) {
  table_.Deliver(PushOf(3, 5));
  ASSERT_OK(table_.Begin(Step(9, /*finished_below=*/7), &peers_));
  EXPECT_EQ(table_.size().waiting, 0);
  table_.Deliver(PushOf(6, 5));
  EXPECT_EQ(table_.size().waiting, 0);
  EXPECT_THAT(table_.Begin(Step(6), &peers_).status(),
              StatusIs(absl::StatusCode::kAborted, "already ended"));
}

// Step 1 runs until the test ends, while later steps end.
TEST_F(StepTableTest, EndlessStepDoesNotKeepLaterSteps) {
  constexpr uint64_t kSteps = 200'000;
  peers_.receivers = std::make_shared<const PeerTasks>(PeerTasks{kWorker});
  ASSERT_OK(table_.Begin(Step(1), &peers_));
  protocol::FinishedSteps over{.running = {1}};
  for (uint64_t step = 2; step < kSteps; ++step) {
    protocol::PartitionStep request = Step(step, /*finished_below=*/1);
    over.below = step;
    request.more_finished = &over;
    ASSERT_OK(table_.Begin(request, &peers_));
    const bool fails = step % 2 == 0;
    (void)table_.End({kMaster, step}, fails ? Gone() : absl::OkStatus());
    ASSERT_LE(table_.size().aborted + table_.size().ended, 2);
  }
  EXPECT_EQ(table_.size().running, 1);
  EXPECT_LE(table_.size().looked_at, 2 * int64_t{kSteps});
}

TEST_F(StepTableTest, NamedRunningStepsAreRemembered) {
  peers_.receivers = std::make_shared<const PeerTasks>(PeerTasks{kWorker});
  // The steps have ended on this task, but not on others.
  for (const uint64_t step : {3, 4, 5, 6}) {
    ASSERT_OK(table_.Begin(Step(step), &peers_));
    (void)table_.End({kMaster, step}, step < 5 ? absl::OkStatus() : Gone());
  }
  table_.Deliver(PushOf(7, 5));
  table_.Deliver(PushOf(8, 5));
  const protocol::FinishedSteps over{.below = 9, .running = {3, 5, 7}};
  protocol::PartitionStep request = Step(9, /*finished_below=*/3);
  request.more_finished = &over;
  ASSERT_OK(table_.Begin(request, &peers_));
  EXPECT_EQ(table_.size().ended, 1);
  EXPECT_EQ(table_.size().aborted, 1);
  EXPECT_EQ(table_.size().waiting, 1);
  EXPECT_THAT(table_.Begin(Step(5), &peers_).status(),
              StatusIs(absl::StatusCode::kUnavailable, "gone"));
  EXPECT_THAT(table_.Begin(Step(8), &peers_).status(),
              StatusIs(absl::StatusCode::kAborted, "already ended"));
  EXPECT_OK(table_.Begin(Step(7), &peers_));
  EXPECT_EQ(table_.PeerLost(kWorker, Gone()).ended,
            (std::vector<protocol::StepId>{{kMaster, 3}}));
}

TEST_F(StepTableTest, LateRequestsDoNotReviveAStep) {
  const protocol::FinishedSteps later{.below = 9, .running = {3}};
  const protocol::FinishedSteps earlier{.below = 6, .running = {3, 4}};
  protocol::PartitionStep request = Step(9, /*finished_below=*/3);
  request.more_finished = &later;
  ASSERT_OK(table_.Begin(request, &peers_));
  request = Step(10, /*finished_below=*/3);
  request.more_finished = &earlier;
  ASSERT_OK(table_.Begin(request, &peers_));
  EXPECT_THAT(table_.Begin(Step(4), &peers_).status(),
              StatusIs(absl::StatusCode::kAborted, "already ended"));
  EXPECT_OK(table_.Begin(Step(3), &peers_));
}

TEST_F(StepTableTest, AnAbortedStepDoesNotBegin) {
  table_.Deliver(PushOf(4, 5));
  table_.Abort({kMaster, 4}, 0, absl::UnavailableError("the ps is gone"));
  EXPECT_EQ(table_.size().waiting, 0);
  table_.Deliver(PushOf(4, 6));
  EXPECT_EQ(table_.size().waiting, 0);
  EXPECT_THAT(table_.Begin(Step(4), &peers_).status(),
              StatusIs(absl::StatusCode::kUnavailable, "the ps is gone"));
  // The aborted step is remembered until its master reports that it is over.
  ASSERT_OK(table_.Begin(Step(5, 5), &peers_));
  EXPECT_EQ(table_.size().aborted, 0);
}

TEST_F(StepTableTest, AnAbortCancelsARunningStep) {
  const protocol::PartitionStep step = Step(4);
  ASSERT_OK(table_.Begin(step, &peers_));
  table_.Abort({kMaster, 4}, 0, absl::UnavailableError("gone"));
  EXPECT_TRUE(step.cancellation->IsCancelled());
}

TEST_F(StepTableTest, LateValuesOfAFailedStepAreDropped) {
  ASSERT_OK(table_.Begin(Step(4), &peers_));
  EXPECT_EQ(table_.End({kMaster, 4}, absl::InternalError("broken")),
            absl::InternalError("broken"));
  table_.Deliver(PushOf(4, 5));
  EXPECT_EQ(table_.size().waiting, 0);
  EXPECT_EQ(table_.size().running, 0);
}

TEST_F(StepTableTest, ExcessWaitingValuesAbortTheirStep) {
  table_.Deliver(PushOf(1, 5, 300));
  table_.Deliver(PushOf(1, 6, 400));
  EXPECT_EQ(table_.size().waiting_bytes, 0);
  EXPECT_THAT(table_.Begin(Step(1), &peers_).status(), IsRefused());
  table_.Deliver(PushOf(2, 5, 600));
  EXPECT_GE(table_.size().waiting_bytes, 2400);
  ASSERT_OK(table_.Begin(Step(2), &peers_));
}

TEST_F(StepTableTest, UnreceivedValuesOfRunningStepsAreBounded) {
  const protocol::PartitionStep step = Step(1);
  {
    ASSERT_OK_AND_ASSIGN(auto exchange, table_.Begin(step, &peers_));
    table_.Deliver(PushOf(1, 5, 300));
    table_.Deliver(PushOf(1, 6, 400));
    scheduler_.RunUntilIdle();
    EXPECT_THAT(step.cancellation->status(), IsRefused());
  }
  EXPECT_THAT(table_.End({kMaster, 1}, step.cancellation->status()),
              IsRefused());
  EXPECT_EQ(table_.size().waiting_bytes, 0);
  table_.Deliver(PushOf(2, 5, 600));
  EXPECT_EQ(table_.size().waiting, 1);
}

TEST_F(StepTableTest, ReceivedValuesDoNotAccumulate) {
  ASSERT_OK_AND_ASSIGN(auto exchange, table_.Begin(Step(1), &peers_));
  int received = 0;
  for (uint64_t i = 0; i < 100; ++i) {
    exchange->Receive({.edge = 5, .iteration = i},
                      [&](const absl::Status& status, const Tensor&, bool) {
                        received += status.ok();
                      });
    protocol::Push push = PushOf(1, 5, 500);
    push.iteration = i;
    table_.Deliver(std::move(push));
  }
  EXPECT_EQ(received, 100);
  EXPECT_EQ(table_.size().waiting_bytes, 0);
}

TEST_F(StepTableTest, DeadTensorsOfManyStepsAreBounded) {
  for (uint64_t step = 1; step <= 1000; ++step) {
    protocol::Push push = PushOf(step, 5);
    push.is_dead = true;
    push.tensor = Tensor();
    table_.Deliver(std::move(push));
  }
  EXPECT_LE(table_.size().waiting, 20);
}

TEST_F(StepTableTest, StateOfAMasterIsBounded) {
  constexpr uint64_t kSteps = 70'000;
  peers_.receivers = std::make_shared<PeerTasks>(PeerTasks{kWorker});
  ASSERT_OK(table_.Begin(Step(1), &peers_));  // never ends
  for (uint64_t step = 2; step <= kSteps; ++step) {
    if (step % 2 == 0) {
      table_.Abort({kMaster, step}, 0, absl::AbortedError("in vain"));
    } else {
      ASSERT_OK(table_.Begin(Step(step), &peers_));
      ASSERT_OK(table_.End({kMaster, step}, absl::OkStatus()));
    }
  }
  // All of these steps are remembered, in little memory: see StepSet.
  EXPECT_EQ(table_.size().aborted, int{kSteps / 2});
  EXPECT_EQ(table_.size().ended, int{kSteps / 2 - 1});
  EXPECT_THAT(
      table_.Begin(Step(2), &peers_).status(),
      StatusIs(absl::StatusCode::kAborted, "Step 2 was aborted before"));
  EXPECT_THAT(table_.Begin(Step(kSteps), &peers_).status(),
              StatusIs(absl::StatusCode::kAborted, "in vain"));
  EXPECT_EQ(table_.PeerLost(kWorker, Gone()).ended.size(), kSteps / 2 - 1);
}

TEST_F(StepTableTest, SecondValueOfAnEdgeAbortsItsStep) {
  const protocol::PartitionStep step = Step(4);
  ASSERT_OK(table_.Begin(step, &peers_));
  table_.Deliver(PushOf(4, 5));
  table_.Deliver(PushOf(4, 5));
  scheduler_.RunUntilIdle();
  EXPECT_TRUE(step.cancellation->IsCancelled());
}

// The caller's thread may be one that reads messages, and cancelling a step may
// take long. So steps are cancelled on another thread.
TEST_F(StepTableTest, LostValuesCancelStepsOnAnotherThread) {
  protocol::Push refused = PushOf(1, 5);
  refused.received = absl::ResourceExhaustedError("no room");
  const std::map<std::string, std::function<void()>> ways = {
      {"refused", [&] { table_.Deliver(refused); }},
      {"push failed", [&] { table_.PushFailed(PushOf(1, 5), Gone()); }},
      {"two values",
       [&] {
         table_.Deliver(PushOf(1, 5));
         table_.Deliver(PushOf(1, 5));
       }},
  };
  for (const auto& [name, lose] : ways) {
    SCOPED_TRACE(name);
    const protocol::PartitionStep step = Step(1);
    ASSERT_OK(table_.Begin(step, &peers_));
    lose();
    EXPECT_FALSE(step.cancellation->IsCancelled());
    // The step has failed although its kernels succeeded.
    EXPECT_FALSE(table_.End({kMaster, 1}, absl::OkStatus()).ok());
    scheduler_.RunUntilIdle();
    EXPECT_TRUE(step.cancellation->IsCancelled());
    // When its session is removed, the table forgets the step.
    table_.RemoveSession(kSession, Gone())();
    table_.AddSession(kWorkerSession);
  }
}

TEST_F(StepTableTest, LargeLateValuesAreFreedOnTheGraphPool) {
  table_.Abort({kMaster, 4}, 0, Gone());
  protocol::Push push = PushOf(4, 5, /*floats=*/100'000);
  const Tensor value = push.tensor;
  table_.Deliver(std::move(push));
  ExpectFreedElsewhere(value);
}

TEST_F(StepTableTest, ExcessLargeValuesAreFreedOnAnotherThread) {
  ASSERT_OK(table_.Begin(Step(4), &peers_));
  protocol::Push push = PushOf(4, 5, /*floats=*/100'000);
  const Tensor value = push.tensor;
  table_.Deliver(std::move(push));
  ExpectFreedElsewhere(value);
}

TEST_F(StepTableTest, ALostTaskCancelsTheStepsWithAnEdgeToIt) {
  StepPeers other;
  other.all = {kWorker};
  const protocol::PartitionStep with = Step(1);
  const protocol::PartitionStep without = Step(2);
  ASSERT_OK(table_.Begin(with, &peers_));
  ASSERT_OK(table_.Begin(without, &other));
  EXPECT_TRUE(table_.PeerLost(kPs, Gone()).was_needed);
  EXPECT_TRUE(with.cancellation->IsCancelled());
  EXPECT_FALSE(without.cancellation->IsCancelled());
}

TEST_F(StepTableTest, ReceivingStepNeedsAConnection) {
  table_.PeerConnected(kPs);  // a second connection
  table_.PeerLost(kPs, Gone());
  ASSERT_OK(table_.Begin(Step(1), &peers_));
  table_.PeerLost(kPs, Gone());
  EXPECT_THAT(table_.Begin(Step(2), &peers_).status(),
              StatusIs(absl::StatusCode::kUnavailable, kPs));
  table_.PeerConnected(kPs);
  ASSERT_OK(table_.Begin(Step(3), &peers_));
}

TEST_F(StepTableTest, ClosedExtraConnectionCancelsNoStep) {
  table_.PeerConnected(kPs);
  const protocol::PartitionStep step = Step(1);
  ASSERT_OK(table_.Begin(step, &peers_));
  table_.ConnectionClosed(kPs);
  EXPECT_FALSE(step.cancellation->IsCancelled());
  EXPECT_OK(table_.Begin(Step(2), &peers_));
  EXPECT_TRUE(table_.PeerLost(kPs, Gone()).was_needed);
  EXPECT_TRUE(step.cancellation->IsCancelled());
  EXPECT_THAT(table_.Begin(Step(3), &peers_).status(),
              StatusIs(absl::StatusCode::kUnavailable, kPs));
}

TEST_F(StepTableTest, StepsThatSentToALostTaskFail) {
  peers_.receivers = std::make_shared<PeerTasks>(PeerTasks{kWorker});
  ASSERT_OK(table_.Begin(Step(1), &peers_));
  ASSERT_OK(table_.Begin(Step(2), &peers_));
  ASSERT_OK(table_.End({kMaster, 1}, absl::OkStatus()));
  EXPECT_EQ(table_.PeerLost(kPs, Gone()).ended.size(), 0u);
  const auto ended = table_.PeerLost(kWorker, Gone()).ended;
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].step, 1u);
  EXPECT_EQ(table_.PeerLost(kWorker, Gone()).ended.size(), 0u);
}

// The step's last values were sent just before the connection was lost, and may
// be lost with it. If the step succeeded, the receiver would never be notified,
// so the step must fail.
TEST_F(StepTableTest, StepThatEndsAfterALossFails) {
  peers_.all = {kPs, kWorker};
  peers_.receivers = std::make_shared<PeerTasks>(PeerTasks{kWorker});
  ASSERT_OK(table_.Begin(Step(1), &peers_));
  EXPECT_EQ(table_.PeerLost(kWorker, Gone()).ended.size(), 0u);
  EXPECT_EQ(table_.End({kMaster, 1}, absl::OkStatus()), Gone());
  EXPECT_EQ(table_.size().ended, 0);
  EXPECT_EQ(table_.size().aborted, 1);
}

// Reporting many finished steps must not take time for the steps that are still
// running.
TEST_F(StepTableTest, FinishedStepIsExaminedOnce) {
  constexpr int kRunning = 1000;
  for (int step = 1; step <= kRunning; ++step) {
    ASSERT_OK(table_.Begin(Step(step), &peers_));
  }
  for (int step = kRunning + 1; step <= 2 * kRunning; ++step) {
    // According to the master the steps up to kRunning are over, but they still
    // run on this task.
    ASSERT_OK(table_.Begin(Step(step, /*finished_below=*/step), &peers_));
    ASSERT_OK(table_.End({kMaster, static_cast<uint64_t>(step)}, {}));
  }
  EXPECT_LE(table_.size().looked_at, 3 * kRunning);
}

TEST_F(StepTableTest, MasterActsOnlyForItsOwnSessions) {
  for (uint64_t master = 100; master < 200; ++master) {
    protocol::Push push = PushOf(1, 5, /*floats=*/10'000);
    push.session.master_incarnation = master;
    table_.Deliver(std::move(push));
  }
  EXPECT_LE(table_.size().masters, 1);
  EXPECT_EQ(table_.size().aborted, 0);
}

// Values are freed on another thread, because the calling threads read messages
// and end steps.
TEST_F(StepTableTest, DroppedValuesAreFreedOnAnotherThread) {
  const absl::Status ended = absl::AbortedError("ended");
  protocol::FinishedSteps over{.below = 20, .running = {9}};
  const std::map<std::string, std::function<void()>> ways = {
      {"abort",
       [&] {
         table_.Abort({kMaster, 1}, 0, ended);
       }},
      {"master lost", [&] { table_.CancelStepsOf(kMaster, ended); }},
      {"over", [&] { EXPECT_OK(table_.Begin(Step(9, 7), &peers_)); }},
      {"push failed", [&] { table_.PushFailed(PushOf(10, 5), ended); }},
  };
  uint64_t step = 1;
  for (const auto& [name, drop] : ways) {
    SCOPED_TRACE(name);
    const Tensor value = DeliverTo(name == "push failed" ? 10 : step);
    ++step;
    drop();
    ExpectFreedElsewhere(value);
  }
  const Tensor more = DeliverTo(15);
  protocol::PartitionStep request = Step(30);
  request.more_finished = &over;
  EXPECT_OK(table_.Begin(request, &peers_));
  ExpectFreedElsewhere(more);
  const Tensor last = DeliverTo(31);
  table_.RemoveSession(kSession, ended)();
  ExpectFreedElsewhere(last);
}

TEST_F(StepTableTest, AbortedStepValuesAreFreedOnAnotherThread) {
  StepTable table(/*max_unclaimed_bytes_per_session=*/1 << 20, scheduler_,
                  std::make_shared<Reclaimer>(scheduler_), "/job:ps/task:7");
  table.AddSession(kWorkerSession);
  table.PeerConnected(kPs);
  ASSERT_OK_AND_ASSIGN(auto exchange, table.Begin(Step(1), &peers_));
  exchange->Abort(Gone());
  protocol::Push push = PushOf(1, 5, /*floats=*/50'000);
  const Tensor value = push.tensor;
  table.Deliver(std::move(push));
  EXPECT_FALSE(value.RefCountIsOne());
  scheduler_.RunUntilIdle();
  EXPECT_TRUE(value.RefCountIsOne());
  EXPECT_EQ(table.End({kMaster, 1}, Gone()), Gone());
}

TEST_F(StepTableTest, DuplicateValueIsFreedOnAnotherThread) {
  StepTable table(/*max_unclaimed_bytes_per_session=*/1 << 20, scheduler_,
                  std::make_shared<Reclaimer>(scheduler_), "/job:ps/task:7");
  table.AddSession(kWorkerSession);
  table.PeerConnected(kPs);
  const protocol::PartitionStep step = Step(1);
  ASSERT_OK_AND_ASSIGN(auto exchange, table.Begin(step, &peers_));
  table.Deliver(PushOf(1, 5));
  const int64_t unclaimed = exchange->unclaimed_bytes();
  protocol::Push push = PushOf(1, 5, /*floats=*/50'000);
  const Tensor value = push.tensor;
  table.Deliver(std::move(push));
  EXPECT_EQ(exchange->unclaimed_bytes(), unclaimed);
  EXPECT_FALSE(value.RefCountIsOne());
  scheduler_.RunUntilIdle();
  EXPECT_TRUE(value.RefCountIsOne());
  EXPECT_TRUE(step.cancellation->IsCancelled());
  EXPECT_FALSE(table.End({kMaster, 1}, absl::OkStatus()).ok());
}

TEST_F(StepTableTest, FailedStepValuesAreFreedOnAnotherThread) {
  ASSERT_OK_AND_ASSIGN(auto exchange, table_.Begin(Step(1), &peers_));
  const Tensor value = DeliverTo(1);
  exchange->Abort(Gone());
  EXPECT_EQ(table_.End({kMaster, 1}, Gone()), Gone());
  table_.Reclaim(std::move(exchange));
  ExpectFreedElsewhere(value);
}

TEST_F(StepTableTest, StepsAndValuesEndWithTheirSession) {
  const protocol::PartitionStep step = Step(1);
  ASSERT_OK(table_.Begin(step, &peers_));
  table_.Deliver(PushOf(2, 5));
  table_.RemoveSession(kSession, absl::AbortedError("closed"))();
  EXPECT_TRUE(step.cancellation->IsCancelled());
  EXPECT_EQ(table_.size().waiting, 0);
  EXPECT_EQ(table_.size().masters, 1);
  EXPECT_EQ(table_.End({kMaster, 1}, absl::OkStatus()),
            absl::AbortedError("closed"));
  EXPECT_EQ(table_.size().masters, 0);
  EXPECT_EQ(table_.size().running, 0);
  EXPECT_EQ(table_.size().aborted, 0);
}

}  // namespace
}  // namespace weft
