// Counts what a test program does with memory. Linking it replaces operator
// new, memcpy and memmove of the whole program.
//
// Thread-safe; counts are of all threads since the program began.
#ifndef WEFT_INTEGRATION_TESTS_COUNTED_MEMORY_H_
#define WEFT_INTEGRATION_TESTS_COUNTED_MEMORY_H_

#include <cstdint>

namespace weft {

// Through operator new. Buffers of tensors are not among them, except for the
// small object that stands for one.
int64_t HeapAllocations();

// A copy of fewer bytes than this is not worth counting.
inline constexpr int64_t kSmallestCopy = 1024;
// Bytes of copies of at least that size, by memcpy and memmove.
int64_t CopiedBytes();
// False under Address- and ThreadSanitizer, which copy by themselves.
bool CopiesAreCounted();

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_COUNTED_MEMORY_H_
