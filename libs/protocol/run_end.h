// RunEnd: the end of one asynchronous run, which several may bring about: the
// answer, the acknowledgement of its abort, a lost connection. The first one
// claims it; `done` is called once, when that one has said how it ended, the
// start is over and the cancellation is no longer watched.
//
// Threads: thread-safe. No lock: `done` runs on the thread that ends the run,
// or on the one that starts it if it has ended by then.
#ifndef WEFT_LIBS_PROTOCOL_RUN_END_H_
#define WEFT_LIBS_PROTOCOL_RUN_END_H_

#include <atomic>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/cancellation.h"

namespace weft::protocol {

class RunEnd {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // `cancellation` may be null; it lives until `done` is called.
  RunEnd(Cancellation* cancellation, Done done)
      : cancellation_(cancellation), done_(std::move(done)) {}
  RunEnd(const RunEnd&) = delete;
  RunEnd& operator=(const RunEnd&) = delete;

  // True for the first caller, who then calls End. Between the two, what the
  // run is to fill in may be written: its owner still waits.
  bool Claim() { return !claimed_.exchange(true, std::memory_order_acq_rel); }

  bool IsClaimed() const { return claimed_.load(std::memory_order_acquire); }

  // By whom Claim answered true, once. The caller keeps this alive.
  void End(absl::Status status) {
    status_ = std::move(status);
    FinishIfSecond(kEnded);
  }

  // By whoever started the run, once, after all that may end it was set off.
  // `on_cancel(cause)` runs at most once, on the thread that cancels. It must
  // keep this alive; it is let go of when the run ends.
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
