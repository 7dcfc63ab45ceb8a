// Choices: what a generator of test data decides by; the same for the same
// seed. Not synchronised.
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

  // In [0, count). REQUIRES: count > 0.
  size_t Below(size_t count) { return random_->Next() % count; }
  // With a probability of `percent` in a hundred.
  bool Percent(size_t percent) { return Below(100) < percent; }
  // One of the elements. REQUIRES: there is one.
  template <typename Container>
  const auto& Of(const Container& from) {
    return *(std::begin(from) + Below(std::size(from)));
  }

 private:
  const std::unique_ptr<Random> random_;
};

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_CHOICES_H_
