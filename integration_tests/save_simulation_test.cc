// Saves on a simulated cluster whose tasks, clients, connections and disk fail
// as a seed says (integration_tests/testing/save_simulation.h).
//
// WEFT_SIMULATION_SEEDS, WEFT_SIMULATION_FIRST_SEED and WEFT_SIMULATION_HUNT as
// for simulation_test.
#include "integration_tests/testing/save_simulation.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_join.h"
#include "libs/base/testing/seeds.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 50;

TEST(SaveSimulationTest, EverySeedKeepsItsCheckpoints) {
  const uint64_t first = FirstSeed();
  const uint64_t count = NumSeeds(kSeeds);
  int saved = 0;
  int failed = 0;
  int looks = 0;
  const bool is_hunting = std::getenv("WEFT_SIMULATION_HUNT") != nullptr;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    // A crash says nothing of its seed.
    if (is_hunting) std::fprintf(stderr, "seed %" PRIu64 "\n", seed);
    const SaveSimulationResult result = SimulateSaves(seed);
    saved += result.num_saved;
    failed += result.num_failed;
    looks += result.num_looks;
    EXPECT_TRUE(result.violations.empty())
        << "seed " << seed << ":\n  "
        << absl::StrJoin(result.violations, "\n  ") << "\nwhat was done:\n  "
        << absl::StrJoin(result.faults, "\n  ");
    if (is_hunting && !result.violations.empty()) return;
  }
  std::printf("%" PRIu64 " seeds: %d saves, %d failed, %d looks at the disk\n",
              count, saved, failed, looks);
  // Faults and saves were both there; of one seed that says nothing.
  if (count < kSeeds) return;
  EXPECT_GT(saved, static_cast<int>(10 * count));
  EXPECT_GT(failed, static_cast<int>(count / 2));
  EXPECT_GT(looks, static_cast<int>(20 * count));
}

TEST(SaveSimulationTest, ASeedIsARun) {
  EXPECT_EQ(SimulateSaves(1).trace, SimulateSaves(1).trace);
  EXPECT_NE(SimulateSaves(1).trace, SimulateSaves(3).trace);
}

}  // namespace
}  // namespace weft
