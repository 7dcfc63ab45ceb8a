// RunEnd coordinates the end of one asynchronous run, which several events may
// cause: the answer, the acknowledgement of its abort, a lost connection. The
// first one claims it; `done` is called once, when that one has reported how
// the run ended, the start is complete and the cancellation is no longer
// watched.
//
// Threads: thread-safe. No lock: `done` runs on the thread that ends the run,
// or on the thread that starts it if it has ended by then.
#ifndef WEFT_LIBS_PROTOCOL_RUN_END_H_
#define WEFT_LIBS_PROTOCOL_RUN_END_H_

#include <atomic>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/async/cancellation.h"

namespace weft::protocol {

class RunEnd {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // `cancellation` may be null; it must live until `done` is called.
  RunEnd(Cancellation* cancellation, Done done)
      : cancellation_(cancellation), done_(std::move(done)) {}
  RunEnd(const RunEnd&) = delete;
  RunEnd& operator=(const RunEnd&) = delete;

  // Returns true for the first caller, which must then call End. Between the
  // two, it may write the results of the run: the run's owner still waits.
  bool Claim() { return !claimed_.exchange(true, std::memory_order_acq_rel); }

  bool IsClaimed() const { return claimed_.load(std::memory_order_acquire); }

  // Must be called exactly once, by the caller for which Claim() returned true.
  // The caller keeps this object alive.
  void End(absl::Status status) {
    status_ = std::move(status);
    FinishIfSecond(kEnded);
  }

  // Must be called once by the starter of the run, after everything that may
  // end it was started. `on_cancel(cause)` runs at most once, on the thread
  // that cancels. It must keep this object alive; it is released when the run
  // ends.
  template <typename OnCancel>
  void Started(const OnCancel& on_cancel) {
    if (cancellation_ != nullptr) {
      token_ = cancellation_->Register(on_cancel);
      if (token_ == 0) on_cancel(cancellation_->status());
    }
    FinishIfSecond(kStarted);
  }

 private:
  enum : int { kStarted = 1, kEnded = 2 };

  void FinishIfSecond(int what) {
    if (phases_.fetch_or(what, std::memory_order_acq_rel) == 0) return;
    if (token_ != 0) cancellation_->Deregister(token_);
    Done done = std::move(done_);
    done(std::move(status_));
  }

  Cancellation* const cancellation_;
  Done done_;
  absl::Status status_;
  Cancellation::Token token_ = 0;
  std::atomic<bool> claimed_{false};
  std::atomic<int> phases_{0};
};

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_RUN_END_H_
