// Simulates training by MonitoredTrainingSession on a cluster whose tasks,
// programs, connections and disk fail as chosen by a seed
// (integration_tests/testing/monitored_simulation.h).
//
// WEFT_SIMULATION_SEEDS, WEFT_SIMULATION_FIRST_SEED and WEFT_SIMULATION_HUNT
// work as for simulation_test.
#include "integration_tests/testing/monitored_simulation.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>

#include "absl/time/time.h"
#include "integration_tests/testing/each_seed.h"
#include "integration_tests/testing/monitored_client.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 12;
constexpr uint64_t kSynchronousSeeds = 8;

// The counters of all seeds, added up.
struct Sum {
  uint64_t seeds = 0;
  int programs = 0;
  int sessions = 0;
  int64_t steps = 0;
  int looks = 0;
};

template <typename Simulate>
Sum RunSeeds(uint64_t otherwise, const Simulate& simulate) {
  Sum sum;
  const auto ran = RunEachSeed(otherwise, [&](uint64_t seed) {
    MonitoredSimulationResult result = simulate(seed);
    sum.programs += result.num_programs;
    sum.sessions += result.num_sessions;
    sum.steps += result.num_steps;
    sum.looks += result.num_looks;
    return result;
  });
  if (!ran.has_value()) return sum;
  sum.seeds = *ran;
  std::printf("%" PRIu64 " seeds: %d programs, %d sessions, %" PRId64
              " steps, %d looks at the disk\n",
              sum.seeds, sum.programs, sum.sessions, sum.steps, sum.looks);
  return sum;
}

// Checks that there were enough faults and steps over all seeds, because a
// single seed may have few. Programs end when they are killed, or when they
// cannot recover from a fault.
void ExpectMuchHasHappened(const Sum& sum) {
  const auto count = static_cast<int>(sum.seeds);
  EXPECT_GT(sum.programs, 2 * count);
  EXPECT_GT(sum.sessions, sum.programs + count / 3);
  EXPECT_GT(sum.steps, 50 * count);
  EXPECT_GT(sum.looks, 20 * count);
}

TEST(MonitoredSimulationTest, EverySeedReachesItsEnd) {
  const Sum sum = RunSeeds(kSeeds, SimulateMonitoredTraining);
  if (sum.seeds >= kSeeds) ExpectMuchHasHappened(sum);
}

TEST(MonitoredSimulationTest, EverySynchronousSeedReachesItsEnd) {
  const Sum sum = RunSeeds(kSynchronousSeeds, SimulateSynchronousTraining);
  if (sum.seeds >= kSynchronousSeeds) ExpectMuchHasHappened(sum);
}

// Two clients read the global step at the same time, and one of them gets its
// result late.
TEST(StepBookTest, StepsConcurrentWithAReadMayFollowIt) {
  constexpr int64_t kLast = 10;
  StepBook book(kLast, 0);
  const absl::Time now = absl::UnixEpoch();
  book.Begin(0, now);
  book.Look(0, now);  // the result of this read will be 9
  book.Begin(1, now);
  book.Look(1, now);
  book.End(1, kLast);
  book.End(0, kLast - 1);
  EXPECT_EQ(book.furthest_step(), kLast);
  // The client did not see the last step in time, so it runs one more step.
  book.Begin(0, now);
  book.Look(0, now);
  book.End(0, kLast + 1);
  EXPECT_EQ(book.furthest_step(), kLast + 1);
}

TEST(StepBookTest, FailedStepCountsAsMissingUntilItIsSeen) {
  constexpr int64_t kLast = 10;
  StepBook book(kLast, 0);
  const absl::Time now = absl::UnixEpoch();
  book.Begin(0, now);
  book.Begin(0, now);  // the first step has failed, but may still take effect
  book.Look(0, now);
  book.End(0, 1);
  EXPECT_EQ(book.furthest_step(), kLast);
  book.Begin(0, now);
  // the failed step can no longer take effect
  book.Look(0, now + absl::Hours(1));
  book.End(0, 2);
  EXPECT_EQ(book.furthest_step(), kLast - 1);
}

TEST(MonitoredSimulationTest, SeedDeterminesTheRun) {
  EXPECT_EQ(SimulateMonitoredTraining(1).trace,
            SimulateMonitoredTraining(1).trace);
  EXPECT_NE(SimulateMonitoredTraining(1).trace,
            SimulateMonitoredTraining(3).trace);
  EXPECT_EQ(SimulateSynchronousTraining(1).trace,
            SimulateSynchronousTraining(1).trace);
}

}  // namespace
}  // namespace weft
