// LandingAllocator: memory for what other processes send. Where there is a GPU
// it is pinned, so that a copy from there needs no other.
#ifndef WEFT_LIBS_RUNTIME_LANDING_ALLOCATOR_H_
#define WEFT_LIBS_RUNTIME_LANDING_ALLOCATOR_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "libs/tensor/buffer.h"

namespace weft {

// Thread-safe.
class LandingAllocator : public Allocator {
 public:
  // What is smaller is copied with the kernels; what is larger would leave no
  // room for others.
  static constexpr size_t kLeastPinned = size_t{64} << 10;
  static constexpr size_t kMostPinned = size_t{64} << 20;

  // `others` is for all that is not pinned; outlives this.
  explicit LandingAllocator(Allocator& others) : others_(others) {}

  // From now on. Called once at most; `pinned` gives nothing rather than wait,
  // and its buffers may outlive it.
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

#endif  // WEFT_LIBS_RUNTIME_LANDING_ALLOCATOR_H_
