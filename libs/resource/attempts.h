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
// A call is not tried again after its step was cancelled, and then has no
// effect.
//
// Threads: all methods may be called from any thread; the destructor must run
// last, when no call waits. Attempts run under the lock. `done` runs without
// the lock. It runs on the thread of the caller, of another call that let this
// call complete, or of the cancellation.
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

  // A Sequence numbers a group of calls. Calls with the same sequence complete
  // in the order of their arrival; kUnordered calls in any order.
  using Sequence = int;
  static constexpr Sequence kUnordered = -1;

  Attempts();
  ~Attempts();
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  // Tries `attempt` until it completes, then calls `done`. `done` is called
  // exactly once. `step` must live until then; if it is cancelled, the call
  // ends. `attempt` and `done` must keep alive the objects that they use.
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

  // The state is shared with the callbacks of cancellations.
  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_ATTEMPTS_H_
