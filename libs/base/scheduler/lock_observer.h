// LockObserver is notified of each operation on an absl::Mutex in a program
// that links //libs/base:observed_locks. SimulatedScheduler is one, so that
// each lock is a point at which a simulated schedule may switch threads. Other
// programs have no observer and pay nothing.
//
// Threads: one observer may serve many threads if only one of them runs at a
// time.
#ifndef WEFT_LIBS_BASE_SCHEDULER_LOCK_OBSERVER_H_
#define WEFT_LIBS_BASE_SCHEDULER_LOCK_OBSERVER_H_

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace weft {

class LockObserver {
 public:
  virtual ~LockObserver() = default;

  // The thread is about to lock `mutex`. May run other threads.
  virtual void BeforeLock(const void* mutex) = 0;
  // Another thread holds `mutex`. Returns when it may have been released.
  virtual void WaitForUnlock(const void* mutex) = 0;
  // The thread has released `mutex`, which may be destroyed when this returns.
  virtual void AfterUnlock(const void* mutex) = 0;

  // The thread has just released `mutex` in order to wait. Returns when the
  // condition variable has been signalled; false if `timeout` passed first.
  virtual bool WaitForSignal(const void* condition, const void* mutex,
                             absl::Duration timeout) = 0;
  virtual void OnSignal(const void* condition, bool all) = 0;

  // The mutex is destroyed. No thread may wait for it any more.
  virtual void OnDestroy(const void* mutex) = 0;

  // The observer of this thread; null if it is not observed. A thread-local,
  // because mutexes are also locked by code of other libraries, which cannot
  // pass it.
  static LockObserver*& OfThisThread() {
    static thread_local LockObserver* observer = nullptr;
    return observer;
  }
};

// While an Uninterrupted lives, the observer does not switch away from this
// thread until it waits. For the simulation's own objects: a network
// interrupted in the middle of an operation would stop all threads.
class Uninterrupted {
 public:
  Uninterrupted() { Begin(); }
  ~Uninterrupted() { End(); }
  Uninterrupted(const Uninterrupted&) = delete;
  Uninterrupted& operator=(const Uninterrupted&) = delete;

  static void Begin() { ++Depth(); }
  static void End() { --Depth(); }
  static bool IsThisThread() { return Depth() > 0; }

 private:
  static int& Depth() {
    static thread_local int depth = 0;
    return depth;
  }
};

// Holds a mutex without interruption until it is released: for a simulated disk
// or network shared by all simulated processes, which may be killed at any
// point.
class ABSL_SCOPED_LOCKABLE UninterruptedLock {
 public:
  explicit UninterruptedLock(absl::Mutex* mutex)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : lock_(mutex) {}
  ~UninterruptedLock() ABSL_UNLOCK_FUNCTION() = default;

 private:
  // Declared first, so that the lock is released within it.
  const Uninterrupted whole_;
  const absl::MutexLock lock_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_LOCK_OBSERVER_H_
