// Turns: a lock for those who wait without a thread: one at a time, in the
// order in which they came.
//
// Threads: all methods may be called from any thread, the destructor last and
// when nobody waits. Functions given run without a lock held, on the caller's
// thread, on that of the turn before, or on that of the cancellation.
#ifndef WEFT_LIBS_RESOURCE_TURNS_H_
#define WEFT_LIBS_RESOURCE_TURNS_H_

#include <deque>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/cancellation.h"

namespace weft {

class Turns {
 public:
  using Begin = absl::AnyInvocable<void(absl::Status)>;

  Turns() : state_(std::make_shared<State>()) {}
  Turns(const Turns&) = delete;
  Turns& operator=(const Turns&) = delete;

  // `begin` is called exactly once: with OK when it is the caller's turn, which
  // lasts until End; or, when `step` is cancelled before, with the cause, and
  // then it is not. `step` lives until then. It must not do much: the turn
  // before has ended on the same thread.
  void Take(Cancellation& step, Begin begin);
  // Takes the turn where nobody has it; else false.
  bool TryTake();
  // By whoever has the turn.
  void End();

 private:
  struct Waiter;
  struct State {
    absl::Mutex mutex;
    bool is_taken ABSL_GUARDED_BY(mutex) = false;
    std::deque<std::shared_ptr<Waiter>> waiting ABSL_GUARDED_BY(mutex);
  };

  static void Cancel(State& state, const std::shared_ptr<Waiter>& waiter,
                     const absl::Status& cause);

  // Shared with the callbacks of cancellations.
  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_TURNS_H_
