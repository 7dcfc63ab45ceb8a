#include "libs/tensor/buffer.h"

#include <cstdlib>
#include <new>

#include "libs/tensor/size_class.h"

namespace weft {
namespace {

constexpr size_t kHeader = Buffer::kAlignment;  // before the data, in one block

class HeapBuffer final : public Buffer {
 public:
  static BufferPtr New(size_t bytes) {
    if (bytes > internal::kMaxBufferBytes) return {};
    const size_t rounded = (bytes + kHeader - 1) & ~(kHeader - 1);
    void* block = std::aligned_alloc(kAlignment, kHeader + rounded);
    if (block == nullptr) return {};
    void* data = static_cast<char*>(block) + kHeader;
    return BufferPtr::Adopt(new (block) HeapBuffer(data, bytes));
  }

 private:
  using Buffer::Buffer;
  void Destroy() override {
    this->~HeapBuffer();
    std::free(this);
  }
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
