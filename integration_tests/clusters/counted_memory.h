// Counters of a test program's heap allocations and copies. Linking it replaces
// operator new, memcpy and memmove of the whole program.
//
// Thread-safe; counts cover all threads since program start.
#ifndef WEFT_INTEGRATION_TESTS_CLUSTERS_COUNTED_MEMORY_H_
#define WEFT_INTEGRATION_TESTS_CLUSTERS_COUNTED_MEMORY_H_

#include <cstdint>

namespace weft {

// Returns the number of calls of operator new. Tensor buffers are not counted,
// except for the small object that owns each buffer.
int64_t HeapAllocations();

// Copies of fewer bytes are not counted.
inline constexpr int64_t kSmallestCopy = 1024;
// Returns the number of bytes in memcpy and memmove calls of at least
// kSmallestCopy bytes.
int64_t CopiedBytes();
// Returns whether copies are counted. False under AddressSanitizer and
// ThreadSanitizer, which replace memcpy and memmove themselves.
bool CopiesAreCounted();

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_CLUSTERS_COUNTED_MEMORY_H_
