#include "integration_tests/clusters/counted_memory.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "absl/base/config.h"

namespace {

std::atomic<int64_t> heap_allocations{0};
std::atomic<int64_t> copied_bytes{0};

#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER)
constexpr bool kCopiesAreCounted = false;
#else
constexpr bool kCopiesAreCounted = true;

void CountCopy(size_t size) {
  if (size < weft::kSmallestCopy) return;
  copied_bytes.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
}

// Copies with a single instruction, because the compiler could replace a loop
// by a call of memcpy.
void CopyUpwards(void* to, const void* from, size_t size) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
}
void CopyDownwards(char* to, const char* from, size_t size) {
  const char* last_from = from + size - 1;
  char* last_to = to + size - 1;
  asm volatile("std; rep movsb; cld"
               : "+D"(last_to), "+S"(last_from), "+c"(size)
               :
               : "memory");
}
#endif

}  // namespace

void* operator new(size_t size, const std::nothrow_t&) noexcept {
  heap_allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size);
}
void* operator new(size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

#if !defined(ABSL_HAVE_ADDRESS_SANITIZER) && \
    !defined(ABSL_HAVE_THREAD_SANITIZER)
extern "C" {

void* memcpy(void* __restrict to, const void* __restrict from, size_t size) {
  CountCopy(size);
  CopyUpwards(to, from, size);
  return to;
}

void* memmove(void* to, const void* from, size_t size) {
  CountCopy(size);
  const auto begin = static_cast<const char*>(from);
  if (to <= from || to >= begin + size) {
    CopyUpwards(to, from, size);
  } else {
    CopyDownwards(static_cast<char*>(to), begin, size);
  }
  return to;
}

}  // extern "C"
#endif

namespace weft {

int64_t HeapAllocations() { return heap_allocations.load(); }
int64_t CopiedBytes() { return copied_bytes.load(); }
bool CopiesAreCounted() { return kCopiesAreCounted; }

}  // namespace weft
