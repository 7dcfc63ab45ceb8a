#include "libs/kernels/data/element_charge.h"

#include <algorithm>

#include "libs/base/status.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

// Elements are small. Charging them one by one would use the last byte of
// memory, which other threads need; so each step leaves this much.
constexpr size_t kLeastStep = size_t{64} << 10;

// The size of a buffer object with its block's header, and of small values,
// which may be on the heap themselves.
constexpr size_t kBytesOfBuffer = 128;
// The heap's overhead for the vector of an element.
constexpr size_t kBytesOfVector = sizeof(DatasetElement) + 16;

size_t HeapBytesOf(const Tensor& tensor);

size_t BytesOfTexts(const Variant& variant) {
  return HeapCharge::BytesOfString(variant.type_name.size()) +
         HeapCharge::BytesOfString(variant.metadata.size());
}

// Tensors that another variant also holds do not count.
size_t HeapBytesOf(const Variant& variant) {
  size_t bytes = BytesOfTexts(variant);
  if (variant.tensors.use_count() != 1) return bytes;
  bytes += kBytesOfVector + variant.tensors->capacity() * sizeof(Tensor);
  for (const Tensor& tensor : *variant.tensors) bytes += HeapBytesOf(tensor);
  return bytes;
}

size_t HeapBytesOf(const Tensor& tensor) {
  if (!tensor.IsInitialized() || !tensor.RefCountIsOne()) return 0;
  if (tensor.dtype() != DT_VARIANT) {
    return kBytesOfBuffer + BytesOfTexts(tensor);
  }
  size_t bytes = kBytesOfBuffer;
  for (const Variant& variant : tensor.flat<Variant>()) {
    bytes += HeapBytesOf(variant);
  }
  return bytes;
}

}  // namespace

size_t BytesOfTexts(const Tensor& tensor) {
  if (DataTypeSize(tensor.dtype()) != 0) return 0;
  if (tensor.dtype() != DT_VARIANT) {
    return tensor.TotalBytes() - tensor.num_bytes();
  }
  size_t bytes = 0;
  for (const Variant& variant : tensor.flat<Variant>()) {
    bytes += BytesOfTexts(variant);
  }
  return bytes;
}

size_t HeapBytesOf(const DatasetElement& element) {
  size_t bytes = kBytesOfVector + element.capacity() * sizeof(Tensor);
  for (const Tensor& tensor : element) bytes += HeapBytesOf(tensor);
  return bytes;
}

absl::Status ElementCharge::AddAll(
    const std::vector<DatasetElement>& elements) {
  for (const DatasetElement& element : elements) RETURN_IF_ERROR(Add(element));
  return absl::OkStatus();
}

absl::Status ElementCharge::AddBytes(size_t bytes) {
  if (bytes > charge_.used() - used_) {
    const size_t step = std::max(kLeastStep, charge_.used() / 8);
    RETURN_IF_ERROR(charge_.Add(std::max(step, bytes)));
  }
  used_ += bytes;
  ++count_;
  return absl::OkStatus();
}

void ElementCharge::Remove(int64_t count) {
  if (count >= count_) {
    used_ = 0;
    count_ = 0;
    return;
  }
  const size_t average = used_ / static_cast<size_t>(count_);
  used_ -= average * static_cast<size_t>(count);
  count_ -= count;
}

}  // namespace weft
