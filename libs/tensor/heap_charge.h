// HeapCharge counts memory that a kernel takes from the C++ heap in the memory
// bound of an Allocator: the bytes of strings, and of containers whose size
// follows from a value. The bound knows only what the allocator hands out, and
// the system grants heap memory that it does not have, and ends the process
// when that is written. So charge before you take:
//
//   HeapCharge charge(context.host_allocator());
//   RETURN_IF_ERROR(charge.AddObjects(count, sizeof(Entry)));
//   std::vector<Entry> entries(count);
//
// The charge holds the bytes in blocks of the allocator that nobody writes, so
// they count as in use and take no memory of the system. Hold it while the
// memory is filled; a kernel releases it when it returns. From then on the
// bound sees the strings of an output in the memory that the system still has.
//
// A charge of up to kFreeBytes costs one addition and asks nobody.
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

  // Bytes that a string of `size` bytes takes outside of the std::string
  // object: none if it is short.
  static size_t BytesOfString(size_t size) {
    return size < sizeof(std::string) / 2 ? 0 : size + 1;
  }

  // `allocator` hands out host memory and outlives the charge.
  explicit HeapCharge(Allocator& allocator) : allocator_(&allocator) {}
  // A charge that was moved from holds nothing.
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

  // Adds `bytes` that the caller takes next. RESOURCE_EXHAUSTED: there is no
  // memory for them, they are not added, and the caller must not take them.
  absl::Status Add(size_t bytes) {
    if (bytes <= granted_ - used_) {
      used_ += bytes;
      return absl::OkStatus();
    }
    return Grow(bytes);
  }
  // The same for `count` objects of `size` bytes each.
  absl::Status AddObjects(size_t count, size_t size);
  // The same for `count` strings of `length` bytes each, beside their objects.
  absl::Status AddStrings(size_t count, size_t length) {
    return AddObjects(count, BytesOfString(length));
  }
  // The caller has released `bytes` of those that it added. What the charge
  // holds serves later additions.
  void Subtract(size_t bytes) { used_ -= bytes; }

  size_t used() const { return used_; }

 private:
  absl::Status Grow(size_t bytes);

  Allocator* allocator_;
  size_t used_ = 0;              // never more than granted_
  size_t granted_ = kFreeBytes;  // and what blocks_ hold
  // Each is at least half as large as those before it.
  absl::InlinedVector<BufferPtr, 2> blocks_;
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_HEAP_CHARGE_H_
