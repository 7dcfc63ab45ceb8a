// Futex waits for a 32-bit word to change, without a lock. Linux only.
//
// FutexWake does not access the memory of the word. So after a thread has
// changed the word, another thread that sees the change may destroy the word
// even before the wake. At worst an unrelated waiter wakes up, which every
// waiter must tolerate.
#ifndef WEFT_LIBS_BASE_SCHEDULER_FUTEX_H_
#define WEFT_LIBS_BASE_SCHEDULER_FUTEX_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "libs/base/clock.h"

namespace weft {

// Sleeps while `word` is `expected`, for at most `timeout`. May return early.
// Returns false if it did not sleep because the word had another value.
bool FutexWait(std::atomic<uint32_t>& word, uint32_t expected,
               absl::Duration timeout = absl::InfiniteDuration());

// Wakes at most `count` threads that wait on `word`.
void FutexWake(std::atomic<uint32_t>& word, int count);

// Hints to the processor that this thread spins in a loop.
void SpinPause();

// Spins until `is_over()` returns true, for at most about `time`, and yields to
// other threads. Returns whether `is_over()` was true in time.
template <typename Predicate>
bool SpinFor(const Clock& clock, absl::Duration time,
             const Predicate& is_over) {
  // The number of spins, about a microsecond, between two readings of the
  // clock, and the maximum number of such rounds if the clock does not advance.
  constexpr int kSpins = 24, kMostRounds = 500;
  const absl::Time end = clock.Now() + time;
  for (int round = 0; round < kMostRounds; ++round) {
    for (int i = 0; i < kSpins; ++i) {
      if (is_over()) return true;
      SpinPause();
    }
    if (clock.Now() >= end) break;
    sched_yield();
  }
  return is_over();
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_FUTEX_H_
