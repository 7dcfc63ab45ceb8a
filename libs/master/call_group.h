// CallGroup runs several asynchronous calls and continues when all of them are
// done; it logs which tasks it waits for if that takes long. No thread waits.
#ifndef WEFT_LIBS_MASTER_CALL_GROUP_H_
#define WEFT_LIBS_MASTER_CALL_GROUP_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/join.h"
#include "libs/base/async/or_cancelled.h"
#include "libs/base/clock.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/master/open_calls.h"
#include "libs/master/wait_log.h"

namespace weft {

// A CallGroup is used by one thread. The callbacks may run on any thread.
class CallGroup {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  explicit CallGroup(Scheduler& scheduler)
      : scheduler_(scheduler), state_(std::make_shared<State>()) {}

  // Returns the `done` of one more call, to the task `whom`; it must be called
  // exactly once.
  Done Add(const std::string& whom) {
    state_->join.AddPart();
    {
      absl::MutexLock lock(&state_->mutex);
      state_->waited_for.push_back(whom);
    }
    return [state = state_, whom](const absl::Status& status) {
      state->Finish(whom, status);
    };
  }

  // A line is logged after the interval, and whenever the wait has doubled
  // (WaitLog): "Still waiting to open session 7 on /job:ps/replica:0/task:0".
  struct Log {
    std::string what;
    absl::Duration interval = absl::InfiniteDuration();
    Logger* logger = nullptr;  // may be null
  };

  // Calls `done` once all calls, which have their own deadlines, are done, with
  // their first error; or with the cause of the call's cancellation, if that
  // comes first. Must be called last, and once.
  void WhenDone(const OpenCalls::CallPtr& call, Log log, Done done) {
    if (log.logger == nullptr) log.interval = absl::InfiniteDuration();
    auto said = WaitLog::Begin(
        scheduler_, log.interval,
        [weak = std::weak_ptr<OpenCalls::Call>(call), state = state_,
         what = std::move(log.what), logger = log.logger] {
          const OpenCalls::CallPtr waits = weak.lock();
          if (waits == nullptr) return;
          logger->Warning(absl::StrCat("Still waiting to ", what, " on ",
                                       absl::StrJoin(state->Left(), ", ")));
        });
    state_->all_done = OrCancelled<absl::Status>(
        call->cancellation(),
        [said, done = std::move(done)](const absl::Status& status) mutable {
          said->End();
          done(status);
        });
    state_->Finish("", absl::OkStatus());
  }

  // Like WhenDone, but waits at most until `when`, and passes the tasks whose
  // calls are not done by then to `done`. Ignores errors.
  void WhenDoneBy(
      absl::Time when, const OpenCalls::CallPtr& call,
      absl::AnyInvocable<void(std::vector<std::string> left)> done) {
    auto limit = std::make_shared<Cancellation>();
    const Scheduler::TimerId timer =
        scheduler_.ScheduleAt(Pool::kControl, when, [limit] {
          limit->Cancel(
              absl::DeadlineExceededError("not all are done in time"));
        });
    state_->all_done = OrCancelled<absl::Status>(
        call->cancellation(),
        OrCancelled<absl::Status>(
            limit, [weak = std::weak_ptr<State>(state_), timer,
                    &scheduler = scheduler_,
                    done = std::move(done)](const absl::Status&) mutable {
              scheduler.CancelTimer(timer);
              const auto state = weak.lock();
              done(state ? state->Left() : std::vector<std::string>());
            }));
    state_->Finish("", absl::OkStatus());
  }

 private:
  struct State {
    State() { join.Begin(1); }  // the group's own part

    void Finish(const std::string& whom, const absl::Status& status) {
      join.AddError(status);
      {
        absl::MutexLock lock(&mutex);
        const auto it = std::find(waited_for.begin(), waited_for.end(), whom);
        if (it != waited_for.end()) waited_for.erase(it);
      }
      if (!join.EndPart()) return;
      Done last = std::move(all_done);
      last(join.TakeError());
    }
    // Returns the tasks whose calls are not done.
    std::vector<std::string> Left() {
      absl::MutexLock lock(&mutex);
      return waited_for;
    }

    Join join;
    absl::Mutex mutex;
    std::vector<std::string> waited_for ABSL_GUARDED_BY(mutex);
    // Set while the group's own part is pending, and taken by the last.
    Done all_done;
  };

  Scheduler& scheduler_;
  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_CALL_GROUP_H_
