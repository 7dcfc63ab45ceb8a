// LockObserver: what stands between a thread and absl::Mutex in a program that
// links //libs/base:observed_locks. SimulatedScheduler is one, so that taking
// a mutex is a point at which a simulated schedule may change hands; every
// other program has none, and pays nothing.
//
// Threads: one observer may serve many threads, if only one of them runs at a
// time.
#ifndef WEFT_LIBS_BASE_LOCK_OBSERVER_H_
#define WEFT_LIBS_BASE_LOCK_OBSERVER_H_

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace weft {

class LockObserver {
 public:
  virtual ~LockObserver() = default;

  // The thread is about to take `mutex`. May let others run.
  virtual void BeforeLock(const void* mutex) = 0;
  // Another thread has it. Returns when it may have been let go.
  virtual void WaitForUnlock(const void* mutex) = 0;
  // The thread has let go of `mutex`, which may be gone when this returns.
  virtual void AfterUnlock(const void* mutex) = 0;

  // The thread has just let go of `mutex` to wait. Returns when the condition
  // variable has been signalled; false if `timeout` passed first.
  virtual bool WaitForSignal(const void* condition, const void* mutex,
                             absl::Duration timeout) = 0;
  virtual void OnSignal(const void* condition, bool all) = 0;

  // The mutex ends. Nobody may wait for it any more.
  virtual void OnDestroy(const void* mutex) = 0;

  // Of this thread; null: it is not observed. A thread has its locks taken
  // from within foreign code, so there is no other way to tell it.
  static LockObserver*& OfThisThread() {
    static thread_local LockObserver* observer = nullptr;
    return observer;
  }
};

// While one lives, this thread goes on until it waits: no observer lets others
// run at points where it need not. For what is the simulation's own: a network
// stopped in the middle would stop everybody.
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

// Holds a mutex, and goes on until it lets go: for a disk or a network that all
// that is simulated share, among them processes that are killed anywhere.
class ABSL_SCOPED_LOCKABLE UninterruptedLock {
 public:
  explicit UninterruptedLock(absl::Mutex* mutex)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : lock_(mutex) {}
  ~UninterruptedLock() ABSL_UNLOCK_FUNCTION() = default;

 private:
  const Uninterrupted whole_;  // first: the lock is let go in it
  const absl::MutexLock lock_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_LOCK_OBSERVER_H_
