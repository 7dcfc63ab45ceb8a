// Counter counts how often something has happened, or sums an amount. Adding
// costs one relaxed atomic addition.
//
// Threads: thread-safe. Counters that are read one after another may show
// values from different times.
#ifndef WEFT_LIBS_BASE_COUNTER_H_
#define WEFT_LIBS_BASE_COUNTER_H_

#include <atomic>
#include <cstdint>

namespace weft {

class Counter {
 public:
  void Add(uint64_t count = 1) {
    value_.fetch_add(count, std::memory_order_relaxed);
  }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_COUNTER_H_
