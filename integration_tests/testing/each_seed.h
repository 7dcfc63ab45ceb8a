// RunEachSeed runs a simulation for one seed after the other. The seeds are
// those of libs/base/testing/seeds.h; with WEFT_SIMULATION_HUNT in the
// environment it prints each seed and stops at the first that finds a
// violation.
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

// `simulate` takes a seed and returns a result with `violations`, which fail
// the test, and `faults`. Returns the number of seeds, `otherwise` by default;
// none if a hunt has ended.
template <typename Simulate>
std::optional<uint64_t> RunEachSeed(uint64_t otherwise,
                                    const Simulate& simulate) {
  const uint64_t first = FirstSeed();
  const uint64_t count = NumSeeds(otherwise);
  const bool is_hunting = std::getenv("WEFT_SIMULATION_HUNT") != nullptr;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    // A crash would not print its seed.
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
