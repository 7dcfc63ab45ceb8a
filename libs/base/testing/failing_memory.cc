#include "libs/base/testing/failing_memory.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

// How many more calls of operator new succeed on this thread before one fails.
// A negative number means that no call fails. The failing call sets it to 0.
thread_local int64_t calls_left = -1;

}  // namespace

void* operator new(size_t size) {
  if (calls_left > 0 && --calls_left == 0) throw std::bad_alloc();
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
// Some libraries call this operator new as well. The same operator delete frees
// its memory.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size > 0 ? size : 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace weft {

FailingMemory::FailingMemory(int64_t nth) { calls_left = nth; }
FailingMemory::~FailingMemory() { calls_left = -1; }
bool FailingMemory::has_failed() const { return calls_left == 0; }

}  // namespace weft
