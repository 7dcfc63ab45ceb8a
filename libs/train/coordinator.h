// Coordinator: several threads that end together, tf.train.Coordinator.
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
// The first error of a thread asks all to stop, and is what Join returns. Some
// are no errors: the end of the input (OUT_OF_RANGE) only asks to stop.
//
// Threads: all methods from any thread, also from those that it started, but
// for Join and the destructor, which wait for these.
#ifndef WEFT_LIBS_TRAIN_COORDINATOR_H_
#define WEFT_LIBS_TRAIN_COORDINATOR_H_

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
#include "libs/base/scheduler.h"

namespace weft::train {

struct CoordinatorOptions {
  // Errors that ask to stop, and are none.
  std::vector<absl::StatusCode> clean_stop_codes = {
      absl::StatusCode::kOutOfRange};
  // Whether somebody outside asks the program to end its training. May be null.
  std::function<bool()> is_asked_to_leave = nullptr;
  // Whose threads run, on Pool::kBlocking; outlives the coordinator. Null: it
  // has its own, as many as are started.
  Scheduler* scheduler = nullptr;
};

struct JoinOptions {
  // How long threads may take to end once they were asked to.
  absl::Duration stop_grace_period = absl::Minutes(2);
  // Those that still run afterwards are nobody's concern.
  bool ignore_live_threads = false;
};

class Coordinator {
 public:
  explicit Coordinator(CoordinatorOptions options = {});
  // Asks all to stop, and waits for their end, however long that takes: what
  // they run may use what is about to end.
  ~Coordinator();
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Runs `body` on a thread; an error that it returns is a RequestStop. `name`
  // is for errors; several may have the same.
  void Start(std::string name, absl::AnyInvocable<absl::Status()> body)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // `why`: what Join is to return, if it is the first error since the last
  // ClearStop and no stop was asked for before.
  void RequestStop(absl::Status why = absl::OkStatus())
      ABSL_LOCKS_EXCLUDED(mutex_);
  bool ShouldStop() const ABSL_LOCKS_EXCLUDED(mutex_);
  // What Join would return of it; OK without a stop, and for one without error.
  absl::Status requested_error() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether that was asked for within `timeout`.
  bool WaitForStop(absl::Duration timeout = absl::InfiniteDuration())
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits until all threads have ended or, once a stop was asked for, for the
  // grace period. The first error; else DEADLINE_EXCEEDED, naming them, where
  // threads still run.
  absl::Status Join(const JoinOptions& options = {})
      ABSL_LOCKS_EXCLUDED(mutex_);
  // As the options say.
  const std::function<bool()>& is_asked_to_leave() const {
    return options_.is_asked_to_leave;
  }
  // What its waits go by. Lives as long as the coordinator.
  const Clock& clock() const { return scheduler_.clock(); }
  // For a wait, by that clock, for what a thread that it started does.
  std::unique_ptr<Event> NewEvent() { return scheduler_.NewEvent(); }
  // Names of those that run, separated by commas; empty: all have ended.
  std::string RunningThreads() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets the stop and its error, so that others can be started.
  void ClearStop() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Ended(uint64_t number, const absl::Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void RequestStopLocked(const absl::Status& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What is waited for: a stop, the end of all threads, either.
  enum class Change { kStop, kEnd, kAny };
  bool HasCome(Change change) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // False when `timeout` has passed first.
  bool WaitFor(Change change, absl::Duration timeout)
      ABSL_LOCKS_EXCLUDED(mutex_);

  const CoordinatorOptions options_;
  MonotoneClock clock_;
  mutable absl::Mutex mutex_;
  bool should_stop_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status why_ ABSL_GUARDED_BY(mutex_);
  // Names of those that run, by number.
  std::map<uint64_t, std::string> running_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_number_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Event*> waiters_ ABSL_GUARDED_BY(mutex_);  // told of any change
  // Last: its end waits for the threads.
  const std::unique_ptr<Scheduler> own_scheduler_;
  Scheduler& scheduler_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_COORDINATOR_H_
