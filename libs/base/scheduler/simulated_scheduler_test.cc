#include "libs/base/scheduler/simulated_scheduler.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/testing/scheduler_conformance.h"

namespace weft {
namespace {

class SimulatedHarness : public SchedulerHarness {
 public:
  explicit SimulatedHarness(uint64_t seed) : seed_(seed) {}
  std::unique_ptr<Scheduler> NewScheduler() override {
    return std::make_unique<SimulatedScheduler>(
        clock_, SimulatedSchedulerOptions{.seed = seed_});
  }

 private:
  const uint64_t seed_;
  ManualClock clock_;
};

SchedulerHarnessFactory Seed(uint64_t seed) {
  return [seed] { return std::make_unique<SimulatedHarness>(seed); };
}

INSTANTIATE_TEST_SUITE_P(Seeds, SchedulerConformanceTest,
                         ::testing::Values(Seed(1), Seed(2), Seed(3)));

// Outcome has the order in which three clients and a timer ran.
struct Outcome {
  std::vector<int> order;
  uint64_t trace_hash;
};

Outcome RunProgram(uint64_t seed) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock, {.seed = seed});
  Outcome outcome;
  auto timer = scheduler.NewEvent();
  auto done = scheduler.NewEvent();
  scheduler.ScheduleAt(clock.Now() + absl::Seconds(1), [&] { timer->Set(); });
  for (int i = 0; i < 3; ++i) {
    scheduler.Schedule(Pool::kBlocking, [&, i] {
      outcome.order.push_back(i);
      timer->Wait();
      outcome.order.push_back(i);
      if (outcome.order.size() == 6) done->Set();
    });
  }
  done->Wait();
  outcome.trace_hash = scheduler.trace_hash();
  return outcome;
}

TEST(SimulatedSchedulerTest, SameSeedGivesSameOrder) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Outcome first = RunProgram(seed);
    const Outcome second = RunProgram(seed);
    EXPECT_EQ(first.order, second.order);
    EXPECT_EQ(first.trace_hash, second.trace_hash);
  }
}

TEST(SimulatedSchedulerTest, DifferentSeedsGiveManyOrders) {
  std::set<std::vector<int>> orders;
  std::set<uint64_t> hashes;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Outcome outcome = RunProgram(seed);
    orders.insert(outcome.order);
    hashes.insert(outcome.trace_hash);
  }
  EXPECT_EQ(orders.size(), 36u);  // 3! before the timer times 3! after it
  EXPECT_GE(hashes.size(), 36u);
}

TEST(SimulatedSchedulerTest, ClosuresRunOnlyWhileTheClientWaits) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  bool ran = false;
  scheduler.Schedule(Pool::kCompute, [&] { ran = true; });
  EXPECT_FALSE(ran);
  scheduler.RunUntilIdle();
  EXPECT_TRUE(ran);
}

TEST(SimulatedSchedulerTest, TimeJumpsToTheNextDeadline) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  const absl::Time start = clock.Now();
  auto hour = scheduler.NewEvent();
  scheduler.ScheduleAt(start + absl::Hours(1), [&] { hour->Set(); });
  EXPECT_FALSE(hour->WaitUntil(start + absl::Minutes(1)));
  EXPECT_EQ(clock.Now(), start + absl::Minutes(1));
  EXPECT_TRUE(hour->WaitUntil(absl::InfiniteFuture()));
  EXPECT_EQ(clock.Now(), start + absl::Hours(1));
}

TEST(SimulatedSchedulerTest, AdvanceByRunsDueClosures) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  const absl::Time start = clock.Now();
  std::vector<absl::Time> ticks;
  std::function<void()> tick = [&] {
    ticks.push_back(clock.Now());
    scheduler.ScheduleAt(clock.Now() + absl::Seconds(1), tick);
  };
  scheduler.ScheduleAt(start + absl::Seconds(1), tick);
  scheduler.AdvanceBy(absl::Milliseconds(3500));
  EXPECT_EQ(ticks.size(), 3u);
  EXPECT_EQ(clock.Now(), start + absl::Milliseconds(3500));
}

