// Choices makes the random decisions of a generator of test data. The decisions
// depend only on its seed. Not thread-safe.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_CHOICES_H_
#define WEFT_INTEGRATION_TESTS_TESTING_CHOICES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "libs/base/random.h"

namespace weft {

class Choices {
 public:
  explicit Choices(uint64_t seed) : random_(NewSeededRandom(seed)) {}

  // Returns a number in [0, count). REQUIRES: count > 0.
  size_t Below(size_t count) { return random_->Next() % count; }
  // Returns true with a probability of `percent` / 100.
  bool Percent(size_t percent) { return Below(100) < percent; }
  // Returns a random element of `from`. REQUIRES: `from` is not empty.
  template <typename Container>
  const auto& Of(const Container& from) {
    return *(std::begin(from) + Below(std::size(from)));
  }

 private:
  const std::unique_ptr<Random> random_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_CHOICES_H_
