// Join: waits for the parts of what is done in several places at once, without
// a thread: counts them, keeps the error to report, and tells who was the last.
// JoinCalls makes of it the callback that several asynchronous calls share.
//
// The error to report is the first that was not made by the abort that followed
// another (see MarkDerived), else the first.
#ifndef WEFT_LIBS_BASE_JOIN_H_
#define WEFT_LIBS_BASE_JOIN_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/status.h"

namespace weft {

// Thread-safe, but for Begin. A part that ends well takes no lock; it sees what
// those that have ended before it did.
class Join {
 public:
  // There are `parts` now. Whoever starts them counts as one, and ends it last
  // of all, so that the others can't be done while some are not yet started.
  // REQUIRES: none is left of before. May be used again.
  void Begin(int parts) { left_.store(parts, std::memory_order_relaxed); }
  // One more. REQUIRES: one is left, which does not end meanwhile.
  void AddPart() { left_.fetch_add(1, std::memory_order_relaxed); }

  // Of a part that goes on. OK changes nothing.
  void AddError(const absl::Status& status) {
    if (status.ok()) return;
    absl::MutexLock lock(&mutex_);
    if (error_.ok() || (IsDerived(error_) && !IsDerived(status))) {
      error_ = status;
    }
  }

  // True: this was the last one, whose caller goes on from here. Else the Join
  // may be gone already.
  [[nodiscard]] bool EndPart(const absl::Status& status = absl::OkStatus()) {
    AddError(status);
    return left_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  // OK when there was no error. Forgets it.
  absl::Status TakeError() {
    absl::MutexLock lock(&mutex_);
    return std::exchange(error_, absl::OkStatus());
  }

 private:
  std::atomic<int> left_{0};
  absl::Mutex mutex_;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
};

// What is to be called with a status `calls` times, itself or copies of it,
// from any thread: the last time calls `done` with the error to report.
// REQUIRES: calls > 0.
inline auto JoinCalls(int calls, absl::AnyInvocable<void(absl::Status)> done) {
  struct State {
    Join join;
    absl::AnyInvocable<void(absl::Status)> done;
  };
  auto state = std::make_shared<State>();
  state->join.Begin(calls);
  state->done = std::move(done);
  return [state = std::move(state)](const absl::Status& status) {
    if (state->join.EndPart(status)) state->done(state->join.TakeError());
  };
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_JOIN_H_
