// FreeOn: a shared_ptr to a large object that is destroyed on a pool, whichever
// thread releases the last reference. So a thread that ends work, or that holds
// a lock, may hold the last reference, and does not spend the time that freeing
// takes.
//
//   std::shared_ptr<const Graph> graph =
//       FreeOn(scheduler, Pool::kGraph, std::make_unique<const Graph>(...));
//
// For objects that only own memory; a Reclaimer destroys those that close files
// or that their owner waits for.
//
// Threads: may be called, and the pointer released, on any thread.
#ifndef WEFT_LIBS_BASE_FREE_ON_H_
#define WEFT_LIBS_BASE_FREE_ON_H_

#include <memory>

#include "libs/base/scheduler.h"

namespace weft {

// `scheduler` outlives the object.
template <typename T>
std::shared_ptr<T> FreeOn(Scheduler& scheduler, Pool pool,
                          std::unique_ptr<T> object) {
  return std::shared_ptr<T>(object.release(), [&scheduler, pool](T* last) {
    scheduler.Schedule(pool, [owned = std::unique_ptr<T>(last)] {});
  });
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_FREE_ON_H_
