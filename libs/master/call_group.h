// CallGroup: several asynchronous calls at once, and one thread that waits for
// all of them.
#ifndef WEFT_LIBS_MASTER_CALL_GROUP_H_
#define WEFT_LIBS_MASTER_CALL_GROUP_H_

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/first_error.h"
#include "libs/base/scheduler.h"

namespace weft {

// Used by one thread; the callbacks may come on any.
class CallGroup {
 public:
  explicit CallGroup(Scheduler& scheduler)
      : state_(std::make_shared<State>(scheduler)) {}

  // The `done` of one more call; to be called exactly once.
  absl::AnyInvocable<void(absl::Status)> Add() {
    {
      absl::MutexLock lock(&state_->mutex);
      ++state_->pending;
    }
    return [state = state_](const absl::Status& status) {
      state->first_error.Add(status);
      state->Finish();
    };
  }

  // When all calls are done, or `when` has come: false then. May be called
  // again; no call is added after the first.
  bool WaitUntil(absl::Time when) {
    if (!closed_) state_->Finish();
    closed_ = true;
    return state_->all_done->WaitUntil(when);
  }

  // Waits for all calls, which have deadlines of their own; their first error.
  absl::Status Wait() {
    WaitUntil(absl::InfiniteFuture());
    return state_->first_error.Take();
  }

 private:
  struct State {
    explicit State(Scheduler& scheduler) : all_done(scheduler.NewEvent()) {}
    void Finish() {
      bool is_last = false;
      {
        absl::MutexLock lock(&mutex);
        is_last = --pending == 0;
      }
      if (is_last) all_done->Set();
    }
    absl::Mutex mutex;
    int pending ABSL_GUARDED_BY(mutex) = 1;  // one is the group's own
    FirstError first_error;
    const std::unique_ptr<Event> all_done;
  };
  const std::shared_ptr<State> state_;
  bool closed_ = false;
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_CALL_GROUP_H_
