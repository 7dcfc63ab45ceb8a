// RequestCount counts the open requests of one peer, over all of its
// connections. RequestCounts finds the count of a client by its incarnation,
// which the client draws for each session; the requests of all clients are also
// counted together.
//
// Threads: thread-safe. The lock of RequestCounts is taken once per connection.
//
// Ownership: shared; requests that still count (IncomingCall::KeepOpen) may
// outlive the endpoint.
#ifndef WEFT_LIBS_BUS_REQUEST_COUNT_H_
#define WEFT_LIBS_BUS_REQUEST_COUNT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

namespace weft::bus {

class RequestCount {
 public:
  // `all` also counts the requests of this object. It may be null.
  explicit RequestCount(std::shared_ptr<RequestCount> all = nullptr)
      : all_(std::move(all)) {}

  // Counts one more request; returns false without effect if there are already
  // `limit`, or `limit_of_all` of all together.
  bool TryAdd(int64_t limit, int64_t limit_of_all) {
    if (all_ != nullptr && !all_->AddBelow(limit_of_all)) return false;
    if (AddBelow(limit)) return true;
    if (all_ != nullptr) all_->Remove();
    return false;
  }
  void Remove() {
    open_.fetch_sub(1, std::memory_order_relaxed);
    if (all_ != nullptr) all_->Remove();
  }
  bool HasFewerThan(int64_t limit) const {
    return open_.load(std::memory_order_relaxed) < limit;
  }

 private:
  // Relaxed order is sufficient here: the count protects no other data.
  bool AddBelow(int64_t limit) {
    int64_t open = open_.load(std::memory_order_relaxed);
    while (open < limit) {
      if (open_.compare_exchange_weak(open, open + 1,
                                      std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  const std::shared_ptr<RequestCount> all_;
  std::atomic<int64_t> open_{0};
};

class RequestCounts : public std::enable_shared_from_this<RequestCounts> {
 public:
  std::shared_ptr<RequestCount> Of(uint64_t incarnation)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    std::weak_ptr<RequestCount>& known = counts_[incarnation];
    std::shared_ptr<RequestCount> count = known.lock();
    if (count != nullptr) return count;
    count = std::shared_ptr<RequestCount>(
        new RequestCount(all_),
        [self = shared_from_this(), incarnation](RequestCount* last) {
          delete last;
          self->Forget(incarnation);
        });
    known = count;
    return count;
  }

 private:
  // The client may have connected again in the meantime.
  void Forget(uint64_t incarnation) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    const auto known = counts_.find(incarnation);
    if (known != counts_.end() && known->second.expired()) counts_.erase(known);
  }

  const std::shared_ptr<RequestCount> all_ = std::make_shared<RequestCount>();
  absl::Mutex mutex_;
  absl::flat_hash_map<uint64_t, std::weak_ptr<RequestCount>> counts_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_REQUEST_COUNT_H_
