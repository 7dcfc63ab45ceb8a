// Coordinator stops a group of threads together, like tf.train.Coordinator.
//
//   train::Coordinator coordinator;
//   coordinator.Start("reader", [&]() -> absl::Status {
//     while (!coordinator.ShouldStop()) RETURN_IF_ERROR(ReadSome());
//     return absl::OkStatus();
//   });
//   while (!coordinator.ShouldStop()) Train();
//   coordinator.RequestStop();
//   RETURN_IF_ERROR(coordinator.Join());
//
// The first error of a thread requests a stop of all threads and is returned by
// Join. Codes in clean_stop_codes, such as the end of the input (OUT_OF_RANGE),
// only request the stop.
//
// Threads: all methods may be called from any thread, also from started
// threads, except Join and the destructor, which wait for the started threads.
#ifndef WEFT_LIBS_TRAIN_SESSIONS_COORDINATOR_H_
#define WEFT_LIBS_TRAIN_SESSIONS_COORDINATOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/monotone_clock.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft::train {

struct CoordinatorOptions {
  // Error codes that request a stop without counting as an error.
  std::vector<absl::StatusCode> clean_stop_codes = {
      absl::StatusCode::kOutOfRange};
  // Whether the program was asked from outside to end its training. May be
  // null.
  std::function<bool()> is_exit_requested = nullptr;
  // Runs the threads on Pool::kBlocking; must outlive the coordinator. Null:
  // the coordinator has its own scheduler, with one thread per Start.
  Scheduler* scheduler = nullptr;
};

struct JoinOptions {
  // How long threads may take to end after a stop request.
  absl::Duration stop_grace_period = absl::Minutes(2);
  // If true, threads that still run after the grace period are ignored.
  bool ignore_live_threads = false;
};

class Coordinator {
 public:
  explicit Coordinator(CoordinatorOptions options = {});
  // Requests a stop and waits for all threads without a timeout, because their
  // bodies may use objects that are destroyed next.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Runs `body` on a thread; an error that it returns is passed to RequestStop.
  // `name` appears in errors; names need not be unique.
  void Start(std::string name, absl::AnyInvocable<absl::Status()> body)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // `why` becomes the result of Join if it is the first error since the last
  // ClearStop and no stop was requested before.
  void RequestStop(absl::Status why = absl::OkStatus())
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool ShouldStop() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the error of the stop request, which Join would return. OK if no
  // stop was requested, or the stop has no error.
  absl::Status requested_error() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for a stop request, for at most `timeout`. Returns whether a stop was
  // requested.
  bool WaitForStop(absl::Duration timeout = absl::InfiniteDuration())
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until all threads have ended or, after a stop request, for the grace
  // period. Returns the first error; otherwise DEADLINE_EXCEEDED, naming the
  // threads that still run, if any.
  absl::Status Join(const JoinOptions& options = {})
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns CoordinatorOptions::is_exit_requested.
  const std::function<bool()>& is_exit_requested() const {
    return options_.is_exit_requested;
  }
  // Returns the clock that all waits use. It lives as long as the coordinator.
  const Clock& clock() const { return scheduler_.clock(); }
  // Returns an event on clock(), for waiting for the work of a started thread.
  std::unique_ptr<Event> NewEvent() { return scheduler_.NewEvent(); }
  // Returns the names of the running threads, separated by commas; empty if all
  // have ended.
  std::string RunningThreads() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Clears the stop and its error, so that other threads can be started.
  void ClearStop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Ended(uint64_t number, const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RequestStopLocked(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Change is what a caller waits for: a stop, the end of all threads, or
  // either.
  enum class Change { kStop, kEnd, kAny };
  bool HasCome(Change change) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Returns false if `timeout` expires first.
  bool WaitFor(Change change, absl::Duration timeout)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const CoordinatorOptions options_;
  MonotoneClock clock_;
  mutable absl::Mutex mutex_;
  bool should_stop_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
  // Names of the running threads, by the number of the thread.
  std::map<uint64_t, std::string> running_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Event*> waiters_ ABSL_GUARDED_BY(mutex_);  // set on any change
  // Declared last, because its destructor waits for the threads, which use the
  // other members.
  const std::unique_ptr<Scheduler> own_scheduler_;
  Scheduler& scheduler_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SESSIONS_COORDINATOR_H_
