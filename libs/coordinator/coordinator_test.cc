// Tests a coordinator under load.
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/coordinator/testing/coordinator_harness.h"

namespace weft {
namespace {

using protocol::HeartbeatRequest;
using protocol::JoinReply;
using protocol::PlacementReply;
using protocol::PlacementRequest;

TEST_F(CoordinatorTest, EachCallIsAnsweredOnceUnderConcurrency) {
  constexpr int kRounds = 100;
  const SystemClock clock;
  std::unique_ptr<Scheduler> scheduler = NewThreadScheduler(clock);
  CoordinatorOptions options;
  options.scheduler = scheduler.get();
  options.random = random_.get();
  options.cluster = cluster_;
  options.task = kCoordinator;
  options.incarnation = 1;
  options.logger = &logger_;
  auto coordinator = std::make_unique<Coordinator>(options);
  std::atomic<int> asked = 0, answered = 0;
  // Returns the callback of one more call, which counts the answer.
  const auto count = [&] {
    ++asked;
    return [&answered,
            told = std::make_shared<std::atomic<bool>>(false)](const auto&) {
      EXPECT_FALSE(told->exchange(true)) << "answered twice";
      ++answered;
    };
  };
  const auto soon = [&] { return clock.Now() + absl::Seconds(30); };
  std::vector<std::thread> threads;
  for (const char* task : {kPs0, kPs1, kWorker0, kWorker1}) {
    threads.emplace_back([&, task] {
      for (uint64_t i = 1; i <= kRounds; ++i) {
        coordinator->Join(JoinOf(task, i), soon(), count());
        PlacementRequest request =
            RequestOf(i, task, {NodeOf(Var("w"), "/job:ps/task:0")});
        request.incarnation = i;
        coordinator->Place(request, soon(), nullptr, count());
        HeartbeatRequest beat;
        beat.task = task;
        beat.incarnation = beat.coordinator = i;
        coordinator->Heartbeat(beat, soon(), count());
        const auto gone = std::make_shared<Cancellation>();
        coordinator->ListDevices({}, soon(), gone, count());
        if (i % 3 == 0) gone->Cancel(absl::CancelledError("gone"));
        if (i % 2 == 0) coordinator->EndSession(i, soon(), count());
        coordinator->GetCluster({.is_fresh = i % 2 == 0}, soon(), count());
        coordinator->OnTaskLost(task, i, absl::UnavailableError("cut"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  coordinator.reset();
  scheduler.reset();  // answers may be in progress
  EXPECT_EQ(answered, asked);
}

TEST_F(CoordinatorTest, AThousandTasksJoinAndASessionIsPlaced) {
  constexpr int kTasks = 1000;
  const auto run = [&](uint64_t seed) {
    ManualClock clock;
    SimulatedSchedulerOptions simulation;
    simulation.seed = seed;
    SimulatedScheduler scheduler(clock, std::move(simulation));
    cluster_ = ClusterSpec();
    for (int i = 0; i < kTasks; ++i) {
      EXPECT_OK(cluster_.AddTask(i % 2 == 0 ? "ps" : "worker", i / 2, "h:1"));
    }
    cluster_text_ = cluster_.ToString();
    CoordinatorOptions options;
    options.scheduler = &scheduler;
    options.random = random_.get();
    options.cluster = cluster_;
    options.task = kPs0;
    options.incarnation = 1;
    Coordinator coordinator(options);
    std::vector<PlacementNode> nodes;
    for (int i = 0; i < kTasks; ++i) {
      PlacementNode node =
          NodeOf(Var("v" + std::to_string(i)),
                 "/job:ps/task:" + std::to_string(i % (kTasks / 2)));
      nodes.push_back(std::move(node));
    }
    Pending<PlacementReply> placed;
    coordinator.Place(RequestOf(1, kWorker0, nodes),
                      clock.Now() + absl::Minutes(10), nullptr, placed.Done());
    int joined = 0;
    for (const auto& [job, tasks] : cluster_.jobs()) {
      for (const auto& [index, address] : tasks) {
        scheduler.Schedule(
            Pool::kCompute,
            [&, request = JoinOf(TaskName(job, index), index + 1)] {
              Pending<JoinReply> reply;
              coordinator.Join(request, clock.Now() + absl::Minutes(1),
                               reply.Done());
              joined += reply.get().ok();
            });
      }
    }
    scheduler.RunUntilIdle();
    EXPECT_EQ(joined, kTasks);
    EXPECT_OK(placed.get());
    std::vector<std::string> devices =
        placed.get().ok() ? placed.get()->devices : std::vector<std::string>();
    return std::make_pair(devices, scheduler.trace_hash());
  };
  const auto first = run(1);
  EXPECT_EQ(first, run(1)) << "the same seed, the same course";
  EXPECT_EQ(first.first, run(2).first) << "in whatever order they join";
  EXPECT_EQ(first.first[501], Cpu("/job:ps/replica:0/task:1"));
}

}  // namespace
}  // namespace weft
