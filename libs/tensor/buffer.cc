#include "libs/tensor/buffer.h"

#include <cstdlib>
#include <new>

#include "libs/tensor/size_class.h"

namespace weft {
namespace {

constexpr size_t kHeader = Buffer::kAlignment;  // before the data, in one block

// Aligned manually: aligned_alloc bypasses glibc's caches of small blocks.
class HeapBuffer final : public Buffer {
 public:
  static BufferPtr New(size_t bytes) {
    if (bytes > internal::kMaxBufferBytes) return {};
    void* block = std::malloc(kHeader + kAlignment + bytes);
    if (block == nullptr) return {};
    const auto address = reinterpret_cast<uintptr_t>(block);
    auto* header =
        reinterpret_cast<char*>((address + kAlignment - 1) & ~(kAlignment - 1));
    return BufferPtr::Adopt(new (static_cast<void*>(header))
                                HeapBuffer(block, header + kHeader, bytes));
  }

 private:
  HeapBuffer(void* block, void* data, size_t bytes)
      : Buffer(data, bytes), block_(block) {}
  void Destroy() override {
    void* block = block_;
    this->~HeapBuffer();
    std::free(block);
  }

  // As malloc returned it; this object may be at an offset in it.
  void* const block_;
};
static_assert(sizeof(HeapBuffer) <= kHeader);

class Heap final : public Allocator {
 public:
  BufferPtr Allocate(size_t bytes) override { return HeapBuffer::New(bytes); }
};

}  // namespace

Allocator& HeapAllocator() {
  static Heap& heap = *new Heap;  // never destroyed: it holds nothing
  return heap;
}

}  // namespace weft
