// DeviceTrace: takes down what runs on one device in one step.
//
// Threads: thread-safe. It exists only in steps that are traced.
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
  // A loop may go around for ever: of the runs beyond this only the number is
  // told. About what a hundred thousand runs take, in memory and as bytes.
  static constexpr size_t kMaxBytes = 16 << 20;

  explicit DeviceTrace(std::string device, size_t max_bytes = kMaxBytes);

  // A run that ended on this thread; its thread_id is set here.
  void AddOnThread(NodeExecStats stats);
  // One that waited without a thread.
  void AddWait(NodeExecStats stats);

  // Whether further runs only count: who asks first makes nothing for them.
  bool IsFull() const { return left_out_.load(std::memory_order_relaxed) > 0; }
  // REQUIRES: IsFull().
  void AddUntold(int64_t start_nanos);

  // All there is. Once, when nothing is added any more.
  DeviceStepStats Take();

 private:
  void Add(NodeExecStats stats) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LeaveOut(int64_t start_nanos) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint32_t ThisThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  size_t bytes_left_ ABSL_GUARDED_BY(mutex_);
  DeviceStepStats stats_ ABSL_GUARDED_BY(mutex_);
  // Numbered from 1 as they come.
  std::map<int64_t, uint32_t> threads_ ABSL_GUARDED_BY(mutex_);
  // Written under the lock.
  std::atomic<size_t> left_out_{0};
  int64_t last_start_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_TRACE_DEVICE_TRACE_H_
