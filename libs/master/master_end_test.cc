// Sessions that are closed while their master, or their last step, ends, with
// simulated interruptions at its locks: in any order, the task is told of the
// end of each session exactly once.
//
// libs/base/testing/seeds.h describes how to run other seeds;
// tools/mutants runs them.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/seeds.h"
#include "libs/graph/import/graph_def.h"
#include "libs/master/master.h"
#include "libs/ops/standard_ops.h"
#include "libs/protocol/master/blocking_master.h"
#include "libs/protocol/testing/recording_coordinator.h"
#include "libs/protocol/testing/recording_worker.h"

namespace weft {
namespace {

constexpr char kTask[] = "/job:worker/replica:0/task:0";
constexpr char kDevice[] = "/job:worker/replica:0/task:0/device:CPU:0";
constexpr uint64_t kSeeds = 300;
constexpr size_t kSessions = 2;

class OneTask : public protocol::WorkerDirectory {
 public:
  explicit OneTask(protocol::Worker& worker) : worker_(worker) {}
  protocol::Worker* Find(const std::string& task) override {
    return task == kTask ? &worker_ : nullptr;
  }
  std::vector<std::string> Tasks() const override { return {kTask}; }

 private:
  protocol::Worker& worker_;
};

class EndingMaster {
 public:
  explicit EndingMaster(uint64_t seed) : scheduler_(clock_, {.seed = seed}) {
    coordinator_.placement_reply.devices = {kDevice};
  }

  // Opens a session that is known to the task.
  void OpenSession() {
    Graph graph(StandardOps());
    ASSERT_OK(graph.AddNode({.name = "nothing", .op = "NoOp"}));
    protocol::BlockingMaster ask(*master_, scheduler_);
    ASSERT_OK_AND_ASSIGN(const uint64_t session, ask.CreateSession({}));
    ASSERT_OK(ask.ExtendSession(session, {ExportGraphDef(graph).value(), 0}));
    ASSERT_OK_AND_ASSIGN(callable_,
                         ask.MakeCallable(session, {.targets = {"nothing"}}));
    sessions_.push_back(session);
  }

  // `close` may be refused, or find that the sessions are gone.
  void EndWhile(const std::function<void(EndingMaster&)>& close) {
    scheduler_.set_yields({.one_in = 2});
    scheduler_.Schedule(Pool::kBlocking, [&] { close(*this); });
    scheduler_.Schedule(Pool::kBlocking,
                        [this] { master_->Drain(clock_.Now()); });
    scheduler_.RunUntilIdle();
    scheduler_.set_yields({});
  }

  // A step of the last session ends at its task while the session is closed.
  void CloseWhileAStepEnds() {
    worker_.hold_runs = true;
    master_->RunCallable(sessions_.back(), callable_, {},
                         [this](const absl::Status&) { ++num_answers_; });
    scheduler_.RunUntilIdle();
    ASSERT_EQ(worker_.running.size(), 1);
    scheduler_.set_yields({.one_in = 2});
    scheduler_.Schedule(Pool::kCompute, [this] { worker_.EndRun(); });
    scheduler_.Schedule(Pool::kCompute, [this] {
      master_->CloseSession(sessions_.back(),
                            [this](const absl::Status&) { ++num_answers_; });
    });
    scheduler_.RunUntilIdle();
    scheduler_.set_yields({});
  }

  // Returns the status of making a callable of the last session.
  absl::Status MakeWhileAResetComes() {
    absl::Status made = absl::UnknownError("did not answer");
    scheduler_.set_yields({.one_in = 2});
    scheduler_.Schedule(Pool::kBlocking, [&] {
      master_->MakeCallable(
          sessions_.back(), {.targets = {"nothing"}}, nullptr,
          [&](const absl::StatusOr<uint64_t>& one) { made = one.status(); });
    });
    scheduler_.Schedule(Pool::kBlocking, [this] {
      master_->Reset({}, {}, nullptr,
                     [this](const absl::Status&) { ++num_answers_; });
    });
    scheduler_.RunUntilIdle();
    scheduler_.set_yields({});
    return made;
  }

  // A drain, which lasts until a monitored session is closed, begins while
  // calls wait for the coordinator, or are about to.
  void DrainWhileCallsWait() {
    coordinator_.hold = true;
    master_->Reset({}, {}, nullptr,
                   [this](const absl::Status&) { ++num_answers_; });
    scheduler_.AdvanceBy(absl::Seconds(5));
    ASSERT_EQ(num_answers_, 0);
    protocol::BlockingMaster ask(*master_, scheduler_);
    ASSERT_OK_AND_ASSIGN(const uint64_t session,
                         ask.CreateSession({.is_monitored = true}));
    bool has_drained = false;
    scheduler_.set_yields({.one_in = 2});
    scheduler_.Schedule(Pool::kBlocking, [this] {
      master_->ListDevices(nullptr, [this](const auto&) { ++num_answers_; });
    });
    scheduler_.Schedule(Pool::kBlocking, [this, &has_drained] {
      master_->Drain(clock_.Now() + absl::Hours(1));
      has_drained = true;
    });
    scheduler_.AdvanceBy(absl::Seconds(5));
    scheduler_.set_yields({});
    EXPECT_EQ(num_answers_, 2);
    EXPECT_FALSE(has_drained);
    coordinator_.hold = false;
    while (coordinator_.num_held() > 0) coordinator_.Release();
    master_->CloseSession(session, [](const absl::Status&) {});
    scheduler_.AdvanceBy(absl::Seconds(5));
    EXPECT_TRUE(has_drained);
  }

