#include "libs/kernels/op_kernel.h"

#include <utility>

#include "libs/base/status.h"

namespace weft {
namespace {

// Elements with constructors (size 0) keep their type.
bool HasElementsLike(DataType a, DataType b) {
  return a == b || (DataTypeSize(a) != 0 && DataTypeSize(a) == DataTypeSize(b));
}

// The same memory, seen as elements of another type of the same size.
Tensor WithType(const Tensor& tensor, DataType type) {
  if (tensor.dtype() == type) return tensor;
  const size_t offset = static_cast<const char*>(tensor.data()) -
                        static_cast<const char*>(tensor.buffer()->data());
  return Tensor::FromBuffer(type, tensor.shape(), tensor.buffer(), offset);
}

}  // namespace

absl::StatusOr<Tensor*> OpKernelContext::AllocateOutput(
    int i, const TensorShape& shape) {
  const bool on_host =
      !node_.outputs_on_host.empty() && node_.outputs_on_host[i];
  ASSIGN_OR_RETURN(outputs_[i].tensor,
                   Tensor::Allocate(on_host ? host_allocator() : allocator(),
                                    node_.output_types[i], shape));
  return &outputs_[i].tensor;
}

absl::StatusOr<Tensor*> OpKernelContext::ForwardOrAllocate(
    std::initializer_list<int> candidates, int i, const TensorShape& shape) {
  const DataType type = node_.output_types[i];
  for (int candidate : candidates) {
    const Tensor& input = inputs_[candidate].tensor;
    if (!input.RefCountIsOne() || !HasElementsLike(input.dtype(), type) ||
        (&input.shape() != &shape && input.shape() != shape)) {
      continue;
    }
    // The input still reads the same memory: the kernel reads it element by
    // element before it writes.
    outputs_[i].tensor = WithType(input, type);
    return &outputs_[i].tensor;
  }
  return AllocateOutput(i, shape);
}

absl::StatusOr<Tensor> OpKernelContext::AllocateTemp(DataType dtype,
                                                     const TensorShape& shape) {
  return Tensor::Allocate(allocator(), dtype, shape);
}

}  // namespace weft
