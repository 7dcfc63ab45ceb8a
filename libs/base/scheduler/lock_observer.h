// LockObserver is notified of each operation on an absl::Mutex in a program
// that links //libs/base:observed_locks. SimulatedScheduler is a LockObserver,
// so that its simulated schedule may switch threads at each lock. Programs that
// do not link this library have no observers and no extra cost.
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

  // Is called before the thread locks `mutex`. May run other threads.
  virtual void BeforeLock(const void* mutex) = 0;
  // Is called when another thread holds `mutex`. Returns when the mutex may
  // have been released.
  virtual void WaitForUnlock(const void* mutex) = 0;
  // Is called after the thread has released `mutex`, which may be destroyed
  // when this returns.
  virtual void AfterUnlock(const void* mutex) = 0;

  // Is called when the thread has just released `mutex` in order to wait for
  // `condition`. Returns true when the condition variable has been signalled,
  // or false if `timeout` passed first.
  virtual bool WaitForSignal(const void* condition, const void* mutex,
                             absl::Duration timeout) = 0;
  virtual void OnSignal(const void* condition, bool all) = 0;

  // Is called when the mutex is destroyed. No thread may wait for the mutex any
  // more.
  virtual void OnDestroy(const void* mutex) = 0;

  // Returns the observer of this thread, or null if the thread is not observed.
  // The observer is a thread-local, because code of other libraries also locks
  // mutexes and cannot pass an observer.
  static LockObserver*& OfThisThread() {
    static thread_local LockObserver* observer = nullptr;
    return observer;
  }
};

// While an Uninterrupted object lives, the observer does not switch to another
// thread until this thread waits. It is for the simulation's own objects: if a
// simulated network were interrupted in the middle of an operation, all threads
// would stop.
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

// UninterruptedLock locks a mutex and prevents interruptions until it is
// released. It is for a simulated disk or network that all simulated processes
// share, because a process may be killed at any point.
class ABSL_SCOPED_LOCKABLE UninterruptedLock {
 public:
  explicit UninterruptedLock(absl::Mutex* mutex)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : lock_(mutex) {}
  ~UninterruptedLock() ABSL_UNLOCK_FUNCTION() = default;

 private:
  // Declared first and so destroyed last: the lock must be released while
  // interruptions are still prevented.
  const Uninterrupted whole_;
  const absl::MutexLock lock_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_LOCK_OBSERVER_H_
