// Loops over elements that use as many threads as their work justifies.
#ifndef WEFT_LIBS_KERNELS_COMMON_PARALLEL_LOOP_H_
#define WEFT_LIBS_KERNELS_COMMON_PARALLEL_LOOP_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// The minimum work per thread for which waking another thread pays off: about
// 10 microseconds of simple arithmetic.
inline constexpr int64_t kElementsPerThread = 32768;

// Calls `work(begin, end)` for ranges that cover [0, items), where an item has
// `elements_per_item` elements.
template <typename Work>
void ParallelLoop(OpKernelContext& context, int64_t items,
                  int64_t elements_per_item, const Work& work) {
  const int64_t minimum = std::max<int64_t>(
      1, kElementsPerThread / std::max<int64_t>(1, elements_per_item));
  if (items <= minimum) {
    if (items > 0) work(int64_t{0}, items);
    return;
  }
  context.scheduler().ParallelFor(items, minimum, work);
}

// FirstError keeps the first error that several threads report. Thread-safe.
class FirstError {
 public:
  void Update(absl::Status status) {
    if (status.ok()) return;
    absl::MutexLock lock(&mutex_);
    status_.Update(std::move(status));
  }
  absl::Status Take() {
    absl::MutexLock lock(&mutex_);
    return status_;
  }

 private:
  absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_PARALLEL_LOOP_H_
