// Waiters is a list of callbacks that wait for one event, without blocking a
// thread.
//
// Threads: all methods may be called from any thread; the destructor must run
// last. Callbacks run without a lock held, on the thread of NotifyAll or of the
// cancellation.
#ifndef WEFT_LIBS_RESOURCE_WAITERS_H_
#define WEFT_LIBS_RESOURCE_WAITERS_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/async/cancellation.h"

namespace weft {

class Waiters {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  Waiters();
  // Does not notify callers that still wait. The owner must do so before.
  ~Waiters();
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  // Calls `done` exactly once: at the next NotifyAll, or with the cause if
  // `step` is cancelled before. `step` must live until then. After Add, the
  // caller must check whether the event has already happened, and if so call
  // NotifyAll.
  void Add(Cancellation& step, Done done);
  void NotifyAll(const absl::Status& status);
  bool empty() const;

 private:
  struct Waiter;
  struct State;
  // The state is shared with the callbacks of cancellations.
  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_WAITERS_H_
