// Sessions that somebody closes while their master ends, interrupted at its
// locks: whoever comes first, the task hears of the end of each, once.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/random.h"
#include "libs/base/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/graph_def.h"
#include "libs/master/master.h"
#include "libs/ops/standard_ops.h"
#include "libs/protocol/blocking_master.h"
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

  // The task knows of it.
  void OpenSession() {
    Graph graph(StandardOps());
    ASSERT_OK(graph.AddNode({.name = "nothing", .op = "NoOp"}));
    protocol::BlockingMaster ask(*master_, scheduler_);
    ASSERT_OK_AND_ASSIGN(const uint64_t session, ask.CreateSession({}));
    ASSERT_OK(ask.ExtendSession(session, {ExportGraphDef(graph), 0}));
    ASSERT_OK(ask.MakeCallable(session, {.targets = {"nothing"}}));
    sessions_.push_back(session);
  }

  // `close` may be refused, or find that the sessions have gone.
  void EndWhile(const std::function<void(EndingMaster&)>& close) {
    scheduler_.set_yields({.one_in = 2});
    scheduler_.Schedule(Pool::kBlocking, [&] { close(*this); });
    scheduler_.Schedule(Pool::kBlocking,
                        [this] { master_->Drain(clock_.Now()); });
    scheduler_.RunUntilIdle();
    scheduler_.set_yields({});
  }

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
};

void ExpectTheTaskHears(const std::function<void(EndingMaster&)>& close) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    EndingMaster ending(seed);
    for (size_t i = 0; i < kSessions; ++i) {
      ASSERT_NO_FATAL_FAILURE(ending.OpenSession());
    }
    ending.EndWhile(close);
    ASSERT_EQ(ending.worker().deleted.size(), kSessions);
    ASSERT_EQ(ending.master().num_sessions(), 0);
  }
}

TEST(MasterEndTest, TheTaskHearsOfSessionsThatAreClosedMeanwhile) {
  size_t num_answers = 0;
  ExpectTheTaskHears([&num_answers](EndingMaster& ending) {
    for (const uint64_t session : ending.sessions()) {
      ending.master().CloseSession(session,
                                   [&](const absl::Status&) { ++num_answers; });
    }
  });
  EXPECT_EQ(num_answers, kSeeds * kSessions);
}

TEST(MasterEndTest, TheTaskHearsOfSessionsThatAreResetMeanwhile) {
  size_t num_answers = 0;
  ExpectTheTaskHears([&num_answers](EndingMaster& ending) {
    ending.master().Reset({}, {}, nullptr,
                          [&](const absl::Status&) { ++num_answers; });
  });
  EXPECT_EQ(num_answers, kSeeds);
}

}  // namespace
}  // namespace weft
