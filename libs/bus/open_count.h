// OpenCount counts the open items of one owner and, in `total`, of several
// owners.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_BUS_OPEN_COUNT_H_
#define WEFT_LIBS_BUS_OPEN_COUNT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

namespace weft::bus {

class OpenCount {
 public:
  // `total` also counts the items of this object. It may be null.
  explicit OpenCount(std::shared_ptr<OpenCount> total = nullptr)
      : total_(std::move(total)) {}

  void Add(int64_t change) {
    count_.fetch_add(change, std::memory_order_relaxed);
    if (total_ != nullptr) total_->Add(change);
  }
  // Returns whether no item is open. May miss a concurrent Add.
  bool IsZero() const { return count_.load(std::memory_order_relaxed) == 0; }

 private:
  std::atomic<int64_t> count_{0};
  const std::shared_ptr<OpenCount> total_;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_OPEN_COUNT_H_
