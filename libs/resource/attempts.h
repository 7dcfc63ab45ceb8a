// Attempts: calls on something shared that wait, without a thread, until they
// can be done: each is tried when it comes, and again whenever another one has
// been done.
//
//   attempts.Submit(step, kTakes, [this]() -> std::optional<absl::Status> {
//     if (elements_.empty()) return std::nullopt;  // not yet
//     ...
//     return absl::OkStatus();
//   }, std::move(done));
//
// A step that is cancelled has done nothing: its attempt is not tried any more.
//
// Threads: all methods may be called from any thread, the destructor last and
// when nothing waits. Attempts run under the lock, `done` without it: on the
// caller's thread, on that of the call that made it possible, or on that of the
// cancellation.
#ifndef WEFT_LIBS_RESOURCE_ATTEMPTS_H_
#define WEFT_LIBS_RESOURCE_ATTEMPTS_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/cancellation.h"

namespace weft {

class Attempts {
 public:
  // What it came to, or nothing: it can't be done yet.
  using Try = absl::AnyInvocable<std::optional<absl::Status>()>;
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // Who is in a lane is done in the order in which they came.
  using Lane = int;
  static constexpr Lane kNoLane = -1;

  Attempts();
  ~Attempts();
  Attempts(const Attempts&) = delete;
  Attempts& operator=(const Attempts&) = delete;

  // `done` is called exactly once; `step` lives until then and ends the call
  // when it is cancelled. What `attempt` and `done` use they keep alive.
  void Submit(Cancellation& step, Lane lane, Try attempt, Done done);
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
