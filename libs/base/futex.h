// Futex: waiting for a 32-bit word to change, without a lock. Linux only.
//
// Waking touches no memory behind the word, so the word may be destroyed by a
// thread that saw the change before the wake: at worst somebody wakes for
// nothing, which every waiter must expect anyway.
#ifndef WEFT_LIBS_BASE_FUTEX_H_
#define WEFT_LIBS_BASE_FUTEX_H_

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

namespace weft {

// Sleeps while `word` is `expected`, at most `timeout`. May return early. False
// where it did not sleep, since the word was another.
bool FutexWait(std::atomic<uint32_t>& word, uint32_t expected,
               absl::Duration timeout = absl::InfiniteDuration());

// Wakes at most `count` threads that wait on `word`.
void FutexWake(std::atomic<uint32_t>& word, int count);

// Tells the processor that this thread spins.
void SpinPause();

}  // namespace weft

#endif  // WEFT_LIBS_BASE_FUTEX_H_
