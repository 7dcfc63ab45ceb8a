// Philox generates TensorFlow's streams of random bits, so that a seed gives
// the same values in Weft and TensorFlow.
//
// The generator is Philox 4x32-10 (Salmon et al., "Parallel Random Numbers: As
// Easy as 1, 2, 3", 2011); how seeds become keys and how many numbers an op
// reserves follow TensorFlow (core/lib/random/philox_random.h,
// core/util/guarded_philox_random.h).
#ifndef WEFT_LIBS_KERNELS_COMMON_PHILOX_H_
#define WEFT_LIBS_KERNELS_COMMON_PHILOX_H_

#include <array>
#include <cstdint>

#include "absl/synchronization/mutex.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// Philox returns four 32-bit random numbers at a time. It is a value and not
// synchronized.
class Philox {
 public:
  using Sample = std::array<uint32_t, 4>;

  Philox(uint64_t seed, uint64_t seed2)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
        counter_{0, 0, static_cast<uint32_t>(seed2),
                 static_cast<uint32_t>(seed2 >> 32)} {}

  // Begins with the given key and counter, whose lowest numbers come first.
  Philox(const std::array<uint32_t, 2>& key, const Sample& counter)
      : key_(key), counter_(counter) {}

  // Returns the generator of a stateless op. Such an op scrambles its seeds
  // first (core/kernels/stateless_random_ops.cc).
  static Philox OfStatelessSeed(uint64_t seed, uint64_t seed2) {
    Philox scrambler(0x02461e293ec8f720u, seed2);
    scrambler.counter_[0] = static_cast<uint32_t>(seed);
    scrambler.counter_[1] = static_cast<uint32_t>(seed >> 32);
    const Sample mixed = scrambler.Next();
    return Philox(mixed[0] | static_cast<uint64_t>(mixed[1]) << 32,
                  mixed[2] | static_cast<uint64_t>(mixed[3]) << 32);
  }

  // Skips `samples` calls of Next.
  void Skip(uint64_t samples) {
    const uint64_t low = Low() + samples;
    if (low < samples && ++counter_[2] == 0) ++counter_[3];
    counter_[0] = static_cast<uint32_t>(low);
    counter_[1] = static_cast<uint32_t>(low >> 32);
  }

  Sample Next() {
    Sample state = counter_;
    std::array<uint32_t, 2> key = key_;
    for (int round = 0; round < 10; ++round) {
      state = Round(state, key);
      key[0] += 0x9E3779B9u;
      key[1] += 0xBB67AE85u;
    }
    Skip(1);
    return state;
  }

  // The key and the counter of the next sample, lowest numbers first.
  const std::array<uint32_t, 2>& key() const { return key_; }
  const Sample& counter() const { return counter_; }

 private:
  uint64_t Low() const {
    return counter_[0] | static_cast<uint64_t>(counter_[1]) << 32;
  }

  static Sample Round(const Sample& x, const std::array<uint32_t, 2>& key) {
    const uint64_t a = uint64_t{0xD2511F53u} * x[0];
    const uint64_t b = uint64_t{0xCD9E8D57u} * x[2];
    return {static_cast<uint32_t>(b >> 32) ^ x[1] ^ key[0],
            static_cast<uint32_t>(b),
            static_cast<uint32_t>(a >> 32) ^ x[3] ^ key[1],
            static_cast<uint32_t>(a)};
  }

  std::array<uint32_t, 2> key_;
  Sample counter_;
};

// PhiloxNumbers returns the numbers of a Philox one by one.
class PhiloxNumbers {
 public:
  explicit PhiloxNumbers(const Philox& philox) : philox_(philox) {}

  uint32_t Next() {
    if (used_ == sample_.size()) {
      sample_ = philox_.Next();
      used_ = 0;
    }
    return sample_[used_++];
  }

  // Returns a number from 0 to `count` - 1: the next number modulo `count`, as
  // in TensorFlow. For a count above 2^32, for which TensorFlow has no rule,
  // uses the next two numbers, the low one first. REQUIRES: count > 0.
  uint64_t NextBelow(uint64_t count) {
    const uint64_t low = Next();
    if (count <= kMaxOfOne) return low % count;
    return (low | uint64_t{Next()} << 32) % count;
  }
  // Returns how many random numbers a shuffle of `count` elements takes, which
  // calls NextBelow with `count`, `count` - 1, ..., 2.
  static uint64_t NumbersToShuffle(uint64_t count) {
    if (count <= 1) return 0;
    return count - 1 + (count > kMaxOfOne ? count - kMaxOfOne : 0);
  }

 private:
  static constexpr uint64_t kMaxOfOne = uint64_t{1} << 32;

  Philox philox_;
  Philox::Sample sample_ = {};
  size_t used_ = sample_.size();
};

// PhiloxStream is the stream of random numbers of one op. It continues from
// step to step. Thread-safe.
class PhiloxStream {
 public:
  // Seeded by attrs seed and seed2, or by the device's Random if both are 0.
  explicit PhiloxStream(const OpKernelConstruction& construction);

  // Returns a generator for the next `samples` samples of four numbers,
  // reserved for this caller. For a cancelled step, reserves none and returns
  // its cause.
  absl::StatusOr<Philox> Reserve(const Cancellation& step, uint64_t samples) {
    absl::MutexLock lock(&mutex_);
    if (step.IsCancelled()) return step.status();
    return ReserveLocked(samples);
  }
  // Like the other Reserve, for use outside of steps.
  Philox Reserve(uint64_t samples) {
    absl::MutexLock lock(&mutex_);
    return ReserveLocked(samples);
  }

 private:
  Philox ReserveLocked(uint64_t samples) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const Philox reserved = philox_;
    philox_.Skip(samples);
    return reserved;
  }

  absl::Mutex mutex_;
  Philox philox_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_PHILOX_H_
