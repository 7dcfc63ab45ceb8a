#include "libs/kernels/op_kernel.h"

#include <memory>
#include <utility>

#include "libs/base/status.h"

namespace weft {
namespace {

// Elements with constructors (size 0) keep their type.
bool HasElementsLike(DataType a, DataType b) {
  return a == b || (DataTypeSize(a) != 0 && DataTypeSize(a) == DataTypeSize(b));
}

// Scalars, the most common small values, need no call.
bool IsShape(const TensorShape& a, const TensorShape& b) {
  if (&a == &b) return true;
  return a.rank() == b.rank() && (a.rank() == 0 || a == b);
}

// The same memory, viewed as elements of another type of the same size.
Tensor WithType(const Tensor& tensor, DataType type) {
  // Without elements there is no offset into the buffer.
  const size_t offset =
      tensor.num_elements() == 0
          ? 0
          : static_cast<const char*>(tensor.data()) -
                static_cast<const char*>(tensor.buffer()->data());
  return Tensor::FromBuffer(type, tensor.shape(), tensor.buffer(), offset);
}

}  // namespace

const Device* OpKernelContext::MemoryOfOutput(int i) const {
  const bool on_host = node_.is_on_host || (!node_.outputs_on_host.empty() &&
                                            node_.outputs_on_host[i]);
  return on_host || step_.host_allocator == nullptr ? nullptr : step_.device;
}

absl::StatusOr<Tensor*> OpKernelContext::AllocateOutput(
    int i, const TensorShape& shape) {
  const bool on_host =
      !node_.outputs_on_host.empty() && node_.outputs_on_host[i];
  absl::StatusOr<Tensor> made = Tensor::Allocate(
      on_host ? host_allocator() : allocator(), node_.output_types[i], shape);
  if (!made.ok()) return std::move(made).status();
  MakeAnew(outputs_[i].tensor, *std::move(made));
  return &outputs_[i].tensor;
}

absl::StatusOr<Tensor*> OpKernelContext::ForwardOrAllocate(
    std::initializer_list<int> candidates, int i, const TensorShape& shape) {
  const DataType type = node_.output_types[i];
  for (int candidate : candidates) {
    const Tensor& input = inputs_[candidate].tensor;
    if (!input.RefCountIsOne() || !HasElementsLike(input.dtype(), type) ||
        !IsShape(input.shape(), shape)) {
      continue;
    }
    // The input shares the memory: the kernel reads each element before it
    // overwrites it.
    Tensor& output = outputs_[i].tensor;
    if (input.dtype() == type) {
      // Constructed in place, which is faster than a copy that is then moved.
      std::destroy_at(&output);
      std::construct_at(&output, input.ShareWhenSole());
    } else {
      output = WithType(input, type);
    }
    return &output;
  }
  return AllocateOutput(i, shape);
}

absl::StatusOr<Tensor> OpKernelContext::AllocateTemp(DataType dtype,
                                                     const TensorShape& shape) {
  return Tensor::Allocate(allocator(), dtype, shape);
}

}  // namespace weft
