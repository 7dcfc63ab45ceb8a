#include "libs/base/scheduler/futex.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace weft {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

bool FutexWait(std::atomic<uint32_t>& word, uint32_t expected,
               absl::Duration timeout) {
  timespec relative = absl::ToTimespec(timeout);
  const bool bounded = timeout < absl::Hours(24 * 365);
  const int64_t result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected,
                                 bounded ? &relative : nullptr, nullptr, 0);
  return result == 0 || errno != EAGAIN;
}

void FutexWake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void SpinPause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace weft
