// TurnOffDeadlockDetectorInOptimizedBuilds disables Abseil's deadlock detector.
// Each scheduler calls it before it starts threads.
#ifndef WEFT_LIBS_BASE_SCHEDULER_DEADLOCK_DETECTOR_H_
#define WEFT_LIBS_BASE_SCHEDULER_DEADLOCK_DETECTOR_H_

#include "absl/synchronization/mutex.h"

namespace weft {

// Debian's Abseil checks for lock cycles whenever a mutex is locked, under one
// spin lock for the whole process. The check costs five times as much as the
// mutex itself. Builds without NDEBUG, including the tests, keep the check and
// abort if there is a cycle.
inline void TurnOffDeadlockDetectorInOptimizedBuilds() {
#ifdef NDEBUG
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_SCHEDULER_DEADLOCK_DETECTOR_H_
