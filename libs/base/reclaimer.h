// Reclaimer: destroys large objects on Pool::kGraph, whichever thread lets go
// of them last. So a thread that reads messages, or ends steps, may hold the
// last reference to a session, and does not spend the time that freeing takes.
//
//   std::shared_ptr<Session> session = reclaimer->Own(new Session(...));
//
// Threads: all methods may be called from any thread; WaitUntilNone by one at a
// time.
#ifndef WEFT_LIBS_BASE_RECLAIMER_H_
#define WEFT_LIBS_BASE_RECLAIMER_H_

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "libs/base/in_flight.h"
#include "libs/base/scheduler.h"

namespace weft {

// Owned by a shared_ptr: objects on their way to their end hold on to it.
class Reclaimer : public std::enable_shared_from_this<Reclaimer> {
 public:
  // `scheduler` outlives all objects.
  explicit Reclaimer(Scheduler& scheduler) : scheduler_(scheduler) {}

  // Takes `object`, which is destroyed on Pool::kGraph after the last reference
  // has gone.
  template <typename T>
  std::shared_ptr<T> Own(std::unique_ptr<T> object) {
    return std::shared_ptr<T>(object.release(),
                              [self = shared_from_this()](T* last) {
                                self->Destroy(std::unique_ptr<T>(last));
                              });
  }

  // Waits until all objects that were let go of have been destroyed. Blocks;
  // not to be called from Pool::kGraph.
  void WaitUntilNone() {
    (void)in_flight_.WaitUntilNone(scheduler_, absl::InfiniteFuture());
  }

 private:
  template <typename T>
  void Destroy(std::unique_ptr<T> object) {
    in_flight_.Begin();
    scheduler_.Schedule(Pool::kGraph, [self = shared_from_this(),
                                       object = std::move(object)]() mutable {
      object.reset();
      self->in_flight_.End();
    });
  }

  Scheduler& scheduler_;
  InFlight in_flight_;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_RECLAIMER_H_
