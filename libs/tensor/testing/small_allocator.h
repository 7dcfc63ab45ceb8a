// SmallAllocator is the heap with a limit of bytes: for tests of allocations
// whose size comes from untrusted bytes.
#ifndef WEFT_LIBS_TENSOR_TESTING_SMALL_ALLOCATOR_H_
#define WEFT_LIBS_TENSOR_TESTING_SMALL_ALLOCATOR_H_

#include <atomic>
#include <cstddef>

#include "libs/tensor/buffer.h"

namespace weft {

// Thread-safe.
class SmallAllocator : public Allocator {
 public:
  // No block is larger than `block` bytes, and all allocations together are at
  // most `total`.
  SmallAllocator(size_t block, size_t total) : block_(block), left_(total) {}

  BufferPtr Allocate(size_t bytes) override {
    if (bytes > block_) return BufferPtr();
    size_t left = left_.load(std::memory_order_relaxed);
    do {
      if (bytes > left) return BufferPtr();
    } while (!left_.compare_exchange_weak(left, left - bytes,
                                          std::memory_order_relaxed));
    return HeapAllocator().Allocate(bytes);
  }

 private:
  const size_t block_;
  std::atomic<size_t> left_;
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TESTING_SMALL_ALLOCATOR_H_
