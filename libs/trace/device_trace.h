// DeviceTrace records the node runs of one device in one step.
//
// Threads: thread-safe. A DeviceTrace exists only in traced steps.
#ifndef WEFT_LIBS_TRACE_DEVICE_TRACE_H_
#define WEFT_LIBS_TRACE_DEVICE_TRACE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "libs/trace/step_stats.h"

namespace weft {

class DeviceTrace {
 public:
  // The maximum size of a trace, because a loop may run forever. Runs beyond
  // this limit are only counted. The limit is about the size of a hundred
  // thousand runs, both in memory and serialized.
  static constexpr size_t kMaxBytes = 16 << 20;

  explicit DeviceTrace(std::string device, size_t max_bytes = kMaxBytes);

  // Adds a run that ended on the calling thread, and sets its thread_id.
  void AddOnThread(NodeExecStats stats);
  // Adds a run that waited without a thread.
  void AddWait(NodeExecStats stats);

  // Returns whether further runs are only counted. Callers should check this
  // first, to avoid building stats that are not needed.
  bool IsFull() const { return left_out_.load(std::memory_order_relaxed) > 0; }
  // Counts a run that is not recorded. REQUIRES: IsFull().
  void AddOmitted(int64_t start_nanos);

  // Returns the recorded runs. Must be called once, after the last run was
  // added.
  DeviceStepStats Take();

 private:
  void Add(NodeExecStats stats) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveOut(int64_t start_nanos) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint32_t ThisThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  size_t bytes_left_ ABSL_GUARDED_BY(mutex_);
  DeviceStepStats stats_ ABSL_GUARDED_BY(mutex_);
  // Maps thread ids to numbers from 1, in order of appearance.
  std::map<int64_t, uint32_t> threads_ ABSL_GUARDED_BY(mutex_);
  // Written under the lock, but read without the lock.
  std::atomic<size_t> left_out_{0};
  int64_t last_start_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_TRACE_DEVICE_TRACE_H_
