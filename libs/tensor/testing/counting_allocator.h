// CountingAllocator counts its allocations, and refuses those above a limit.
//
// Threads: one at a time.
#ifndef WEFT_LIBS_TENSOR_TESTING_COUNTING_ALLOCATOR_H_
#define WEFT_LIBS_TENSOR_TESTING_COUNTING_ALLOCATOR_H_

#include <cstddef>

#include "libs/tensor/buffer.h"

namespace weft {

class CountingAllocator : public Allocator {
 public:
  BufferPtr Allocate(size_t bytes) override {
    ++allocations;
    if (bytes > most) return BufferPtr();
    return HeapAllocator().Allocate(bytes);
  }
  int allocations = 0;
  size_t most = size_t{1} << 30;
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TESTING_COUNTING_ALLOCATOR_H_
