// TurnOffDeadlockDetectorInOptimizedBuilds: what each scheduler asks for before
// it starts threads.
#ifndef WEFT_LIBS_BASE_DEADLOCK_DETECTOR_H_
#define WEFT_LIBS_BASE_DEADLOCK_DETECTOR_H_

#include "absl/synchronization/mutex.h"

namespace weft {

// Debian's Abseil looks for lock cycles whenever a mutex is locked, under one
// spin lock of the whole process: five times the cost of the mutex itself.
// Builds without NDEBUG, and so the tests, keep that; a cycle aborts them.
inline void TurnOffDeadlockDetectorInOptimizedBuilds() {
#ifdef NDEBUG
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_DEADLOCK_DETECTOR_H_
