// OrCancelled wraps a callback so that a Cancellation can call it before the
// result arrives. No thread waits for either event.
#ifndef WEFT_LIBS_BASE_ASYNC_OR_CANCELLED_H_
#define WEFT_LIBS_BASE_ASYNC_OR_CANCELLED_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/async/cancellation.h"

namespace weft {

// Calls `done` once, with the result or with the cause of the cancellation,
// whichever comes first. A cancellation calls `done` on the cancelling thread,
// or at once if it has already happened. The event that comes later has no
// effect. `done` is destroyed after its call, even if the returned callback
// lives longer. T is the type of the result, a Status or a StatusOr.
template <typename T>
absl::AnyInvocable<void(T)> OrCancelled(
    const std::shared_ptr<Cancellation>& cancellation,
    absl::AnyInvocable<void(T)> done) {
  struct Wait {
    absl::AnyInvocable<void(T)> done;
    std::shared_ptr<Cancellation> cancellation;
    Cancellation::Token token = 0;  // only used when the result arrives
    std::atomic<bool> ended{false};
    void EndWith(T result) {
      absl::AnyInvocable<void(T)> call = std::exchange(done, nullptr);
      call(std::move(result));
    }
  };
  auto wait = std::make_shared<Wait>();
  wait->done = std::move(done);
  wait->cancellation = cancellation;
  wait->token = cancellation->Register([wait](const absl::Status& cause) {
    if (!wait->ended.exchange(true)) wait->EndWith(T(cause));
  });
  if (wait->token == 0 && !wait->ended.exchange(true)) {
    wait->EndWith(T(cancellation->status()));
  }
  return [wait](T result) {
    if (wait->ended.exchange(true)) return;
    wait->cancellation->Deregister(wait->token);
    wait->EndWith(std::move(result));
  };
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ASYNC_OR_CANCELLED_H_
