// HeapCharge counts memory that a kernel takes from the C++ heap in the memory
// limit of an Allocator: the bytes of strings, and of containers whose size
// depends on a value. The limit only knows the allocator's blocks; the system
// overcommits heap memory, and kills the process when it is written. So charge
// before allocating:
//
//   HeapCharge charge(context.host_allocator());
//   RETURN_IF_ERROR(charge.AddObjects(count, sizeof(Entry)));
//   std::vector<Entry> entries(count);
//
// The charge holds the bytes in blocks of the allocator that are never written,
// so they count as in use and take no memory of the system. Hold it while the
// memory is filled; a kernel releases it when it returns. From then on the
// strings of an output are visible to the limit as memory that the system no
// longer has.
//
// A charge of up to kFreeBytes costs one addition and does not call the
// allocator.
//
// Threads: one at a time.
#ifndef WEFT_LIBS_TENSOR_HEAP_CHARGE_H_
#define WEFT_LIBS_TENSOR_HEAP_CHARGE_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "libs/tensor/buffer.h"

namespace weft {

class HeapCharge {
 public:
  static constexpr size_t kFreeBytes = size_t{1} << 20;

  // The bytes that a string of `size` bytes takes outside of the std::string
  // object: none if it is short.
  static size_t BytesOfString(size_t size) {
    return size < sizeof(std::string) / 2 ? 0 : size + 1;
  }

  // `allocator` allocates host memory and must outlive the charge.
  explicit HeapCharge(Allocator& allocator) : allocator_(&allocator) {}
  // A moved-from charge holds nothing.
  HeapCharge(HeapCharge&& other) noexcept
      : allocator_(other.allocator_),
        used_(std::exchange(other.used_, 0)),
        granted_(std::exchange(other.granted_, kFreeBytes)),
        blocks_(std::exchange(other.blocks_, {})) {}
  HeapCharge& operator=(HeapCharge&& other) noexcept {
    allocator_ = other.allocator_;
    used_ = std::exchange(other.used_, 0);
    granted_ = std::exchange(other.granted_, kFreeBytes);
    blocks_ = std::exchange(other.blocks_, {});
    return *this;
  }

  // Adds `bytes` that the caller is about to allocate. RESOURCE_EXHAUSTED:
  // there is no memory for them, they are not added, and the caller must not
  // allocate them.
  absl::Status Add(size_t bytes) {
    if (bytes <= granted_ - used_) {
      used_ += bytes;
      return absl::OkStatus();
    }
    return Grow(bytes);
  }
  // The same for `count` objects of `size` bytes each.
  absl::Status AddObjects(size_t count, size_t size);
  // The same for `count` strings of `length` bytes each, without their objects.
  absl::Status AddStrings(size_t count, size_t length) {
    return AddObjects(count, BytesOfString(length));
  }
  // The caller has released `bytes` that it had added. The charge keeps its
  // blocks for later additions.
  void Subtract(size_t bytes) { used_ -= bytes; }

  size_t used() const { return used_; }

 private:
  absl::Status Grow(size_t bytes);

  Allocator* allocator_;
  size_t used_ = 0;              // at most granted_
  size_t granted_ = kFreeBytes;  // plus the size of blocks_
  // Each is at least half as large as those before it together, except near
  // the limit.
  absl::InlinedVector<BufferPtr, 2> blocks_;
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_HEAP_CHARGE_H_
