// Mutation test: checks that the seeds of simulation_test detect each bug of a
// list of mutants (integration_tests/testing/mutants.h). Most mutants are
// detected by the first seeds. Mutants need some dozens of seeds if they are
// only visible when a value arrives after its step, while the next step waits.
// The search starts at the seed that last detected the mutant, but any change
// of the code leads to other schedules.
#include "integration_tests/testing/mutants.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "integration_tests/testing/training_simulation.h"

namespace weft {
namespace {

constexpr uint64_t kSeeds = 1000;

class MutantsTest : public ::testing::TestWithParam<Mutant> {};

TEST_P(MutantsTest, MutantIsDetected) {
  const uint64_t first = GetParam().first_seed;
  for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
    const TrainingSimulationResult result =
        SimulateTraining({.seed = seed, .plant = GetParam().plant});
    if (result.violations.empty()) continue;
    std::printf("%s: seed %llu: %s\n", GetParam().name.c_str(),
                static_cast<unsigned long long>(seed),
                result.violations[0].c_str());
    return;
  }
  FAIL() << "no seed of " << kSeeds << " finds " << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(All, MutantsTest, ::testing::ValuesIn(Mutants()),
                         [](const auto& bug) { return bug.param.name; });

}  // namespace
}  // namespace weft
