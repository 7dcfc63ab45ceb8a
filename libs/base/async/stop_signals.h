// StopSignals lets a program wait for SIGINT and SIGTERM, or poll for them.
//
// The first signal asks the program to stop. A second signal kills the program
// by its default action. A signal within a second of the first counts as the
// same request: a terminal sends SIGINT to all foreground processes, and one of
// these may forward it to another.
//
// StopSignals handles signals that are sent to the process. A signal raised in
// one thread is only visible to HasCome in that thread.
//
// Threads: all methods may be called from any thread, except for the
// constructor and the destructor. A dedicated thread takes the signals.
#ifndef WEFT_LIBS_BASE_ASYNC_STOP_SIGNALS_H_
#define WEFT_LIBS_BASE_ASYNC_STOP_SIGNALS_H_

#include <csignal>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace weft {

class StopSignals {
 public:
  // Must be created before any other thread is started, because threads inherit
  // the blocked signal mask. Signals within `same_wish` of the first signal are
  // ignored. If the process cannot open more files or start more threads,
  // signals end the process as if StopSignals did not exist.
  explicit StopSignals(absl::Duration same_wish = absl::Seconds(1));
  // Signals that were not taken stay pending for the next StopSignals.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns when the first signal has arrived, at once if it already has.
  void Wait() ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns whether a signal has arrived.
  bool HasCome() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Acts as if a signal had arrived.
  void Raise() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Runs on the dedicated thread and takes the signals.
  void Take();
  // Waits until a signal is pending or Wake was called, for at most `longest`.
  void WaitForAny(absl::Duration longest) const;
  void DrainSignals() const;
  void Come() ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsEnding() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Makes the thread check the state again.
  void Wake() const;

  const absl::Duration same_wish_;
  sigset_t signals_;
  int signal_file_ = -1;  // readable while a signal is pending
  int wake_file_ = -1;    // readable after Wake, until the thread has read it
  mutable absl::Mutex mutex_;
  bool has_come_ ABSL_GUARDED_BY(mutex_) = false;
  bool is_ending_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ASYNC_STOP_SIGNALS_H_
