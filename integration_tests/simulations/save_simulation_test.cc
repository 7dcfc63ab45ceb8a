// Simulates saves on a cluster. A seed chooses how tasks, clients, connections
// and the disk fail (integration_tests/testing/save_simulation.h).
//
// WEFT_SIMULATION_SEEDS, WEFT_SIMULATION_FIRST_SEED and WEFT_SIMULATION_HUNT
// work as for simulation_test.
#include "integration_tests/testing/save_simulation.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>

#include "integration_tests/testing/each_seed.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 16;

TEST(SaveSimulationTest, EverySeedKeepsItsCheckpoints) {
  int saved = 0;
  int failed = 0;
  int looks = 0;
  const auto ran = RunEachSeed(kSeeds, [&](uint64_t seed) {
    SaveSimulationResult result = SimulateSaves(seed);
    saved += result.num_saved;
    failed += result.num_failed;
    looks += result.num_looks;
    return result;
  });
  if (!ran.has_value()) return;
  const uint64_t count = *ran;
  std::printf("%" PRIu64 " seeds: %d saves, %d failed, %d looks at the disk\n",
              count, saved, failed, looks);
  // Checks that there were enough faults and saves over all seeds, because a
  // single seed may have few.
  if (count < kSeeds) return;
  EXPECT_GT(saved, static_cast<int>(10 * count));
  EXPECT_GT(failed, static_cast<int>(count / 2));
  EXPECT_GT(looks, static_cast<int>(20 * count));
}

TEST(SaveSimulationTest, SeedDeterminesTheRun) {
  EXPECT_EQ(SimulateSaves(1).trace, SimulateSaves(1).trace);
  EXPECT_NE(SimulateSaves(1).trace, SimulateSaves(3).trace);
}

}  // namespace
}  // namespace weft
