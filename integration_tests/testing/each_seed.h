// RunEachSeed runs a simulation for one seed after the other, with the seeds of
// libs/base/testing/seeds.h. If WEFT_SIMULATION_HUNT is in the environment, it
// prints each seed and stops at the first seed that finds a violation.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_EACH_SEED_H_
#define WEFT_INTEGRATION_TESTS_TESTING_EACH_SEED_H_

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "absl/strings/str_join.h"
#include "libs/base/testing/seeds.h"

namespace weft {

// Calls `simulate` with each seed. The result has `violations`, which fail the
// test, and `faults`. Returns the number of seeds, which is `otherwise` by
// default, or nullopt if a hunt has found a violation.
template <typename Simulate>
std::optional<uint64_t> RunEachSeed(uint64_t otherwise,
                                    const Simulate& simulate) {
  const uint64_t first = FirstSeed();
  const uint64_t count = NumSeeds(otherwise);
  const bool is_hunting = std::getenv("WEFT_SIMULATION_HUNT") != nullptr;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    // Prints the seed before it runs, because a crash would not print it.
    if (is_hunting) std::fprintf(stderr, "seed %" PRIu64 "\n", seed);
    const auto result = simulate(seed);
    EXPECT_TRUE(result.violations.empty())
        << "seed " << seed << ":\n  "
        << absl::StrJoin(result.violations, "\n  ") << "\nfaults:\n  "
        << absl::StrJoin(result.faults, "\n  ");
    if (is_hunting && !result.violations.empty()) return std::nullopt;
  }
  return count;
}

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_EACH_SEED_H_