TEST(SimulatedSchedulerTest, FullPoolStartsNoFurtherClosures) {
  for (const Pool pool : {Pool::kCompute, Pool::kControl, Pool::kGraph,
                          Pool::kBlocking, Pool::kUnbounded}) {
    ManualClock clock;
    SimulatedScheduler scheduler(
        clock,
        {.pools = {
             .compute = 2, .control = 2, .graph = 2, .blocking = 2, .own = 2}});
    auto release = scheduler.NewEvent();
    int begun = 0;
    for (int i = 0; i < 5; ++i) {
      scheduler.Schedule(pool, [&] {
        ++begun;
        release->Wait();
      });
    }
    scheduler.RunUntilIdle();
    EXPECT_EQ(begun, 2);
    release->Set();
    scheduler.RunUntilIdle();
    EXPECT_EQ(begun, 5);
  }
}

TEST(SimulatedSchedulerTest, FullPoolDoesNotBlockOtherPools) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock, {.pools = {.compute = 1}});
  auto release = scheduler.NewEvent();
  scheduler.Schedule(Pool::kCompute, [&] { release->Wait(); });
  scheduler.RunUntilIdle();
  bool ran = false;
  scheduler.ScheduleAt(Pool::kControl, clock.Now() + absl::Seconds(1),
                       [&] { ran = true; });
  bool timer_ran = false;
  scheduler.ScheduleAt(clock.Now(), [&] { timer_ran = true; });
  scheduler.AdvanceBy(absl::Seconds(1));
  EXPECT_TRUE(ran);
  EXPECT_FALSE(timer_ran) << "it waits for the compute pool";
  release->Set();
  scheduler.RunUntilIdle();
  EXPECT_TRUE(timer_ran);
}

TEST(SimulatedSchedulerTest, EachPartHasItsOwnPools) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  const auto one = scheduler.NewPart({.blocking = 1});
  const auto other = scheduler.NewPart({.blocking = 1});
  auto release = scheduler.NewEvent();
  int begun = 0;
  for (Scheduler* part : {one.get(), one.get(), other.get()}) {
    part->Schedule(Pool::kBlocking, [&] {
      ++begun;
      release->Wait();
    });
  }
  scheduler.RunUntilIdle();
  EXPECT_EQ(begun, 2);
  release->Set();
  scheduler.RunUntilIdle();
  EXPECT_EQ(begun, 3);
}

TEST(SimulatedSchedulerTest, DeadlockByAFullPoolIsReported) {
  ManualClock clock;
  std::string report;
  SimulatedScheduler scheduler(
      clock, {.pools = {.blocking = 1},
              .on_deadlock = [&](const std::string& text) { report = text; }});
  auto ended = scheduler.NewEvent();
  bool waited = true;
  scheduler.Schedule(Pool::kBlocking, [&] {
    scheduler.Schedule(Pool::kBlocking, [&] { ended->Set(); });
    waited = ended->WaitUntil(absl::InfiniteFuture());
  });
  ended->Wait();
  EXPECT_FALSE(waited);
  EXPECT_THAT(report, ::testing::HasSubstr("1 closures wait for a thread"));
  scheduler.RunUntilIdle();
}

TEST(SimulatedSchedulerTest, DeadlockIsReportedWithItsSeed) {
  ManualClock clock;
  std::string report;
  SimulatedScheduler scheduler(
      clock, {.seed = 77,
              .on_deadlock = [&](const std::string& text) { report = text; }});
  auto never = scheduler.NewEvent();
  bool client_result = true;
  scheduler.Schedule(Pool::kBlocking, [&] {
    client_result = never->WaitUntil(absl::InfiniteFuture());
  });
  EXPECT_FALSE(never->WaitUntil(absl::InfiniteFuture()));
  EXPECT_THAT(report, ::testing::HasSubstr("seed 77"));
  EXPECT_THAT(report, ::testing::HasSubstr("2 wait without a deadline"));
  scheduler.RunUntilIdle();
  EXPECT_FALSE(client_result);
}

TEST(SimulatedSchedulerDeathTest, AbortsOnDeadlockUnlessHandled) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        ManualClock clock;
        SimulatedScheduler scheduler(clock);
        scheduler.NewEvent()->Wait();
      },
      "Simulated deadlock");
}

TEST(SimulatedSchedulerTest, DestructorEndsOpenWaits) {
  ManualClock clock;
  bool result = true;
  std::unique_ptr<Event> never;
  {
    SimulatedScheduler scheduler(clock);
    never = scheduler.NewEvent();
    scheduler.Schedule(Pool::kBlocking, [&] {
      result = never->WaitUntil(absl::InfiniteFuture());
    });
  }
  EXPECT_FALSE(result);
}

}  // namespace
}  // namespace weft
