// LaunchMarks tracks the progress of a stream by the events that were recorded
// on it for other reasons. So the new owner of freed memory can wait for
// exactly the work that used it, and usually need not wait.
//
// A mark is the number of events begun. Work launched when the clock showed
// `mark` has ended as soon as an event with a higher number has ended: that one
// was recorded later.
#ifndef WEFT_LIBS_DEVICE_CUDA_LAUNCH_MARKS_H_
#define WEFT_LIBS_DEVICE_CUDA_LAUNCH_MARKS_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace weft {

// The newest mark. Unused memory has mark 0.
using LaunchClock = std::atomic<uint64_t>;
inline std::shared_ptr<LaunchClock> NewLaunchClock() {
  return std::make_shared<LaunchClock>(1);
}

// Thread-safe.
template <typename Event>
class LaunchMarks {
 public:
  explicit LaunchMarks(std::shared_ptr<LaunchClock> clock)
      : clock_(std::move(clock)) {}

  const LaunchClock& clock() const { return *clock_; }

  // Returns the number of an event that is about to be recorded. It must be
  // called before recording: memory that is freed in between, after a launch
  // that the event does not cover, must not have an older mark.
  uint64_t Begin() { return clock_->fetch_add(1) + 1; }
  void Recorded(uint64_t number, std::shared_ptr<const Event> event) {
    const absl::MutexLock lock(&mutex_);
    if (number > ended_) pending_[number] = std::move(event);
  }
  // The event has ended, or never will.
  void Ended(uint64_t number) {
    const absl::MutexLock lock(&mutex_);
    if (number <= ended_) return;
    ended_ = number;
    pending_.erase(pending_.begin(), pending_.upper_bound(number));
  }

  bool HasEnded(uint64_t number) const {
    const absl::MutexLock lock(&mutex_);
    return number <= ended_;
  }

  struct Wait {
    bool is_needed = false;
    uint64_t number = 0;
    std::shared_ptr<const Event> event;  // null: a new one must be recorded
  };
  // Returns a wait for work launched when the clock showed `mark`.
  Wait WaitFor(uint64_t mark) const {
    const absl::MutexLock lock(&mutex_);
    if (ended_ > mark) return {};
    const auto later = pending_.upper_bound(mark);
    if (later == pending_.end()) return {.is_needed = true};
    return {true, later->first, later->second};
  }

 private:
  const std::shared_ptr<LaunchClock> clock_;
  mutable absl::Mutex mutex_;
  uint64_t ended_ ABSL_GUARDED_BY(mutex_) = 1;  // the highest
  std::map<uint64_t, std::shared_ptr<const Event>> pending_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_DEVICE_CUDA_LAUNCH_MARKS_H_
