// UnclaimedBytes counts the bytes of values that have arrived from other tasks
// for one session's steps and that no step has received yet. The session's
// quota limits them.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_RUNTIME_UNCLAIMED_BYTES_H_
#define WEFT_LIBS_RUNTIME_UNCLAIMED_BYTES_H_

#include <atomic>
#include <cstdint>

#include "libs/tensor/tensor.h"

namespace weft {

class UnclaimedBytes {
 public:
  explicit UnclaimedBytes(int64_t limit) : limit_(limit) {}

  // Returns the bytes that a value counts. A dead value takes memory as well.
  static int64_t CostOf(const Tensor& tensor) {
    constexpr int64_t kBookkeeping = 256;
    return kBookkeeping + static_cast<int64_t>(tensor.TotalBytes());
  }

  // Takes `bytes` from the quota. Returns false, and takes nothing, if they
  // exceed the quota.
  bool Take(int64_t bytes) {
    int64_t before = taken_.load(std::memory_order_relaxed);
    while (bytes <= limit_ - before) {
      if (taken_.compare_exchange_weak(before, before + bytes,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  void GiveBack(int64_t bytes) {
    taken_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  int64_t taken() const { return taken_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }

 private:
  const int64_t limit_;
  std::atomic<int64_t> taken_{0};
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_UNCLAIMED_BYTES_H_
