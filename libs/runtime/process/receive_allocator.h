// ReceiveAllocator allocates receive buffers. In a process with GPUs they are
// in pinned memory, so that data can be copied to a GPU without another buffer.
#ifndef WEFT_LIBS_RUNTIME_PROCESS_RECEIVE_ALLOCATOR_H_
#define WEFT_LIBS_RUNTIME_PROCESS_RECEIVE_ALLOCATOR_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "libs/tensor/buffer.h"

namespace weft {

// Thread-safe.
class ReceiveAllocator : public Allocator {
 public:
  // The sizes of buffers that use pinned memory. Kernels copy smaller buffers
  // anyway; larger buffers would leave no pinned memory for others.
  static constexpr size_t kLeastPinned = size_t{64} << 10;
  static constexpr size_t kMostPinned = size_t{64} << 20;

  // `others` allocates all memory that is not pinned; it must outlive this
  // object.
  explicit ReceiveAllocator(Allocator& others) : others_(others) {}

  // Uses `pinned` from now on. Must be called at most once. `pinned` must
  // return null, instead of waiting, if it has no memory left; its buffers may
  // outlive it.
  void UsePinned(std::unique_ptr<Allocator> pinned) {
    own_pinned_ = std::move(pinned);
    pinned_.store(own_pinned_.get(), std::memory_order_release);
  }

  BufferPtr Allocate(size_t bytes) override {
    Allocator* const pinned = pinned_.load(std::memory_order_acquire);
    if (pinned != nullptr && bytes >= kLeastPinned && bytes <= kMostPinned) {
      if (BufferPtr buffer = pinned->Allocate(bytes)) return buffer;
    }
    return others_.Allocate(bytes);
  }

 private:
  Allocator& others_;
  std::unique_ptr<Allocator> own_pinned_;
  std::atomic<Allocator*> pinned_{nullptr};
};

}  // namespace weft

#endif  // WEFT_LIBS_RUNTIME_PROCESS_RECEIVE_ALLOCATOR_H_
