#include "libs/base/scheduler/thread_event.h"

#include <climits>

#include "libs/base/clock.h"
#include "libs/base/scheduler/futex.h"

namespace weft {
namespace {

// Spinning takes about 2 us, the cost of a sleep and its wake-up.
constexpr int kSpins = 50;

}  // namespace

void ThreadEvent::Set() {
  // A waiting thread may destroy this event directly after the exchange.
  // futex.h explains why the wake is still safe.
  std::atomic<uint32_t>& state = state_;
  if (state.exchange(kSet, std::memory_order_acq_rel) == kWaitedFor) {
    FutexWake(state, INT_MAX);
  }
}

bool ThreadEvent::WaitUntil(absl::Time deadline) {
  for (int i = 0; i < kSpins && !IsSet(); ++i) SpinPause();
  while (!IsSet()) {
    absl::Duration left = absl::InfiniteDuration();
    if (deadline != absl::InfiniteFuture()) left = deadline - clock_.Now();
    if (left <= absl::ZeroDuration()) return false;
    uint32_t expected = kUnset;
    state_.compare_exchange_strong(expected, kWaitedFor,
                                   std::memory_order_acq_rel);
    FutexWait(state_, kWaitedFor, left);
  }
  return true;
}

}  // namespace weft
