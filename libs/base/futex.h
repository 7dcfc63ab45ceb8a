// Futex: waiting for a 32-bit word to change, without a lock. Linux only.
//
// Waking touches no memory behind the word, so the word may be destroyed by a
// thread that saw the change before the wake: at worst somebody wakes for
// nothing, which every waiter must expect anyway.
#ifndef WEFT_LIBS_BASE_FUTEX_H_
#define WEFT_LIBS_BASE_FUTEX_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"
#include "libs/base/clock.h"

namespace weft {

// Sleeps while `word` is `expected`, at most `timeout`. May return early. False
// where it did not sleep, since the word was another.
bool FutexWait(std::atomic<uint32_t>& word, uint32_t expected,
               absl::Duration timeout = absl::InfiniteDuration());

// Wakes at most `count` threads that wait on `word`.
void FutexWake(std::atomic<uint32_t>& word, int count);

// Tells the processor that this thread spins.
void SpinPause();

// Spins until `is_over()`, at most about `time`, and lets other threads have
// the processor meanwhile if they want it. Whether it was over in time.
template <typename Predicate>
bool SpinFor(const Clock& clock, absl::Duration time,
             const Predicate& is_over) {
  // About a microsecond, in which nobody is asked; and how often that is done
  // at most, whatever the clock says.
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

#endif  // WEFT_LIBS_BASE_FUTEX_H_
