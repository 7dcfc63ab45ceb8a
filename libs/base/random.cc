#include "libs/base/random.h"

#include <sys/random.h>

#include <atomic>
#include <cstdlib>

namespace weft {
namespace {

class SystemRandom : public Random {
 public:
  uint64_t Next() override {
    uint64_t value = 0;
    // getentropy fails only on a kernel without getrandom, which Weft does not
    // support.
    if (getentropy(&value, sizeof(value)) != 0) std::abort();
    return value;
  }
};

// SeededRandom is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
// number generators", 2014). Its state is a counter, so it needs no lock.
class SeededRandom : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}

  uint64_t Next() override {
    uint64_t z = state_.fetch_add(kStep, std::memory_order_relaxed) + kStep;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  std::atomic<uint64_t> state_;
};

}  // namespace

std::unique_ptr<Random> NewSystemRandom() {
  return std::make_unique<SystemRandom>();
}

std::unique_ptr<Random> NewSeededRandom(uint64_t seed) {
  return std::make_unique<SeededRandom>(seed);
}

}  // namespace weft
