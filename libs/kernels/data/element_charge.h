// ElementCharge counts elements that an iterator keeps in the memory bound: how
// many it keeps follows from a program's values (the size of a batch, of a
// shuffle buffer). See libs/tensor/heap_charge.h.
//
//   ElementCharge charge(context.allocator());
//   while (...) {
//     RETURN_IF_ERROR(charge.Add(element));
//     elements.push_back(std::move(element));
//   }
//
// It counts what lies beside the allocator's blocks: containers, and what
// strings and variants hold. Values of tensors are in blocks already.
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

// Bytes of the C++ heap that only this element holds. What it shares with other
// elements counts nothing.
size_t HeapBytesOf(const DatasetElement& element);

// Bytes of the C++ heap that a copy of the tensor's values takes: its strings,
// and the texts of variants and resource handles. Copied variants share their
// tensors.
size_t BytesOfTexts(const Tensor& tensor);

class ElementCharge {
 public:
  // About what one entry of a map or set takes beside its key and value, and
  // what one iterator takes.
  static constexpr size_t kBytesOfNode = 96;
  static constexpr size_t kBytesOfIterator = 2048;

  explicit ElementCharge(Allocator& allocator) : charge_(allocator) {}

  // RESOURCE_EXHAUSTED: there is no memory for the element, and the caller must
  // not keep it.
  absl::Status Add(const DatasetElement& element) {
    return AddBytes(HeapBytesOf(element));
  }
  absl::Status AddAll(const std::vector<DatasetElement>& elements);
  // The same for something else that is kept.
  absl::Status AddBytes(size_t bytes);
  // The caller no longer keeps `count` of what it added. Each counts as the
  // average.
  void Remove(int64_t count = 1);
  int64_t count() const { return count_; }

 private:
  HeapCharge charge_;
  size_t used_ = 0;  // never more than charge_ holds
  int64_t count_ = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ELEMENT_CHARGE_H_
