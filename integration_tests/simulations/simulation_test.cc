// Simulates a small training on a cluster. A seed chooses how tasks, clients
// and connections fail (integration_tests/testing/training_simulation.h). For
// every seed, steps must end with the right values or with acceptable errors,
// and no resources may be left.
//
// WEFT_SIMULATION_SEEDS sets the number of seeds, and
// WEFT_SIMULATION_FIRST_SEED the first seed. tools/nightly.sh runs 1000 seeds.
// If only one seed runs, all its events are logged. WEFT_SIMULATION_HUNT prints
// each seed and stops at the first one with a violation; tools/mutants uses it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "integration_tests/testing/each_seed.h"
#include "integration_tests/testing/training_simulation.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 20;
constexpr uint64_t kSeedsOnGpus = 16;
constexpr uint64_t kSeedsTwice = 5;

void RunSeeds(uint64_t seeds, bool on_gpus) {
  int succeeded = 0;
  int failed = 0;
  const auto ran = RunEachSeed(seeds, [&](uint64_t seed) {
    TrainingSimulationResult result =
        SimulateTraining({.seed = seed, .on_gpus = on_gpus});
    succeeded += result.num_succeeded;
    failed += result.num_failed;
    return result;
  });
  if (!ran.has_value()) return;
  const uint64_t count = *ran;
  std::printf("%llu seeds: %d steps succeeded, %d failed\n",
              static_cast<unsigned long long>(count), succeeded, failed);
  // Checks that there were enough faults and steps over all seeds, because a
  // single seed may have few.
  if (count < seeds) return;
  EXPECT_GT(succeeded, static_cast<int>(18 * count));
  EXPECT_GT(failed, static_cast<int>(count));
}

TEST(SimulationTest, EverySeedEndsRightOrWithCleanErrors) {
  RunSeeds(kSeeds, /*on_gpus=*/false);
}

// The variables are on GPUs with their own memory, and the seed delays copies
// to and from the GPUs.
TEST(SimulationTest, EverySeedOnGpusEndsRightOrWithCleanErrors) {
  RunSeeds(kSeedsOnGpus, /*on_gpus=*/true);
}

std::string TracesOfThisProcess() {
  std::string traces;
  for (uint64_t seed = 1; seed <= kSeedsTwice; ++seed) {
    const TrainingSimulationResult result = SimulateTraining({.seed = seed});
    absl::StrAppend(&traces, "trace ", seed, " ", result.trace, " ",
                    result.num_succeeded, " ", result.num_failed, "\n");
  }
  return traces;
}

// A run must not depend on anything that differs between processes, such as
// addresses or hash seeds.
TEST(SimulationTest, RunsAreIdenticalAcrossProcesses) {
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  const std::string command = absl::StrCat(
      "'", self, "' --gtest_also_run_disabled_tests ",
      "--gtest_output= --gtest_filter=SimulationTest.DISABLED_PrintsTraces");
  FILE* other = popen(command.c_str(), "r");
  ASSERT_NE(other, nullptr);
  std::string traces;
  char line[256];
  while (std::fgets(line, sizeof(line), other) != nullptr) {
    if (absl::StartsWith(line, "trace ")) traces += line;
  }
  EXPECT_EQ(pclose(other), 0);
  EXPECT_EQ(traces, TracesOfThisProcess());
}

// Prints the traces of this process. RunsAreIdenticalAcrossProcesses runs it in
// child processes.
TEST(SimulationTest, DISABLED_PrintsTraces) {
  std::printf("\n%s", TracesOfThisProcess().c_str());
}

TEST(SimulationTest, SeedsLeadToDifferentRuns) {
  EXPECT_NE(SimulateTraining({.seed = 1}).trace,
            SimulateTraining({.seed = 2}).trace);
}

}  // namespace
}  // namespace weft
