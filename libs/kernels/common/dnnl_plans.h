// DnnlPlans caches oneDNN primitives for the most recent shapes of a kernel.
#ifndef WEFT_LIBS_KERNELS_COMMON_DNNL_PLANS_H_
#define WEFT_LIBS_KERNELS_COMMON_DNNL_PLANS_H_

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace weft {

// DnnlPlans maps shapes of type `Key` to plans. Thread-safe.
template <typename Key, typename Plan>
class DnnlPlans {
 public:
  using SharedPlan = std::shared_ptr<const Plan>;

  // Returns the plan for `key`, or the result of `make()`, a
  // StatusOr<SharedPlan>. Null means that there is no good implementation; it
  // is cached as well.
  template <typename Make>
  SharedPlan Find(const Key& key, const Make& make) {
    absl::MutexLock lock(&mutex_);
    auto found =
        std::find_if(plans_.begin(), plans_.end(),
                     [&](const auto& plan) { return plan.first == key; });
    if (found == plans_.end()) {
      absl::StatusOr<SharedPlan> plan = make();
      if (plans_.size() == kMaxPlans) plans_.pop_back();
      plans_.emplace_back(key, plan.ok() ? *std::move(plan) : nullptr);
      found = plans_.end() - 1;
    }
    std::rotate(plans_.begin(), found, found + 1);
    return plans_.front().second;
  }

 private:
  // The maximum number of cached plans. A node may alternate between several
  // shapes: full batches and a shorter last batch, or buckets of lengths.
  static constexpr size_t kMaxPlans = 8;

  absl::Mutex mutex_;
  // The cached plans, the most recently used first.
  std::vector<std::pair<Key, SharedPlan>> plans_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_COMMON_DNNL_PLANS_H_
