// FailingMemory makes one allocation fail, for tests of code that must leave
// its objects unchanged when std::bad_alloc is thrown.
//
// A program that links this library has its own operator new and delete, which
// call malloc and free.
#ifndef WEFT_LIBS_BASE_TESTING_FAILING_MEMORY_H_
#define WEFT_LIBS_BASE_TESTING_FAILING_MEMORY_H_

#include <cstdint>

namespace weft {

// While a FailingMemory exists, the `nth` call of operator new by this thread
// throws std::bad_alloc. The first call has number 1. All other calls succeed.
// At most one FailingMemory may exist per thread.
class FailingMemory {
 public:
  explicit FailingMemory(int64_t nth);
  ~FailingMemory();
  FailingMemory(const FailingMemory&) = delete;
  FailingMemory& operator=(const FailingMemory&) = delete;

  // Returns whether the failing call was made.
  bool has_failed() const;
};

}  // namespace weft

#endif  // WEFT_LIBS_BASE_TESTING_FAILING_MEMORY_H_
