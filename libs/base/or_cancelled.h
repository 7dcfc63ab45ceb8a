// OrCancelled: a callback that a Cancellation may call before its owner does: a
// wait that holds no thread, and that its cause ends.
#ifndef WEFT_LIBS_BASE_OR_CANCELLED_H_
#define WEFT_LIBS_BASE_OR_CANCELLED_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/cancellation.h"

namespace weft {

// What comes first calls `done`, once: the result, or the cause of the
// cancellation, on the thread that cancels, or at once when that has happened.
// The other is dropped, and what `done` holds is let go of by then, however
// long the callback is kept. T: a Status, or a StatusOr of something.
template <typename T>
absl::AnyInvocable<void(T)> OrCancelled(
    const std::shared_ptr<Cancellation>& cancellation,
    absl::AnyInvocable<void(T)> done) {
  struct Wait {
    absl::AnyInvocable<void(T)> done;
    std::shared_ptr<Cancellation> cancellation;
    Cancellation::Token token = 0;  // only the result's way looks at it
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

#endif  // WEFT_LIBS_BASE_OR_CANCELLED_H_
