// Counters of a test program's heap allocations and copies. Linking it replaces
// operator new, memcpy and memmove of the whole program.
//
// Thread-safe; counts cover all threads since program start.
#ifndef WEFT_INTEGRATION_TESTS_CLUSTERS_COUNTED_MEMORY_H_
#define WEFT_INTEGRATION_TESTS_CLUSTERS_COUNTED_MEMORY_H_

#include <cstdint>

namespace weft {

// Number of calls of operator new. Tensor buffers are not counted, except for
// the small object that owns each.
int64_t HeapAllocations();

// Copies of fewer bytes are not counted.
inline constexpr int64_t kSmallestCopy = 1024;
// Bytes of copies of at least that size, by memcpy and memmove.
int64_t CopiedBytes();
// False under AddressSanitizer and ThreadSanitizer, which make their own
// copies.
bool CopiesAreCounted();

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_CLUSTERS_COUNTED_MEMORY_H_