  int num_answers() const { return num_answers_; }
  Master& master() { return *master_; }
  const std::vector<uint64_t>& sessions() const { return sessions_; }
  const protocol::RecordingWorker& worker() const { return worker_; }

 private:
  ManualClock clock_;
  SimulatedScheduler scheduler_;
  const std::unique_ptr<Random> random_ = NewSeededRandom(1);
  protocol::RecordingWorker worker_;
  protocol::RecordingCoordinator coordinator_;
  OneTask directory_{worker_};
  const std::unique_ptr<Master> master_ = std::make_unique<Master>(
      MasterOptions{.scheduler = &scheduler_,
                    .random = random_.get(),
                    .ops = StandardOps(),
                    .directory = &directory_,
                    .coordinator = &coordinator_,
                    .task = kTask,
                    .incarnation = 7,
                    .device_types = [](const Node&) {
                      return std::vector<std::string>{"CPU"};
                    }});
  std::vector<uint64_t> sessions_;
  uint64_t callable_ = 0;  // of the last session
  int num_answers_ = 0;
};

void ExpectTheTaskHears(const std::function<void(EndingMaster&)>& close) {
  for (uint64_t i = 0; i < NumSeeds(kSeeds); ++i) {
    const uint64_t seed = FirstSeed() + i;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    EndingMaster ending(seed);
    for (size_t s = 0; s < kSessions; ++s) {
      ASSERT_NO_FATAL_FAILURE(ending.OpenSession());
    }
    ending.EndWhile(close);
    ASSERT_EQ(ending.worker().deleted.size(), kSessions);
    ASSERT_EQ(ending.master().num_sessions(), 0);
  }
}

TEST(MasterEndTest, SessionClosedMeanwhileIsReported) {
  size_t num_answers = 0;
  ExpectTheTaskHears([&num_answers](EndingMaster& ending) {
    for (const uint64_t session : ending.sessions()) {
      ending.master().CloseSession(session,
                                   [&](const absl::Status&) { ++num_answers; });
    }
  });
  EXPECT_EQ(num_answers, NumSeeds(kSeeds) * kSessions);
}

TEST(MasterEndTest, SessionResetMeanwhileIsReported) {
  size_t num_answers = 0;
  ExpectTheTaskHears([&num_answers](EndingMaster& ending) {
    ending.master().Reset({}, {}, nullptr,
                          [&](const absl::Status&) { ++num_answers; });
  });
  EXPECT_EQ(num_answers, NumSeeds(kSeeds));
}

// The owner of the session has continued in another one, so its calls must fail
// with "lost" and not with "closed".
TEST(MasterEndTest, CallableMadeDuringResetIsLost) {
  size_t num_lost = 0;
  for (uint64_t i = 0; i < NumSeeds(kSeeds); ++i) {
    const uint64_t seed = FirstSeed() + i;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    EndingMaster ending(seed);
    ASSERT_NO_FATAL_FAILURE(ending.OpenSession());
    const absl::Status made = ending.MakeWhileAResetComes();
    ASSERT_TRUE(made.ok() || absl::IsAborted(made)) << made;
    ASSERT_EQ(ending.num_answers(), 1);
    num_lost += made.ok() ? 0 : 1;
  }
  // With many seeds this happens in some.
  EXPECT_TRUE(num_lost > 0 || NumSeeds(kSeeds) < kSeeds);
}

TEST(MasterEndTest, DrainEndsCallsThatWaitForTheCoordinator) {
  for (uint64_t i = 0; i < NumSeeds(kSeeds); ++i) {
    const uint64_t seed = FirstSeed() + i;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    EndingMaster ending(seed);
    ASSERT_NO_FATAL_FAILURE(ending.DrainWhileCallsWait());
    ASSERT_FALSE(testing::Test::HasFailure());
  }
}

TEST(MasterEndTest, SessionClosesDuringItsLastStep) {
  for (uint64_t i = 0; i < NumSeeds(kSeeds); ++i) {
    const uint64_t seed = FirstSeed() + i;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    EndingMaster ending(seed);
    ASSERT_NO_FATAL_FAILURE(ending.OpenSession());
    ASSERT_NO_FATAL_FAILURE(ending.CloseWhileAStepEnds());
    ASSERT_EQ(ending.num_answers(), 2);
    ASSERT_EQ(ending.worker().deleted.size(), 1);
    ASSERT_EQ(ending.master().num_sessions(), 0);
  }
}

}  // namespace
}  // namespace weft
