// Waiters: those who wait for one thing to happen, without a thread.
//
// Threads: all methods may be called from any thread, the destructor last.
// Functions given run without a lock held, on the thread that tells, or on that
// of the cancellation.
#ifndef WEFT_LIBS_RESOURCE_WAITERS_H_
#define WEFT_LIBS_RESOURCE_WAITERS_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "libs/base/cancellation.h"

namespace weft {

class Waiters {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  Waiters();
  // Nobody who waits is told: the owner does so before.
  ~Waiters();
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

  // `done` is called exactly once: by the next TellAll, or with the cause of
  // the cancellation; `step` lives until then. Who adds looks afterwards
  // whether the thing has happened already, and then tells.
  void Add(Cancellation& step, Done done);
  void TellAll(const absl::Status& status);
  bool empty() const;

 private:
  struct Waiter;
  struct State;
  // Shared with the callbacks of cancellations.
  const std::shared_ptr<State> state_;
};

}  // namespace weft

#endif  // WEFT_LIBS_RESOURCE_WAITERS_H_
