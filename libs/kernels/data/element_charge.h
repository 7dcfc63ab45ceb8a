// ElementCharge charges the elements that an iterator keeps to the memory
// bound, because their number follows from a program's values (the size of a
// batch or a shuffle buffer). See libs/tensor/heap_charge.h.
//
//   ElementCharge charge(context.allocator());
//   while (...) {
//     RETURN_IF_ERROR(charge.Add(element));
//     elements.push_back(std::move(element));
//   }
//
// It counts memory outside of the allocator's blocks: containers, and the
// contents of strings and variants. The numbers of tensors are in blocks.
//
// Threads: one at a time.
#ifndef WEFT_LIBS_KERNELS_DATA_ELEMENT_CHARGE_H_
#define WEFT_LIBS_KERNELS_DATA_ELEMENT_CHARGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "libs/kernels/data/dataset.h"
#include "libs/tensor/heap_charge.h"

namespace weft {

// The bytes of the C++ heap that only this element holds; shared memory does
// not count.
size_t HeapBytesOf(const DatasetElement& element);

// The bytes of the C++ heap for a copy of the tensor's values: its strings, and
// the texts of variants and resource handles. Copied variants share their
// tensors.
size_t BytesOfTexts(const Tensor& tensor);

class ElementCharge {
 public:
  // The approximate size of an entry of a map or set, without key and value,
  // and of an iterator.
  static constexpr size_t kBytesOfNode = 96;
  static constexpr size_t kBytesOfIterator = 2048;

  explicit ElementCharge(Allocator& allocator) : charge_(allocator) {}

  // Returns RESOURCE_EXHAUSTED if there is no memory for the element; the
  // caller must then not keep it.
  absl::Status Add(const DatasetElement& element) {
    return AddBytes(HeapBytesOf(element));
  }
  absl::Status AddAll(const std::vector<DatasetElement>& elements);
  // Like Add, for another object.
  absl::Status AddBytes(size_t bytes);
  // Must be called when the caller no longer keeps `count` of the added
  // objects. Each counts as the average.
  void Remove(int64_t count = 1);
  int64_t count() const { return count_; }

 private:
  HeapCharge charge_;
  size_t used_ = 0;  // at most the amount in charge_
  int64_t count_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ELEMENT_CHARGE_H_
