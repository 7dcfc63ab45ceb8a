// A small training on a simulated cluster whose tasks, clients and connections
// fail as a seed says (integration_tests/testing/training_simulation.h): every
// seed ends right, or with clean errors, and leaves nothing behind.
//
// WEFT_SIMULATION_SEEDS says how many seeds, WEFT_SIMULATION_FIRST_SEED which
// one is the first: tools/nightly.sh runs 1000. One alone is told in full.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "integration_tests/testing/training_simulation.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 50;
constexpr uint64_t kSeedsTwice = 5;

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

TEST(SimulationTest, EverySeedEndsRightOrWithCleanErrors) {
  const uint64_t first = FromEnvironment("WEFT_SIMULATION_FIRST_SEED", 1);
  const uint64_t count = FromEnvironment("WEFT_SIMULATION_SEEDS", kSeeds);
  int succeeded = 0;
  int failed = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const TrainingSimulationResult result = SimulateTraining({.seed = seed});
    succeeded += result.num_succeeded;
    failed += result.num_failed;
    EXPECT_TRUE(result.violations.empty())
        << "seed " << seed << ":\n  "
        << absl::StrJoin(result.violations, "\n  ") << "\nwhat was done:\n  "
        << absl::StrJoin(result.faults, "\n  ");
  }
  std::printf("%llu seeds: %d steps succeeded, %d failed\n",
              static_cast<unsigned long long>(count), succeeded, failed);
  // Faults and training were both there; of one seed that says nothing.
  if (count < kSeeds) return;
  EXPECT_GT(succeeded, static_cast<int>(20 * count));
  EXPECT_GT(failed, static_cast<int>(count));
}

TEST(SimulationTest, TheSameSeedGivesTheSameRun) {
  for (uint64_t seed = 1; seed <= kSeedsTwice; ++seed) {
    const TrainingSimulationResult first = SimulateTraining({.seed = seed});
    const TrainingSimulationResult second = SimulateTraining({.seed = seed});
    EXPECT_EQ(first.trace, second.trace) << "seed " << seed;
    EXPECT_EQ(first.num_succeeded, second.num_succeeded);
    EXPECT_EQ(first.num_failed, second.num_failed);
  }
  EXPECT_NE(SimulateTraining({.seed = 1}).trace,
            SimulateTraining({.seed = 2}).trace);
}

}  // namespace
}  // namespace weft
