// StopSignals: SIGINT and SIGTERM as something that a program can wait for, or
// look at between two things that it does.
//
// The first one asks the program to leave; another one ends it, whatever it is
// doing, as if nobody had asked for signals. What comes within a second of the
// first is the same wish told twice: a terminal sends SIGINT to all processes
// in front of it, and one of them may pass it on to another.
//
// Signals that are sent to the process, that is; what is raised in one thread
// is seen by HasCome there.
//
// Threads: any, but for the constructor and the destructor. A thread of its own
// takes the signals.
#ifndef WEFT_LIBS_BASE_STOP_SIGNALS_H_
#define WEFT_LIBS_BASE_STOP_SIGNALS_H_

#include <csignal>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace weft {

class StopSignals {
 public:
  // To be made before any other thread is started: threads inherit that they
  // leave these signals alone. `same_wish`: for so long another signal says no
  // more than the first. A process that can open no more files, or start no
  // more threads, is ended by signals, as if this were not there.
  explicit StopSignals(absl::Duration same_wish = absl::Seconds(1));
  // Signals that nobody has taken are left to the next that is made.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Returns when the first has come, at once where it has come before.
  void Wait() ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether one has come.
  bool HasCome() const ABSL_LOCKS_EXCLUDED(mutex_);
  // As if a signal had come.
  void Raise() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What the thread does.
  void Take();
  // Until a signal is there or Wake was called; at most so long.
  void WaitForAny(absl::Duration longest) const;
  void DrainSignals() const;
  void Come() ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsEnding() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Has the thread look at what this says.
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

#endif  // WEFT_LIBS_BASE_STOP_SIGNALS_H_
