// OpenCalls holds the pending calls of a session, or of a master. A call holds
// no thread while it waits for other tasks. Its client or its owner may end it
// early; it has ended when nothing works for it any more.
//
// Threads: thread-safe. No external code is called with the lock held.
#ifndef WEFT_LIBS_MASTER_OPEN_CALLS_H_
#define WEFT_LIBS_MASTER_OPEN_CALLS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/async/cancellation_link.h"

namespace weft {

class OpenCalls {
 private:
  struct State;

 public:
  // One call. It is shared by the threads that work for it and by its waits,
  // which release it when it is cancelled (OrCancelled). It has ended when
  // there is no reference to it any more.
  class Call {
   public:
    Call(std::shared_ptr<State> state, std::shared_ptr<void> owner)
        : state_(std::move(state)), owner_(std::move(owner)) {}
    ~Call() {
      client_gone_.End();
      state_->Remove(number_);
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    // Cancelled by its client or by OpenCalls::Close; for all its waits.
    const std::shared_ptr<Cancellation>& cancellation() const {
      return cancellation_;
    }
    // Stops watching the client's cancellation. Must be called before the
    // client is answered.
    void ReleaseClient() { client_gone_.End(); }

   private:
    friend class OpenCalls;
    const std::shared_ptr<Cancellation> cancellation_ =
        std::make_shared<Cancellation>();
    const std::shared_ptr<State> state_;
    const std::shared_ptr<void> owner_;  // kept alive by its calls
    uint64_t number_ = 0;
    CancellationLink client_gone_;
  };
  using CallPtr = std::shared_ptr<Call>;

  // Begins a call. After Close, returns the cause of Close instead. `client`,
  // which may be null, ends the call early; it must live until ReleaseClient or
  // the end of the call. The call keeps `owner` alive.
  absl::StatusOr<CallPtr> Begin(std::shared_ptr<void> owner,
                                Cancellation* client) {
    auto call = std::make_shared<Call>(state_, std::move(owner));
    {
      absl::MutexLock lock(&state_->mutex);
      if (!state_->closed.ok()) return state_->closed;
      call->number_ = ++state_->last_number;
      state_->calls[call->number_] = call->cancellation_;
    }
    call->client_gone_.Begin(client, call->cancellation_);
    return call;
  }

  // Refuses further calls with `cause`, cancels pending ones with it, and calls
  // `ended` when the last of them has ended, perhaps before it returns. May be
  // called again after that.
  void Close(const absl::Status& cause, absl::AnyInvocable<void()> ended) {
    std::vector<std::shared_ptr<Cancellation>> running;
    {
      absl::MutexLock lock(&state_->mutex);
      state_->closed = cause;
      for (const auto& [number, call] : state_->calls) running.push_back(call);
      if (!running.empty()) state_->ended = std::move(ended);
    }
    if (running.empty()) return ended();
    for (const auto& cancellation : running) cancellation->Cancel(cause);
  }

 private:
  struct State {
    void Remove(uint64_t number) ABSL_LOCKS_EXCLUDED(mutex) {
      absl::AnyInvocable<void()> last;
      {
        absl::MutexLock lock(&mutex);
        calls.erase(number);
        if (calls.empty()) last = std::exchange(ended, nullptr);
      }
      if (last) last();
    }

    absl::Mutex mutex;
    absl::Status closed ABSL_GUARDED_BY(mutex);
    absl::AnyInvocable<void()> ended ABSL_GUARDED_BY(mutex);
    uint64_t last_number ABSL_GUARDED_BY(mutex) = 0;
    // The calls in the order of their arrival, so that a simulation can be
    // repeated.
    std::map<uint64_t, std::shared_ptr<Cancellation>> calls
        ABSL_GUARDED_BY(mutex);
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_OPEN_CALLS_H_
