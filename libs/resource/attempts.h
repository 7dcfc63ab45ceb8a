// Attempts queues asynchronous calls on a shared object until they can
// complete. Each call is tried on arrival and again whenever another call has
// completed. Waiting calls hold no thread.
//
//   attempts.Submit(step, kTakes, [this]() -> std::optional<absl::Status> {
//     if (elements_.empty()) return std::nullopt;  // not yet
//     ...
//     return absl::OkStatus();
//   }, std::move(done));
//
// A call whose step is cancelled has no effect: it is not tried again.
//
// Threads: all methods may be called from any thread; the destructor must run
// last, when no call waits. Attempts run under the lock. `done` runs without
// the lock, on the thread of the caller, of the call that made it possible, or
// of the cancellation.
#ifndef WEFT_LIBS_RESOURCE_ATTEMPTS_H_
#define WEFT_LIBS_RESOURCE_ATTEMPTS_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/async/cancellation.h"

namespace weft {

class Attempts {
 public:
  // The result of an attempt, or nullopt if the call cannot complete yet.
  using Try = absl::AnyInvocable<std::optional<absl::Status>()>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // Calls in the same sequence complete in the order of their arrival.
  using Sequence = int;
  static constexpr Sequence kUnordered = -1;

  Attempts();
  ~Attempts();
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  // Calls `done` exactly once. `step` must live until then and ends the call
  // when it is cancelled. `attempt` and `done` must keep alive the objects that
  // they use.
  void Submit(Cancellation& step, Sequence sequence, Try attempt, Done done);
  // Runs `look` under the lock.
  void Look(absl::FunctionRef<void()> look) const;

 private:
  struct Attempt;
  struct State;
  using Finished = std::vector<std::shared_ptr<Attempt>>;

  static void Advance(State& state, Finished& finished);
  static void Cancel(State& state, const std::shared_ptr<Attempt>& attempt,
                     const absl::Status& cause);
  static void Finish(const Finished& finished);

  // Shared with the callbacks of cancellations.
  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_ATTEMPTS_H_
