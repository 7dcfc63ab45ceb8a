// Tells ThreadSanitizer about the locks of Debian's Abseil. Its libraries are
// compiled without the sanitizer, so locks that are taken inside them are
// invisible, and all accesses that a Mutex guards look like races. The linker
// redirects Weft's calls to these wrappers (--wrap, see BUILD), which announce
// each lock and unlock.
//
// Linked only with --config=tsan. Conditions of Mutex::Await are evaluated
// inside the library by any thread that unlocks, and would still be reported as
// races. So Weft waits with CondVar instead.
#include <cstdint>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

extern "C" {

void __tsan_mutex_pre_lock(void* mutex, unsigned flags);
void __tsan_mutex_post_lock(void* mutex, unsigned flags, int recursion);
int __tsan_mutex_pre_unlock(void* mutex, unsigned flags);
void __tsan_mutex_post_unlock(void* mutex, unsigned flags);
void __tsan_mutex_destroy(void* mutex, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);

}  // extern "C"

namespace {

using absl::Condition;
using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using absl::Time;

constexpr unsigned kWriter = 0x100;  // not static: created on first use
constexpr unsigned kReader = kWriter | (1 << 3);
constexpr unsigned kTry = 1 << 4;
constexpr unsigned kTryFailed = 1 << 5;

void AfterLock(void* mutex, unsigned kind) {
  __tsan_mutex_pre_lock(mutex, kind);
  __tsan_mutex_post_lock(mutex, kind, 0);
}
void BeforeUnlock(void* mutex, unsigned kind) {
  __tsan_mutex_pre_unlock(mutex, kind);
  __tsan_mutex_post_unlock(mutex, kind);
}

// Disables Abseil's deadlock detector, which Debian compiles in. It keeps its
// graph under a lock that cannot be wrapped, and ThreadSanitizer has its own
// detector.
__attribute__((constructor)) void TurnOffDeadlockDetector() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

struct RelockAtEnd {
  void* mutex;
  ~RelockAtEnd() { AfterLock(mutex, kWriter); }
};

}  // namespace

// REAL(name) is the library's function, and WRAP(name) is the wrapper.
#define REAL(name) __real_##name
#define WRAP(name) __wrap_##name

#define WRAP_LOCK(name, kind)      \
  void REAL(name)(Mutex*);         \
  void WRAP(name)(Mutex * mutex) { \
    REAL(name)(mutex);             \
    AfterLock(mutex, kind);        \
  }
#define WRAP_UNLOCK(name, kind)    \
  void REAL(name)(Mutex*);         \
  void WRAP(name)(Mutex * mutex) { \
    BeforeUnlock(mutex, kind);     \
    REAL(name)(mutex);             \
  }
#define WRAP_TRY_LOCK(name, kind)                                            \
  bool REAL(name)(Mutex*);                                                   \
  bool WRAP(name)(Mutex * mutex) {                                           \
    const bool locked = REAL(name)(mutex);                                   \
    __tsan_mutex_pre_lock(mutex, (kind) | kTry);                             \
    __tsan_mutex_post_lock(mutex, (kind) | kTry | (locked ? 0 : kTryFailed), \
                           0);                                               \
    return locked;                                                           \
  }
// A wait releases the mutex and locks it again inside the library, so the
// wrapper announces both.
#define WRAP_WAIT(result, name, mutex, parameters, arguments) \
  result REAL(name) parameters;                               \
  result WRAP(name) parameters {                              \
    BeforeUnlock(mutex, kWriter);                             \
    const RelockAtEnd relock{mutex};                          \
    return REAL(name) arguments;                              \
  }
#define WRAP_LOCK_WHEN(result, name, parameters, arguments) \
  result REAL(name) parameters;                             \
  result WRAP(name) parameters {                            \
    const RelockAtEnd lock{mutex};                          \
    return REAL(name) arguments;                            \
  }

extern "C" {

WRAP_LOCK(_ZN4absl7debian35Mutex4LockEv, kWriter)
WRAP_UNLOCK(_ZN4absl7debian35Mutex6UnlockEv, kWriter)
WRAP_TRY_LOCK(_ZN4absl7debian35Mutex7TryLockEv, kWriter)
WRAP_LOCK(_ZN4absl7debian35Mutex10ReaderLockEv, kReader)
WRAP_UNLOCK(_ZN4absl7debian35Mutex12ReaderUnlockEv, kReader)
WRAP_TRY_LOCK(_ZN4absl7debian35Mutex13ReaderTryLockEv, kReader)

WRAP_WAIT(void, _ZN4absl7debian37CondVar4WaitEPNS0_5MutexE, mutex,
          (CondVar * condition, Mutex* mutex), (condition, mutex))
WRAP_WAIT(bool,
          _ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE,
          mutex, (CondVar * condition, Mutex* mutex, Duration timeout),
          (condition, mutex, timeout))
WRAP_WAIT(bool,
          _ZN4absl7debian37CondVar16WaitWithDeadlineEPNS0_5MutexENS0_4TimeE,
          mutex, (CondVar * condition, Mutex* mutex, Time deadline),
          (condition, mutex, deadline))
WRAP_WAIT(void, _ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE, mutex,
          (Mutex * mutex, const Condition& condition), (mutex, condition))
WRAP_WAIT(
    bool,
    _ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE,
    mutex, (Mutex * mutex, const Condition& condition, Duration timeout),
    (mutex, condition, timeout))
WRAP_WAIT(bool,
          _ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE,
          mutex, (Mutex * mutex, const Condition& condition, Time deadline),
          (mutex, condition, deadline))
WRAP_LOCK_WHEN(void, _ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE,
               (Mutex * mutex, const Condition& condition), (mutex, condition))

void REAL(_ZN4absl7debian35MutexD1Ev)(Mutex*);
void WRAP(_ZN4absl7debian35MutexD1Ev)(Mutex* mutex) {
  __tsan_mutex_destroy(mutex, kWriter);
  REAL(_ZN4absl7debian35MutexD1Ev)(mutex);
}

// The last reference to a Status may be released inside the library, which
// ThreadSanitizer does not see either.
void REAL(_ZN4absl7debian36Status15UnrefNonInlinedEm)(uintptr_t);
void WRAP(_ZN4absl7debian36Status15UnrefNonInlinedEm)(uintptr_t rep) {
  void* const counted = reinterpret_cast<void*>(rep & ~uintptr_t{3});
  __tsan_release(counted);
  __tsan_acquire(counted);
  REAL(_ZN4absl7debian36Status15UnrefNonInlinedEm)(rep);
}

}  // extern "C"
