// The seeds of simulation tests. tools/nightly.sh and tools/mutants override
// them through environment variables.
#ifndef WEFT_LIBS_BASE_TESTING_SEEDS_H_
#define WEFT_LIBS_BASE_TESTING_SEEDS_H_

#include <cstdint>
#include <cstdlib>

#include "absl/strings/numbers.h"

namespace weft {

inline uint64_t SeedsFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  uint64_t value = 0;
  return text != nullptr && absl::SimpleAtoi(text, &value) ? value : otherwise;
}

inline uint64_t FirstSeed() {
  return SeedsFromEnvironment("WEFT_SIMULATION_FIRST_SEED", 1);
}

// Returns the number of seeds that the environment sets, or `otherwise` if it
// sets none.
inline uint64_t NumSeeds(uint64_t otherwise) {
  return SeedsFromEnvironment("WEFT_SIMULATION_SEEDS", otherwise);
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TESTING_SEEDS_H_
