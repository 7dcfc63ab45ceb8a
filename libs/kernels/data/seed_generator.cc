#include "libs/kernels/data/seed_generator.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {

PhiloxNumbers NumbersOf(SeedPair seeds, int64_t position) {
  // Also defined for a saved state with a negative position.
  const auto passed = static_cast<uint64_t>(position);
  Philox philox(static_cast<uint64_t>(seeds.seed),
                static_cast<uint64_t>(seeds.seed2));
  philox.Skip(passed / 4);
  PhiloxNumbers numbers(philox);
  for (uint64_t i = 0; i < passed % 4; ++i) numbers.Next();
  return numbers;
}

SeedPair SeedPair::From(int64_t seed, int64_t seed2, Random& random) {
  if (seed != 0 || seed2 != 0) return {seed, seed2};
  return {static_cast<int64_t>(random.Next()),
          static_cast<int64_t>(random.Next())};
}

SeedGenerator::SeedGenerator(SeedPair seeds, bool reshuffles)
    : seeds_(seeds), reshuffles_(reshuffles), numbers_(NumbersOf(seeds, 0)) {}

std::string SeedGenerator::DebugString() const {
  return absl::StrCat(reshuffles_ ? "random" : "fixed", " seeds of ",
                      seeds_.seed, ", ", seeds_.seed2);
}

SeedPair SeedGenerator::Next() {
  absl::MutexLock lock(&mutex_);
  position_ += 2;
  if (!reshuffles_) return seeds_;
  SeedPair next;
  next.seed = numbers_.Next();
  next.seed2 = numbers_.Next();
  return next;
}

int64_t SeedGenerator::position() const {
  absl::MutexLock lock(&mutex_);
  return position_;
}

void SeedGenerator::set_position(int64_t position) {
  absl::MutexLock lock(&mutex_);
  position_ = position;
  numbers_ = NumbersOf(seeds_, position);
}

}  // namespace weft
