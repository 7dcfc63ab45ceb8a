// CallGroup: several asynchronous calls at once, and one thread that waits for
// all of them, and says for whom when that takes long.
#ifndef WEFT_LIBS_MASTER_CALL_GROUP_H_
#define WEFT_LIBS_MASTER_CALL_GROUP_H_

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/base/first_error.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"

namespace weft {

// Used by one thread; the callbacks may come on any.
class CallGroup {
 public:
  explicit CallGroup(Scheduler& scheduler)
      : scheduler_(scheduler), state_(std::make_shared<State>(scheduler)) {}

  // The `done` of one more call, to the task `whom`; to be called exactly once.
  absl::AnyInvocable<void(absl::Status)> Add(const std::string& whom) {
    {
      absl::MutexLock lock(&state_->mutex);
      ++state_->pending;
      state_->waited_for.push_back(whom);
    }
    return [state = state_, whom](const absl::Status& status) {
      state->first_error.Add(status);
      state->Finish(whom);
    };
  }

  // When all calls are done, or `when` has come: false then. May be called
  // again; no call is added after the first.
  bool WaitUntil(absl::Time when) {
    if (!closed_) state_->Finish("");
    closed_ = true;
    return state_->all_done->WaitUntil(when);
  }

  // Waits for all calls, which have deadlines of their own; their first error.
  // Once an `interval` it logs for whom it waits to `what`. `logger` may be
  // null.
  absl::Status Wait(absl::string_view what, absl::Duration interval,
                    Logger* logger) {
    if (logger == nullptr) interval = absl::InfiniteDuration();
    while (!WaitUntil(scheduler_.clock().Now() + interval)) {
      logger->Warning(absl::StrCat("Still waiting to ", what, " on ",
                                   absl::StrJoin(WaitedFor(), ", ")));
    }
    return state_->first_error.Take();
  }

  // The tasks whose calls are not done.
  std::vector<std::string> WaitedFor() const {
    absl::MutexLock lock(&state_->mutex);
    return state_->waited_for;
  }

 private:
  struct State {
    explicit State(Scheduler& scheduler) : all_done(scheduler.NewEvent()) {}
    void Finish(const std::string& whom) {
      bool is_last = false;
      {
        absl::MutexLock lock(&mutex);
        const auto it = std::find(waited_for.begin(), waited_for.end(), whom);
        if (it != waited_for.end()) waited_for.erase(it);
        is_last = --pending == 0;
      }
      if (is_last) all_done->Set();
    }
    absl::Mutex mutex;
    int pending ABSL_GUARDED_BY(mutex) = 1;  // one is the group's own
    std::vector<std::string> waited_for ABSL_GUARDED_BY(mutex);
    FirstError first_error;
    const std::unique_ptr<Event> all_done;
  };
  Scheduler& scheduler_;
  const std::shared_ptr<State> state_;
  bool closed_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_CALL_GROUP_H_
