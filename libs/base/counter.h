// Counter: how often something has happened, or how much of it. Adding to one
// costs a relaxed atomic addition, so that what is counted need not be thought
// about; whoever wants the number reads it when he wants it.
//
// Threads: thread-safe. Several counters that are read one after the other may
// be of different moments.
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
