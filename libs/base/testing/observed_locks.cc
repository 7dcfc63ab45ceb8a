// Wrappers that call the LockObserver of a thread for each operation on
// absl::Mutex and absl::CondVar. Abseil is installed as Debian's archives, so
// its sources cannot be changed. Instead the linker replaces every call by
// these wrappers (--wrap, see BUILD), including calls in Abseil's own code.
//
// An observed thread never sleeps in Abseil. It tries a lock, and if another
// thread holds the lock, it asks its observer to let that thread run.
// Mutex::Await and similar functions are not wrapped, because Weft waits with
// CondVar.
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/lock_observer.h"

namespace {

using absl::CondVar;
using absl::Duration;
using absl::Mutex;
using weft::LockObserver;

}  // namespace

// REAL(name) is the library's function, and WRAP(name) is the wrapper.
#define REAL(name) __real_##name
#define WRAP(name) __wrap_##name

#define WRAP_LOCK(name, try_name)                          \
  void REAL(name)(Mutex*);                                 \
  bool REAL(try_name)(Mutex*);                             \
  void WRAP(name)(Mutex * mutex) {                         \
    LockObserver* observer = LockObserver::OfThisThread(); \
    if (observer == nullptr) return REAL(name)(mutex);     \
    observer->BeforeLock(mutex);                           \
    while (!REAL(try_name)(mutex)) {                       \
      observer->WaitForUnlock(mutex);                      \
    }                                                      \
  }
#define WRAP_UNLOCK(name)                                  \
  void REAL(name)(Mutex*);                                 \
  void WRAP(name)(Mutex * mutex) {                         \
    REAL(name)(mutex);                                     \
    LockObserver* observer = LockObserver::OfThisThread(); \
    if (observer != nullptr) observer->AfterUnlock(mutex); \
  }
#define WRAP_SIGNAL(name, all)                                   \
  void REAL(name)(CondVar*);                                     \
  void WRAP(name)(CondVar * condition) {                         \
    REAL(name)(condition);                                       \
    LockObserver* observer = LockObserver::OfThisThread();       \
    if (observer != nullptr) observer->OnSignal(condition, all); \
  }

extern "C" {

WRAP_LOCK(_ZN4absl7debian35Mutex4LockEv, _ZN4absl7debian35Mutex7TryLockEv)
WRAP_LOCK(_ZN4absl7debian35Mutex10ReaderLockEv,
          _ZN4absl7debian35Mutex13ReaderTryLockEv)
WRAP_UNLOCK(_ZN4absl7debian35Mutex6UnlockEv)
WRAP_UNLOCK(_ZN4absl7debian35Mutex12ReaderUnlockEv)
WRAP_SIGNAL(_ZN4absl7debian37CondVar6SignalEv, false)
WRAP_SIGNAL(_ZN4absl7debian37CondVar9SignalAllEv, true)

bool WRAP(_ZN4absl7debian35Mutex7TryLockEv)(Mutex* mutex) {
  LockObserver* observer = LockObserver::OfThisThread();
  if (observer != nullptr) observer->BeforeLock(mutex);
  return REAL(_ZN4absl7debian35Mutex7TryLockEv)(mutex);
}
bool WRAP(_ZN4absl7debian35Mutex13ReaderTryLockEv)(Mutex* mutex) {
  LockObserver* observer = LockObserver::OfThisThread();
  if (observer != nullptr) observer->BeforeLock(mutex);
  return REAL(_ZN4absl7debian35Mutex13ReaderTryLockEv)(mutex);
}

bool REAL(_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE)(
    CondVar*, Mutex*, Duration);
// The result is true on timeout, as in Abseil.
bool WRAP(_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE)(
    CondVar* condition, Mutex* mutex,
    Duration timeout) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  LockObserver* observer = LockObserver::OfThisThread();
  if (observer == nullptr) {
    return REAL(
        _ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE)(
        condition, mutex, timeout);
  }
  // No other thread runs between Unlock and WaitForSignal, so no signal is
  // missed.
  REAL(_ZN4absl7debian35Mutex6UnlockEv)(mutex);
  const bool signalled = observer->WaitForSignal(condition, mutex, timeout);
  mutex->Lock();
  return !signalled;
}

void REAL(_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE)(CondVar*, Mutex*);
void WRAP(_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE)(CondVar* condition,
                                                      Mutex* mutex) {
  LockObserver* observer = LockObserver::OfThisThread();
  if (observer == nullptr) {
    return REAL(_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE)(condition, mutex);
  }
  condition->WaitWithTimeout(mutex, absl::InfiniteDuration());
}

void REAL(_ZN4absl7debian35MutexD1Ev)(Mutex*);
void WRAP(_ZN4absl7debian35MutexD1Ev)(Mutex* mutex) {
  LockObserver* observer = LockObserver::OfThisThread();
  if (observer != nullptr) observer->OnDestroy(mutex);
  REAL(_ZN4absl7debian35MutexD1Ev)(mutex);
}

}  // extern "C"
