// Trainings by MonitoredTrainingSession on a simulated cluster whose tasks,
// programs, connections and disk fail as a seed says
// (integration_tests/testing/monitored_simulation.h).
//
// WEFT_SIMULATION_SEEDS, WEFT_SIMULATION_FIRST_SEED and WEFT_SIMULATION_HUNT as
// for simulation_test.
#include "integration_tests/testing/monitored_simulation.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>

#include "integration_tests/testing/each_seed.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 40;

TEST(MonitoredSimulationTest, EverySeedComesToItsEnd) {
  int programs = 0;
  int sessions = 0;
  int64_t steps = 0;
  int looks = 0;
  const auto ran = RunEachSeed(kSeeds, [&](uint64_t seed) {
    MonitoredSimulationResult result = SimulateMonitoredTraining(seed);
    programs += result.num_programs;
    sessions += result.num_sessions;
    steps += result.num_steps;
    looks += result.num_looks;
    return result;
  });
  if (!ran.has_value()) return;
  const uint64_t count = *ran;
  std::printf("%" PRIu64 " seeds: %d programs, %d sessions, %" PRId64
              " steps, %d looks at the disk\n",
              count, programs, sessions, steps, looks);
  // Faults and steps were both there; of one seed that says nothing. Programs
  // end by what kills them, or where they lose more than they may.
  if (count < kSeeds) return;
  EXPECT_GT(programs, static_cast<int>(2 * count));
  EXPECT_GT(sessions, programs + static_cast<int>(count / 2));
  EXPECT_GT(steps, static_cast<int64_t>(50 * count));
  EXPECT_GT(looks, static_cast<int>(20 * count));
}

TEST(MonitoredSimulationTest, ASeedIsARun) {
  EXPECT_EQ(SimulateMonitoredTraining(1).trace,
            SimulateMonitoredTraining(1).trace);
  EXPECT_NE(SimulateMonitoredTraining(1).trace,
            SimulateMonitoredTraining(3).trace);
}

}  // namespace
}  // namespace weft
