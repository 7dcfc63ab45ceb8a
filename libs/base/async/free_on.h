// FreeOn returns a shared_ptr to a large object that is destroyed on a pool,
// whichever thread releases the last reference. So a thread that ends work or
// holds a lock can release the last reference without spending time on freeing
// the object.
//
//   std::shared_ptr<const Graph> graph =
//       FreeOn(scheduler, Pool::kGraph, std::make_unique<const Graph>(...));
//
// FreeOn is for objects that only own memory. Use a Reclaimer for objects that
// close files, or if the owner must wait for their destruction.
//
// Threads: may be called, and the pointer released, on any thread.
#ifndef WEFT_LIBS_BASE_ASYNC_FREE_ON_H_
#define WEFT_LIBS_BASE_ASYNC_FREE_ON_H_

#include <memory>

#include "libs/base/scheduler/scheduler.h"

namespace weft {

// `scheduler` must outlive the object.
template <typename T>
std::shared_ptr<T> FreeOn(Scheduler& scheduler, Pool pool,
                          std::unique_ptr<T> object) {
  return std::shared_ptr<T>(object.release(), [&scheduler, pool](T* last) {
    scheduler.Schedule(pool, [owned = std::unique_ptr<T>(last)] {});
  });
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_ASYNC_FREE_ON_H_
