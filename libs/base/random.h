// Random is the source of unpredictable numbers (ids, incarnations, jitter).
// Random ops do not use it: their streams are determined by graph and op seeds.
#ifndef WEFT_LIBS_BASE_RANDOM_H_
#define WEFT_LIBS_BASE_RANDOM_H_

#include <cstdint>
#include <memory>

namespace weft {

// Random is thread-safe.
class Random {
 public:
  virtual ~Random() = default;
  // Returns a number that is uniformly distributed over all 64-bit numbers.
  virtual uint64_t Next() = 0;
  // Returns a number that is uniformly distributed over all nonzero 64-bit
  // numbers. So 0 can mean "no id".
  uint64_t NextId() {
    uint64_t id = 0;
    while (id == 0) id = Next();
    return id;
  }
};

// Returns a source that uses the operating system's entropy.
std::unique_ptr<Random> NewSystemRandom();

// Returns a source that gives the same numbers for the same seed.
std::unique_ptr<Random> NewSeededRandom(uint64_t seed);

}  // namespace weft

#endif  // WEFT_LIBS_BASE_RANDOM_H_
